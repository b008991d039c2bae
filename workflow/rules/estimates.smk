rule estimate:
    input:
        tasks="results/tasks/{env}/tasks.parquet",
        rows=rows_of,
    output:
        estimates="results/estimates/{env}/{model}/{metric}.parquet",
        provenance="results/estimates/{env}/{model}/{metric}.provenance.json",
    log:
        "results/logs/estimate/{env}/{model}/{metric}.log",
    benchmark:
        "results/benchmarks/estimate/{env}/{model}/{metric}.tsv"
    group:
        "estimates_{env}_{model}"
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        mem_mb=grown(2000),
        runtime=minutes(10, 20),
        gpu=0,
    params:
        spec=estimate_spec,
        code=code_of("stages.estimate", "metrics.{metric}"),
    message:
        "Estimate {wildcards.metric} of {wildcards.model} in {wildcards.env}"
    shell:
        stage("estimate", ["tasks", "rows"], ["estimates", "provenance"])


rule claims:
    input:
        estimates=estimates_of(*study["metrics"]),
    output:
        claims="results/claims/claims.parquet",
        robustness="results/claims/robustness.parquet",
        provenance="results/claims/provenance.json",
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    group:
        "drawings"
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        mem_mb=grown(1000),
        runtime=grown(10),
        gpu=0,
    params:
        spec=claims_spec,
        code=code_of("stages.claims", *(f"claims.{name}" for name in registry.names("claims"))),
    message:
        "Judge the claims"
    shell:
        stage("claims", ["estimates"], ["claims", "robustness", "provenance"])
