rule sample:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        policy="results/policies/{env}/{model}/{policy}/provenance.json",
    output:
        episodes="results/episodes/{env}/{model}/{policy}/{condition}/episodes.parquet",
        turns="results/episodes/{env}/{model}/{policy}/{condition}/turns.parquet",
        provenance="results/episodes/{env}/{model}/{policy}/{condition}/provenance.json",
    log:
        "results/logs/sample/{env}/{model}/{policy}/{condition}.log",
    benchmark:
        "results/benchmarks/sample/{env}/{model}/{policy}/{condition}.tsv"
    group:
        together("play_{env}_{model}")
    conda:
        "../../envs/turnscope.yaml"
    threads: processors
    resources:
        mem_mb=memory(4000),
        runtime=lasting(15, "sample", sample_spec),
        gpu=gpus,
    params:
        spec=sample_spec,
        code=code_of("stages.sample", "environments.{env}", "policies.{backend}"),
    message:
        "Play {wildcards.policy} of {wildcards.model} in {wildcards.env}, {wildcards.condition}"
    shell:
        stage("sample", ["tasks", "policy"], ["episodes", "turns", "provenance"])
