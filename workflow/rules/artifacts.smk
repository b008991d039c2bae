# Paths of artifacts: what jobs read, and what the targets of the study are.


def turns_of(env):
    """Return T_max of an environment."""
    return config["environments"][env]["budget"]["turns"]


def seeds_of(arm):
    """Name the policies of an arm, one for each training seed."""
    return [f"{arm}-s{seed}" for seed in config["training"]["seeds"]]


def learned(env):
    """Name the policies that are trained in an environment."""
    return [policy for arm in within(env)["study"]["arms"] for policy in seeds_of(arm)]


def arms_told():
    """List the arms of the study: name, algorithm, and whether it is told the turns left."""
    return [
        [arm, studies.algorithm_of(config, arm), studies.told(config, arm)] for arm in study["arms"]
    ]


def policies(env):
    """Name all policies of an environment."""
    return ["base", *learned(env)]


def blind(policy, table):
    """Name the blind episodes or turns of a policy under T_max, in the pair at hand."""

    def path(wildcards):
        named = policy.format(**dict(wildcards.items()))
        return f"results/episodes/{wildcards.env}/{wildcards.model}/{named}/blind/{table}.parquet"

    return path


def pairs(env):
    """Name the policies that are compared with base step by step in an environment."""
    return [policy for arm in within(env)["matched"]["arms"] for policy in seeds_of(arm)]


def conditions(env, model, table):
    """List all episodes or turns of one environment and model, first the blind ones under T_max."""
    here = within(env)
    under = {policy: ["blind"] for policy in policies(env)}
    if "truncation" in study["metrics"] and studies.played_again(config, env):
        for policy in policies(env)[:2]:  # what is tested is the rollout, not the arms
            under[policy].append("again")
    if "awareness" in study["metrics"]:
        names = [
            *here["sampling"]["told"]["policies"],
            *(arm for arm in here["study"]["arms"] if studies.told(config, arm)),
        ]
        for name in dict.fromkeys(names):
            for policy in ["base"] if name == "base" else seeds_of(name):
                under[policy].append("told")
    return [
        f"results/episodes/{env}/{model}/{policy}/{condition}/{table}.parquet"
        for policy, named in under.items()
        for condition in named
    ]


def rows_of(wildcards):
    """List what a metric is made from, in one environment and with one model."""
    env, model = wildcards.env, wildcards.model
    source = declared("metrics", wildcards.metric, "SOURCE", "episodes")
    if source == "episodes":
        return conditions(env, model, "episodes")
    if source in ("turns", "heated"):
        table = "turns" if source == "turns" else "episodes"
        files = [
            f"results/episodes/{env}/{model}/{policy}/blind/{table}.parquet"
            for policy in ["base", *pairs(env)]
        ]
        again = pairs(env) if source == "heated" else []
        return files + [
            f"results/heated/{env}/{model}/{policy}/episodes.parquet" for policy in again
        ]
    if source in COMPARED:
        folder = COMPARED[source]
        return [
            f"results/{folder}/{env}/{model}/{policy}/{source}.parquet" for policy in pairs(env)
        ]
    return [f"results/policies/{env}/{model}/{policy}/{source}.parquet" for policy in learned(env)]


def data_of(wildcards):
    """Name the checksums of what tasks are made from, if some of it comes from elsewhere."""
    options = config["environments"][wildcards.env]["tasks"]
    elsewhere = studies.declared("environments", wildcards.env, "FETCHED", ())
    if options.get("source") not in elsewhere:
        return []  # without an import: what builds the graph may have nothing but Snakemake
    fetched = registry.load("environments", wildcards.env).downloads(**options)
    return f"results/data/{wildcards.env}/files.json" if fetched else []


def model_of(wildcards):
    """Name the record of a model that is not built, if it is one."""
    if built(wildcards):
        return []
    return "results/models/{model}/provenance.json"


def source_of(wildcards):
    """List the files of a model that lies in a folder; what is on the hub is named by its commit."""
    folder = Path(config["models"][wildcards.model].get("path", ""))
    names = ["config.json", "*.safetensors"] if folder.is_dir() else []
    return [path.as_posix() for name in names for path in sorted(folder.glob(name))]


