import sys

import yaml
from snakemake.settings.types import DeploymentMethod

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from turnscope import config as studies
from turnscope import provenance, registry

schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
try:
    config.update(studies.check(config, schema))
except ValueError as error:
    sys.exit(f"config: {error}")

study = config["study"]
# A software environment brings its own Python; without one, jobs share this process's.
deployed = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
python = "python" if deployed else sys.executable

shell.prefix(
    f"export PYTHONPATH='{ROOT}/src' PYTHONHASHSEED=0 TOKENIZERS_PARALLELISM=false"
    " HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1; "
)


wildcard_constraints:
    env="[a-z][a-z0-9_]*",
    model="[a-z][a-z0-9_]*",
    arm="[a-z][a-z0-9_]*",
    seed="[0-9]+",
    policy="base|[a-z][a-z0-9_]*-s[0-9]+",
    condition="(blind|told)-T[0-9]+",
    metric="[a-z][a-z0-9_]*",
    figure="[a-z][a-z0-9_]*",


def stage(name, inputs, outputs):
    """Write the command of a job: the stage with its specification, its files and its log."""
    return " ".join(
        [
            f"{python} -m turnscope.stages.{name}",
            "--spec {params.spec:q} --code {params.code:q}",
            *(["--input"] if inputs else []),
            *(f"{part}={{input.{part}:q}}" for part in inputs),
            "--output",
            *(f"{part}={{output.{part}:q}}" for part in outputs),
            "> {log:q} 2>&1",
        ]
    )


def code_of(*modules):
    """Name the code behind a job: a digest, and the modules that it starts from.

    Modules may contain wildcards, and {backend} of the model and {algorithm} of the arm.
    """

    def code(wildcards):
        names = dict(wildcards.items())
        if "model" in names:
            names["backend"] = config["models"][names["model"]]["backend"]
        if "arm" in names:
            names["algorithm"] = studies.algorithm_of(config, names["arm"])
        starts = [module.format(**names) for module in modules]
        return [provenance.digest(starts), *starts]

    return code


def turns_of(env):
    """Return T_max of an environment."""
    return config["environments"][env]["budget"]["turns"]


def seeds_of(arm):
    """Name the policies of an arm, one for each training seed."""
    return [f"{arm}-s{seed}" for seed in config["training"]["seeds"]]


def policies():
    """Name all policies of the study."""
    return ["base", *(policy for arm in study["arms"] for policy in seeds_of(arm))]


def gpus(wildcards):
    """Return how many GPUs a job with a model needs: none if it is built here, for it is tiny."""
    return 0 if "build" in config["models"][wildcards.model] else 1


def episodes_of(wildcards):
    """List all episodes of one environment and model: under T_max, then under smaller budgets."""
    under = {policy: [turns_of(wildcards.env)] for policy in policies()}
    if "truncation" in study["metrics"]:
        for policy in ["base", *(seeds_of(arm)[0] for arm in study["arms"])]:
            under[policy] += config["metrics"]["truncation"]["turns"]
    return [
        f"results/episodes/{wildcards.env}/{wildcards.model}/{policy}/blind-T{turns}/episodes.parquet"
        for policy, budgets in under.items()
        for turns in budgets
    ]


def estimates_of(*metrics):
    """List the estimates of some metrics in every environment and with every model."""
    return expand(
        "results/estimates/{env}/{model}/{metric}.parquet",
        env=study["environments"],
        model=study["models"],
        metric=metrics,
    )


def figure_estimates(wildcards):
    """List the estimates that a figure says it draws."""
    sources = studies.declared("figures", wildcards.figure, "SOURCES")
    return estimates_of(*(source for source in sources if source != "training"))


def figure_training(wildcards):
    """List the training curves, if the figure says it draws them."""
    if "training" not in studies.declared("figures", wildcards.figure, "SOURCES"):
        return []
    return expand(
        "results/policies/{env}/{model}/{policy}/training.parquet",
        env=study["environments"],
        model=study["models"],
        policy=[policy for policy in policies() if policy != "base"],
    )
