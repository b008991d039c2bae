rule figure:
    input:
        estimates=shown_estimates,
        training=shown_training,
        claims=shown_table("claims"),
        robustness=shown_table("robustness"),
        calibration=shown_table("calibration"),
    output:
        pdf="results/figures/{figure}.pdf",
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
        csv="results/figures/{figure}.csv",
        provenance="results/figures/{figure}.provenance.json",
    log:
        "results/logs/figure/{figure}.log",
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
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
        spec=shown_spec,
        code=code_of("stages.figure", "figures.{figure}"),
    message:
        "Draw {wildcards.figure}"
    shell:
        stage(
            "figure",
            ["estimates", "training", "claims", "robustness", "calibration"],
            ["pdf", "svg", "png", "csv", "provenance"],
        )


# Every figure is a target by its own name.
for figure in config["figures"]:

    rule:
        name:
            figure
        input:
            f"results/figures/{figure}.pdf",
        localrule: True
        message:
            f"{figure} is drawn"


rule summary:
    input:
        estimates=shown_estimates,
        training=shown_training,
        claims=shown_table("claims"),
        robustness=shown_table("robustness"),
        calibration=shown_table("calibration"),
    output:
        csv="results/summaries/{summary}.csv",
        provenance="results/summaries/{summary}.provenance.json",
    log:
        "results/logs/summary/{summary}.log",
    benchmark:
        "results/benchmarks/summary/{summary}.tsv"
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
        spec=shown_spec,
        code=code_of("stages.summary", "summaries.{summary}"),
    message:
        "Tabulate {wildcards.summary}"
    shell:
        stage(
            "summary",
            ["estimates", "training", "claims", "robustness", "calibration"],
            ["csv", "provenance"],
        )


rule report:
    input:
        figures=expand("results/figures/{figure}.svg", figure=config["figures"]),
        data=expand("results/figures/{figure}.csv", figure=config["figures"]),
        summaries=tabulated(),
        estimates=estimates_of(*study["metrics"]),
        claims="results/claims/claims.parquet",
        calibration=lambda wildcards: calibrated(),
    output:
        report="results/report.html",
        provenance="results/report.provenance.json",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        "../../envs/turnscope.yaml"
    threads: 1
    resources:
        mem_mb=grown(1000),
        runtime=grown(10),
        gpu=0,
    params:
        spec=report_spec,
        code=code_of(
            "stages.report",
            *(f"{kind}.{name}" for kind in ("figures", "summaries") for name in config[kind]),
            # The page holds their text.
            *(f"claims.{name}" for name in registry.names("claims")),
        ),
    message:
        "Write the report"
    shell:
        stage(
            "report",
            ["figures", "data", "summaries", "estimates", "claims", "calibration"],
            ["report", "provenance"],
        )
