rule plan:
    log:
        "results/logs/plan.log",
    localrule: True
    conda:
        "../../envs/turnscope.yaml"
    params:
        # As merged and checked, so that what is planned is what was asked for.
        study=provenance.canonical(config),
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
        "mkdir -p results/plan && printf %s {params.study:q} > results/plan/config.json;"
        " {params.python:q} -m snakemake --snakefile {params.snakefile:q}"
        " --configfile results/plan/config.json --profile none --workflow-profile none"
        " --scheduler greedy --nocolor --group-components {params.groups:q}"
        " --forceall --dry-run --printshellcmds all 2> {log:q}"
        " | {params.python:q} -m turnscope.plan {params.options:q} --output results/plan/plan.csv"
