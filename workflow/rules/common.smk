import functools
import json
import os
import shlex
import sys

import yaml
from snakemake.settings.types import DeploymentMethod

ROOT = Path(workflow.basedir)
if set("{}") & set(str(ROOT)):
    sys.exit(f"the path {ROOT} holds a brace, which Snakemake takes for a placeholder; rename it")
sys.path.insert(0, str(ROOT / "src"))

from turnscope import config as studies
from turnscope import budgets, dates, provenance, records, registry, shards, templates
from turnscope.plan import asked
from turnscope.stages import LIBRARIES

schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
try:
    config.update(studies.check(config, schema))
except ValueError as error:
    sys.exit(f"config: {error}")

study = config["study"]
# For `dry_run`; as part of a command it would fill the screen when that fails.
STUDY = "TURNSCOPE_STUDY"
os.environ[STUDY] = provenance.canonical(config)
if workflow.is_main_process and (healed := dates.heal(records.files(Path("results")))):
    print(
        f"{len(healed)} files were dated in the future, for the clock was set back; now they are not",
        file=sys.stderr,
    )
# A software environment brings its own Python; without one, jobs share this process's.
deployed = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
python = "python" if deployed else sys.executable


def literal(text):
    """Write a text for the shell as one word, and for Snakemake without a placeholder in it."""
    return shlex.quote(str(text)).replace("{", "{{").replace("}", "}}")


# What a job cannot write to its log, because the disk is full, it says here.
shell.prefix(
    f"set -euo pipefail; export PYTHONPATH={literal(ROOT / 'src')} PYTHONHASHSEED=0 TURNSCOPE_ASIDE=9; exec 9>&2; "
)


wildcard_constraints:
    env="[a-z][a-z0-9_]*",
    model="[a-z][a-z0-9_]*",
    arm="[a-z][a-z0-9_]*",
    seed="[0-9]+",
    policy="base|[a-z][a-z0-9_]*-s[0-9]+",
    condition="blind|again|told",
    metric="[a-z][a-z0-9_]*",
    figure="[a-z][a-z0-9_]*",
    summary="[a-z][a-z0-9_]*",


def stage(name, inputs, outputs):
    """Write the command of a job: the stage with its specification, its files and its log.

    It may see the GPUs and use the threads that it asks for and no others, or the same study would
    give other numbers on another machine.
    """
    return " ".join(
        [
            "test {resources.gpu} != 0 || export CUDA_VISIBLE_DEVICES=;",
            *(f"{library}_NUM_THREADS={{threads}}" for library in LIBRARIES),
            f"{literal(python)} -m turnscope.stages.{name}",
            "--spec {params.spec:q} --code {params.code:q}",
            *(["--input"] if inputs else []),
            *(f"{part}={{input.{part}:q}}" for part in inputs),
            "--output",
            *(f"{part}={{output.{part}:q}}" for part in outputs),
            "> {log:q} 2>&1",
        ]
    )


def dry_run(folder):
    """Write the command that prints the commands of all jobs of the study, and runs none.

    The config is written beforehand, as merged and checked: what is planned is what was asked for.
    """
    return (
        f"mkdir -p results/{folder} && printenv {STUDY} > results/{folder}/config.json;"
        " {{ {params.python:q} -m snakemake --snakefile {params.snakefile:q}"
        f" --configfile results/{folder}/config.json --profile none --workflow-profile none"
        " --scheduler greedy --nocolor --group-components {params.groups:q}"
        " --forceall --dry-run --printshellcmds all 2> {log:q} || {{ tail -n 5 {log:q} >&2; exit 1; }}; }}"
    )


def writable(folder):
    """Say whether jobs can write to a folder, if it is there."""
    return not Path(folder).exists() or os.access(folder, os.W_OK)


def code_of(*modules):
    """Name the code behind a job: a digest, and the modules that it starts from.

    Modules may contain wildcards, {backend} and {sampler} of the model, {algorithm} of the arm.
    """

    def code(wildcards):
        names = dict(wildcards.items())
        if "model" in names:
            model = config["models"][names["model"]]
            names["backend"] = model["backend"]
            names["sampler"] = model.get("tuning", {}).get("sampler", "transformers")
        if "arm" in names:
            names["algorithm"] = studies.algorithm_of(config, names["arm"])
        starts = [module.format(**names) for module in modules]
        return [digest_of(tuple(starts)), *starts]

    return code


@functools.cache
def digest_of(starts):
    """Return the digest of the code that starts from some modules; many jobs share it."""
    return provenance.digest(starts)


@functools.cache
def declared(kind, name, constant, default=None):
    """Return a constant of a plug-in, as `studies.declared` reads it from its source."""
    return studies.declared(kind, name, constant, default)


@functools.cache
def within(env):
    """Return the study as it is in one environment, which may change common settings."""
    return studies.within(config, env)
