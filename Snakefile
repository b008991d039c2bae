# What does multi-turn reinforcement learning improve in LLM agents?
#
#   snakemake --cores 2 all_figures             draw every figure of config.yaml
#   snakemake --cores 2 --nolock plan           say what it will cost, and run nothing
#   snakemake --cores 2 --nolock audit          check that the results are what they claim to be
#   snakemake --cores 2 pass_at_t               draw one of them
#   snakemake --cores 2 --configfile config/test.yaml --directory /some/folder
#   snakemake --profile slurm                   the same on a cluster

from snakemake.utils import min_version

min_version("9.27.1")


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/artifacts.smk"
include: "workflow/rules/reasons.smk"
include: "workflow/rules/specs.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/shards.smk"


onstart:
    # Snakemake itself would say it in a traceback. Dry runs do not come here.
    if not writable("results"):
        sys.exit(
            "error: results cannot be written: its file system is read-only, or it is another's"
        )


rule all:
    input:
        # Not only the last artifacts: one that was lost on the way is made again.
        "results/report.html",
        "results/claims/claims.parquet",
        "results/claims/robustness.parquet",
        drawn(),
        tabulated(),
        estimates_of(*study["metrics"]),
        played(),
        trained(),
        probed(),
        compared(),
    localrule: True
    message:
        "The study is complete"


rule all_figures:
    input:
        drawn(),
    localrule: True
    message:
        "All figures are drawn"


include: "workflow/rules/policies.smk"
include: "workflow/rules/episodes.smk"
include: "workflow/rules/matched.smk"
include: "workflow/rules/calibration.smk"
include: "workflow/rules/estimates.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/archive.smk"
