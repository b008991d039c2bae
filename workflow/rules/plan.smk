rule plan:
    log:
        "results/logs/plan.log",
    localrule: True
    conda:
        "../../envs/turnscope.yaml"
    params:
        options=[
            f"--{name.replace('_', '-')}={value}"
            for name, value in config["plan"].items()
            if value is not None
        ],
        # Names of groups hold wildcards, which are not those of this rule.
        groups=lambda wildcards: bundles(),
        python=sys.executable,
        snakefile=workflow.main_snakefile,
    message:
        "Say what the study will cost"
    shell:
        dry_run("plan")
        + " | {params.python:q} -m turnscope.plan {params.options:q} --output results/plan/plan.csv"
