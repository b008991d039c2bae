rule calibrate:
    output:
        calibration="results/calibration/calibration.parquet",
        provenance="results/calibration/provenance.json",
    log:
        "results/logs/calibrate.log",
    benchmark:
        "results/benchmarks/calibrate.tsv"
    conda:
        "../../envs/turnscope.yaml"
    threads: config["calibration"]["workers"]
    resources:
        mem_mb=grown(2000 * config["calibration"]["workers"]),
        runtime=grown(120),
        gpu=0,
    params:
        spec=calibrate_spec,
        code=code_of("stages.calibrate"),
    message:
        "Run the analysis on studies in which nothing differs"
    shell:
        stage("calibrate", [], ["calibration", "provenance"])
