rule data:
    output:
        files="results/data/{env}/files.json",
        provenance="results/data/{env}/provenance.json",
    log:
        "results/logs/data/{env}.log",
    benchmark:
        "results/benchmarks/data/{env}.tsv"
    # Where the network is.
    localrule: True
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        gpu=0,
    params:
        spec=data_spec,
        code=code_of("stages.data", "environments.{env}"),
    message:
        "Fetch what the tasks of {wildcards.env} are made from"
    shell:
        stage("data", [], ["files", "provenance"])


rule tasks:
    input:
        data=data_of,
    output:
        tasks="results/tasks/{env}/tasks.parquet",
        provenance="results/tasks/{env}/provenance.json",
    log:
        "results/logs/tasks/{env}.log",
    benchmark:
        "results/benchmarks/tasks/{env}.tsv"
    group:
        together("start_{env}")
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        mem_mb=grown(1000),
        runtime=grown(10),
        gpu=0,
    params:
        spec=tasks_spec,
        code=code_of("stages.tasks", "environments.{env}"),
    message:
        "Make the tasks of {wildcards.env}"
    shell:
        stage("tasks", ["data"], ["tasks", "provenance"])


rule model:
    input:
        source=source_of,
    output:
        weights="results/models/{model}/model.safetensors",
        provenance="results/models/{model}/provenance.json",
    log:
        "results/logs/model/{model}.log",
    benchmark:
        "results/benchmarks/model/{model}.tsv"
    # Where the network is.
    localrule: True
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        gpu=0,
    params:
        spec=model_spec,
        code=code_of("stages.model"),
    message:
        "Fetch {wildcards.model}"
    shell:
        stage("model", ["source"], ["weights", "provenance"])


rule base:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        model=model_of,
    output:
        weights="results/policies/{env}/{model}/base/model.safetensors",
        provenance="results/policies/{env}/{model}/base/provenance.json",
    log:
        "results/logs/base/{env}/{model}.log",
    benchmark:
        "results/benchmarks/base/{env}/{model}.tsv"
    group:
        together("start_{env}")
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        mem_mb=grown(4000),
        runtime=grown(60),
        gpu=0,
    params:
        spec=base_spec,
        code=code_of("stages.base", "environments.{env}"),
    message:
        "Make the base policy of {wildcards.model} in {wildcards.env}"
    shell:
        stage("base", ["tasks", "model"], ["weights", "provenance"])


rule probes:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        policy="results/policies/{env}/{model}/base/provenance.json",
    output:
        states="results/probes/{env}/{model}/states.parquet",
        provenance="results/probes/{env}/{model}/provenance.json",
    log:
        "results/logs/probes/{env}/{model}.log",
    benchmark:
        "results/benchmarks/probes/{env}/{model}.tsv"
    # All training waits for it.
    priority: 1
    group:
        together("start_{env}")
    conda:
        "../../envs/turnscope.yaml"
    threads: processors
    resources:
        mem_mb=memory(4000),
        runtime=lasting(10, "probes", probes_spec),
        gpu=gpus,
    params:
        spec=probes_spec,
        code=code_of("stages.probes", "environments.{env}", "policies.{backend}"),
    message:
        "Choose the probe states of {wildcards.model} in {wildcards.env}"
    shell:
        stage("probes", ["tasks", "policy"], ["states", "provenance"])


rule train:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        policy="results/policies/{env}/{model}/base/provenance.json",
        states=states_of,
        match=match_of,
    output:
        weights="results/policies/{env}/{model}/{arm}-s{seed}/model.safetensors",
        training="results/policies/{env}/{model}/{arm}-s{seed}/training.parquet",
        progress="results/policies/{env}/{model}/{arm}-s{seed}/progress.parquet",
        provenance="results/policies/{env}/{model}/{arm}-s{seed}/provenance.json",
    log:
        "results/logs/train/{env}/{model}/{arm}-s{seed}.log",
    benchmark:
        "results/benchmarks/train/{env}/{model}/{arm}-s{seed}.tsv"
    # The longest jobs first, or the last of them runs alone.
    priority: 1
    conda:
        "../../envs/turnscope.yaml"
    threads: lambda wildcards: processors(wildcards) * processes(wildcards)
    resources:
        mem_mb=memory(4000, processes),
        runtime=lasting(60, "train", train_spec),
        gpu=lambda wildcards: gpus(wildcards) * processes(wildcards),
    params:
        spec=train_spec,
        code=code_of(
            "stages.train", "environments.{env}", "algorithms.{algorithm}", "policies.{sampler}"
        ),
    message:
        "Train {wildcards.arm}, seed {wildcards.seed}, from {wildcards.model} in {wildcards.env}"
    shell:
        stage(
            "train",
            ["tasks", "policy", "states", "match"],
            ["weights", "training", "progress", "provenance"],
        )
