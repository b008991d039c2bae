rule archive:
    log:
        "results/logs/archive.log",
    localrule: True
    conda:
        "../../envs/turnscope.yaml"
    params:
        groups=lambda wildcards: bundles(),
        python=sys.executable,
        snakefile=workflow.main_snakefile,
    message:
        "Pack the study into results/archive/study.tar"
    shell:
        dry_run("archive")
        + " | {params.python:q} -m turnscope.archive pack --study results/archive/config.json"
        " results/archive/study.tar"
