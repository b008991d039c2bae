import shlex
import sys

import yaml
from snakemake.settings.types import DeploymentMethod

ROOT = Path(workflow.basedir)
if set("{}") & set(str(ROOT)):
    sys.exit(f"the path {ROOT} holds a brace, which Snakemake takes for a placeholder; rename it")
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


def literal(text):
    """Write a text for the shell as one word, and for Snakemake without a placeholder in it."""
    return shlex.quote(str(text)).replace("{", "{{").replace("}", "}}")


shell.prefix(f"export PYTHONPATH={literal(ROOT / 'src')} PYTHONHASHSEED=0; ")


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
    """Write the command of a job: the stage with its specification, its files and its log.

    It may see the GPUs and use the threads that it asks for and no others, or the same study would
    give other numbers on another machine.
    """
    libraries = ("OMP", "MKL", "OPENBLAS")
    return " ".join(
        [
            "test {resources.gpu} != 0 || export CUDA_VISIBLE_DEVICES=;",
            *(f"{library}_NUM_THREADS={{threads}}" for library in libraries),
            f"{literal(python)} -m turnscope.stages.{name}",
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
    """List all episodes of one environment and model."""
    return conditions(wildcards.env, wildcards.model)


def conditions(env, model, table="episodes"):
    """List all episodes (or turns) of one environment and model, first those under T_max."""
    under = {policy: [turns_of(env)] for policy in policies()}
    if "truncation" in study["metrics"]:
        for policy in ["base", *(seeds_of(arm)[0] for arm in study["arms"])]:
            under[policy] += config["metrics"]["truncation"]["turns"]
    return [
        f"results/episodes/{env}/{model}/{policy}/blind-T{turns}/{table}.parquet"
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


def drawn():
    """List all files of all figures."""
    return expand(
        "results/figures/{figure}.{kind}",
        figure=config["figures"],
        kind=["pdf", "svg", "png", "csv"],
    )


def trained():
    """List the weights of all policies."""
    return expand(
        "results/policies/{env}/{model}/{policy}/model.safetensors",
        env=study["environments"],
        model=study["models"],
        policy=policies(),
    )


def played():
    """List the episodes and turns of all policies and conditions."""
    return [
        file
        for env in study["environments"]
        for model in study["models"]
        for table in ("episodes", "turns")
        for file in conditions(env, model, table)
    ]


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
