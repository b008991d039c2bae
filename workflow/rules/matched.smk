rule matched:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        base="results/policies/{env}/{model}/base/provenance.json",
        trained="results/policies/{env}/{model}/{policy}/provenance.json",
        base_episodes=blind("base", "episodes"),
        base_turns=blind("base", "turns"),
        trained_episodes=blind("{policy}", "episodes"),
        trained_turns=blind("{policy}", "turns"),
    output:
        pool="results/matched/{env}/{model}/{policy}/pool.parquet",
        actions="results/matched/{env}/{model}/{policy}/actions.parquet",
        continuations="results/matched/{env}/{model}/{policy}/continuations.parquet",
        provenance="results/matched/{env}/{model}/{policy}/provenance.json",
    log:
        "results/logs/matched/{env}/{model}/{policy}.log",
    benchmark:
        "results/benchmarks/matched/{env}/{model}/{policy}.tsv"
    group:
        together("compare_{env}_{model}")
    conda:
        "../../envs/turnscope.yaml"
    threads: processors
    resources:
        mem_mb=memory(4000),
        runtime=lasting(15, "matched", matched_spec),
        gpu=gpus,
    params:
        spec=matched_spec,
        code=code_of("stages.matched", "environments.{env}", "policies.{backend}"),
    message:
        "Compare {wildcards.policy} with base in equal states, {wildcards.model} in {wildcards.env}"
    shell:
        stage(
            "matched",
            [
                "tasks",
                "base",
                "trained",
                "base_episodes",
                "base_turns",
                "trained_episodes",
                "trained_turns",
            ],
            ["pool", "actions", "continuations", "provenance"],
        )


rule likelihood:
    input:
        base="results/policies/{env}/{model}/base/provenance.json",
        trained="results/policies/{env}/{model}/{policy}/provenance.json",
        base_episodes=blind("base", "episodes"),
        base_turns=blind("base", "turns"),
        trained_episodes=blind("{policy}", "episodes"),
        trained_turns=blind("{policy}", "turns"),
    output:
        likelihood="results/likelihood/{env}/{model}/{policy}/likelihood.parquet",
        heat="results/likelihood/{env}/{model}/{policy}/heat.parquet",
        provenance="results/likelihood/{env}/{model}/{policy}/provenance.json",
    log:
        "results/logs/likelihood/{env}/{model}/{policy}.log",
    benchmark:
        "results/benchmarks/likelihood/{env}/{model}/{policy}.tsv"
    group:
        together("compare_{env}_{model}")
    conda:
        "../../envs/turnscope.yaml"
    threads: processors
    resources:
        mem_mb=memory(4000),
        runtime=lasting(15, "likelihood", likelihood_spec),
        gpu=gpus,
    params:
        spec=likelihood_spec,
        code=code_of("stages.likelihood", "policies.transformers"),
    message:
        "Score the actions of base and {wildcards.policy} under both, {wildcards.model} in {wildcards.env}"
    shell:
        stage(
            "likelihood",
            [
                "base",
                "trained",
                "base_episodes",
                "base_turns",
                "trained_episodes",
                "trained_turns",
            ],
            ["likelihood", "heat", "provenance"],
        )


rule heated:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        policy="results/policies/{env}/{model}/{policy}/provenance.json",
        heat="results/likelihood/{env}/{model}/{policy}/heat.parquet",
    output:
        episodes="results/heated/{env}/{model}/{policy}/episodes.parquet",
        turns="results/heated/{env}/{model}/{policy}/turns.parquet",
        provenance="results/heated/{env}/{model}/{policy}/provenance.json",
    log:
        "results/logs/heated/{env}/{model}/{policy}.log",
    benchmark:
        "results/benchmarks/heated/{env}/{model}/{policy}.tsv"
    group:
        together("compare_{env}_{model}")
    conda:
        "../../envs/turnscope.yaml"
    threads: processors
    resources:
        mem_mb=memory(4000),
        runtime=lasting(15, "sample", heated_spec),
        gpu=gpus,
    params:
        spec=heated_spec,
        code=code_of("stages.sample", "environments.{env}", "policies.{backend}"),
    message:
        "Play {wildcards.policy} as random as base, {wildcards.model} in {wildcards.env}"
    shell:
        stage("sample", ["tasks", "policy", "heat"], ["episodes", "turns", "provenance"])
