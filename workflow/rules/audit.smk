rule audit:
    log:
        "results/logs/audit.log",
    localrule: True
    conda:
        "../../envs/turnscope.yaml"
    params:
        options=[f"--{name}={value}" for name, value in config["audit"].items()],
        groups=lambda wildcards: bundles(),
        python=sys.executable,
        snakefile=workflow.main_snakefile,
    message:
        "Audit the results"
    shell:
        dry_run("audits")
        + " | {params.python:q} -m turnscope.audits results --planned {params.options:q}"
        " --output results/audits/audits.parquet --manifest results/MANIFEST.sha256"