def states_of(wildcards):
    """Name the states in which actions are probed during training, if any are."""
    if config["training"]["progress"] is None:
        return []
    return f"results/probes/{wildcards.env}/{wildcards.model}/states.parquet"


def match_of(wildcards):
    """Name the curves of the policy whose tokens an arm is given, if it is given any."""
    other = config["arms"][wildcards.arm].get("tokens_of")
    if other is None:
        return []
    folder = f"results/policies/{wildcards.env}/{wildcards.model}"
    return f"{folder}/{other}-s{wildcards.seed}/training.parquet"


def estimates_of(*metrics):
    """List the estimates of some metrics in every environment and with every model."""
    return expand(
        "results/estimates/{env}/{model}/{metric}.parquet",
        env=study["environments"],
        model=study["models"],
        metric=metrics,
    )


def tabulated():
    """List all summaries."""
    return expand("results/summaries/{summary}.csv", summary=config["summaries"])


def drawn():
    """List all files of all figures."""
    return expand(
        "results/figures/{figure}.{kind}",
        figure=config["figures"],
        kind=["pdf", "svg", "png", "csv"],
    )


def trained():
    """List the weights of all policies, and what was measured on the way to them."""
    return [
        f"results/policies/{env}/{model}/{file}"
        for env in study["environments"]
        for model in study["models"]
        for file in [
            *(f"{policy}/model.safetensors" for policy in policies(env)),
            *(
                f"{policy}/{table}.parquet"
                for policy in learned(env)
                for table in ("training", "progress")
            ),
        ]
    ]


def probed():
    """List the states in which actions are probed during training, if any are."""
    if config["training"]["progress"] is None:
        return []
    return expand(
        "results/probes/{env}/{model}/states.parquet",
        env=study["environments"],
        model=study["models"],
    )


COMPARED = {"actions": "matched", "continuations": "matched", "likelihood": "likelihood"}
"""Tables of a comparison step by step, and the folder of each."""


def compared():
    """List what is compared step by step, as far as a metric of the study is made from it."""
    sources = {declared("metrics", metric, "SOURCE", "episodes") for metric in study["metrics"]}
    folders = {COMPARED[source] for source in sources if source in COMPARED}
    if "heated" in sources:
        folders |= {"heated", "likelihood"}
    tables = {
        "matched": ["pool", "actions", "continuations"],
        "likelihood": ["likelihood", "heat"],
        "heated": ["episodes", "turns"],
    }
    return [
        f"results/{folder}/{env}/{model}/{policy}/{table}.parquet"
        for env in study["environments"]
        for model in study["models"]
        for policy in pairs(env)
        for folder in sorted(folders)
        for table in tables[folder]
    ]


def calibrated():
    """Name the calibration of the instrument, if it was made: it takes minutes, see `calibrate`."""
    path = "results/calibration/calibration.parquet"
    return path if Path(path).exists() else []


def played():
    """List the episodes and turns of all policies and conditions."""
    return [
        file
        for env in study["environments"]
        for model in study["models"]
        for table in ("episodes", "turns")
        for file in conditions(env, model, table)
    ]


def sources_of(wildcards):
    """List what a figure or a summary says it is made from."""
    if figure := wildcards.get("figure"):
        return declared("figures", figure, "SOURCES")
    return declared("summaries", wildcards.summary, "SOURCES")


def shown_estimates(wildcards):
    """List the estimates that a figure or a summary says it shows."""
    return estimates_of(*(name for name in sources_of(wildcards) if name in study["metrics"]))


def shown_table(name):
    """Name a table of the whole study, for what says that it shows it."""
    path = f"results/claims/{name}.parquet"

    def shown(wildcards):
        if name not in sources_of(wildcards):
            return []
        return calibrated() if name == "calibration" else path

    return shown


def shown_training(wildcards):
    """List the training curves, if a figure or a summary says it shows them."""
    if "training" not in sources_of(wildcards):
        return []
    return [
        f"results/policies/{env}/{model}/{policy}/training.parquet"
        for env in study["environments"]
        for model in study["models"]
        for policy in learned(env)
    ]
