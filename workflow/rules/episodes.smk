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


# One part of the episodes of `sample` or `heated`.
rule shard:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        policy="results/policies/{env}/{model}/{policy}/provenance.json",
        heat=heat_of,
    output:
        episodes="results/shards/{env}/{model}/{policy}/{condition}/{part}-of-{parts}/episodes.parquet",
        turns="results/shards/{env}/{model}/{policy}/{condition}/{part}-of-{parts}/turns.parquet",
        provenance="results/shards/{env}/{model}/{policy}/{condition}/{part}-of-{parts}/provenance.json",
    log:
        "results/logs/shard/{env}/{model}/{policy}/{condition}/{part}-of-{parts}.log",
    benchmark:
        "results/benchmarks/shard/{env}/{model}/{policy}/{condition}/{part}-of-{parts}.tsv"
    wildcard_constraints:
        condition="blind|again|told|heated",
        part="[1-9][0-9]*",
        parts="[2-9]|[1-9][0-9]+",
    conda:
        "../../envs/turnscope.yaml"
    threads: processors
    resources:
        mem_mb=memory(4000),
        runtime=lasting(60, "sample", shard_spec),
        gpu=gpus,
    params:
        spec=shard_spec,
        code=code_of("stages.sample", "environments.{env}", "policies.{backend}"),
    message:
        "Play {wildcards.policy} of {wildcards.model} in {wildcards.env}, {wildcards.condition}, part {wildcards.part} of {wildcards.parts}"
    shell:
        stage("sample", ["tasks", "policy", "heat"], ["episodes", "turns", "provenance"])


# It reads the parts alone. They may be deleted afterwards, so its record names all that they name.
rule gather:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        policy="results/policies/{env}/{model}/{policy}/provenance.json",
        heat=heat_of,
        episodes=parts("episodes"),
        turns=parts("turns"),
    output:
        episodes="results/episodes/{env}/{model}/{policy}/{condition}/episodes.parquet",
        turns="results/episodes/{env}/{model}/{policy}/{condition}/turns.parquet",
        provenance="results/episodes/{env}/{model}/{policy}/{condition}/provenance.json",
    log:
        "results/logs/gather/{env}/{model}/{policy}/{condition}.log",
    benchmark:
        "results/benchmarks/gather/{env}/{model}/{policy}/{condition}.tsv"
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        mem_mb=grown(2000),
        runtime=grown(30),
        gpu=0,
    params:
        spec=played_spec,
        code=code_of("stages.gather", "stages.sample", "environments.{env}", "policies.{backend}"),
    message:
        "Gather {wildcards.policy} of {wildcards.model} in {wildcards.env}, {wildcards.condition}"
    shell:
        stage(
            "gather",
            ["tasks", "policy", "heat", "episodes", "turns"],
            ["episodes", "turns", "provenance"],
        )


use rule gather as gather_heated with:
    output:
        episodes="results/heated/{env}/{model}/{policy}/episodes.parquet",
        turns="results/heated/{env}/{model}/{policy}/turns.parquet",
        provenance="results/heated/{env}/{model}/{policy}/provenance.json",
    log:
        "results/logs/gather/{env}/{model}/{policy}/heated.log",
    benchmark:
        "results/benchmarks/gather/{env}/{model}/{policy}/heated.tsv"
    message:
        "Gather {wildcards.policy} of {wildcards.model} in {wildcards.env}, heated"


# What is not cut has no parts that could be gathered, see `parts`.
ruleorder: gather > sample
ruleorder: gather_heated > heated
