# The specification of each job: exactly the part of the config that its result depends on.


def tasks_spec(wildcards):
    """Say which tasks there are; T_max is how far their bounds reach."""
    settings = config["environments"][wildcards.env]
    return provenance.canonical(
        {
            "env": wildcards.env,
            "seed": config["seed"],
            "tasks": settings["tasks"],
            "turns": settings["budget"]["turns"],
        }
    )


def base_spec(wildcards):
    """Say how the base policy is made or where it comes from."""
    settings = config["environments"][wildcards.env]
    return provenance.canonical(
        {
            "env": wildcards.env,
            "model": wildcards.model,
            "seed": config["seed"],
            "options": settings["options"],
            "budget": settings["budget"],
            "settings": config["models"][wildcards.model],
        }
    )


def probes_spec(wildcards):
    """Say in which states of which tasks actions are probed while arms are trained."""
    settings = config["environments"][wildcards.env]
    progress = config["training"]["progress"]
    return provenance.canonical(
        {
            "env": wildcards.env,
            "model": wildcards.model,
            "seed": config["seed"],
            "backend": config["models"][wildcards.model]["backend"],
            "options": settings["options"],
            "budget": settings["budget"],
            "progress": {key: progress[key] for key in ("tasks", "states")},
        }
    )


def train_spec(wildcards):
    """Say how an arm is trained; what its section does not say is common to all arms."""
    settings = config["environments"][wildcards.env]
    arm = config["arms"][wildcards.arm]
    common = dict(config["training"])
    del common["seeds"]
    progress = common.pop("progress")
    return provenance.canonical(
        {
            "env": wildcards.env,
            "model": wildcards.model,
            "arm": wildcards.arm,
            "policy": f"{wildcards.arm}-s{wildcards.seed}",
            "seed": int(wildcards.seed),
            "options": settings["options"],
            "budget": settings["budget"],
            "algorithm": studies.algorithm_of(config, wildcards.arm),
            "algorithm_options": arm["options"],
            "training": {**common, **arm["training"]},
            "progress": progress
            and {
                "seed": config["seed"],
                **{key: progress[key] for key in ("tasks", "episodes", "actions")},
            },
        }
    )


def sample_spec(wildcards):
    """Say which episodes are played.

    One blind set under T_max serves every smaller budget. Blind sets under smaller budgets exist
    only to show that, on fewer tasks. Told sets serve one budget each, so all have all tasks.
    """
    told, turns = wildcards.condition.split("-T")
    settings = config["environments"][wildcards.env]
    again = config["metrics"]["truncation"]
    if told == "told":
        tasks, episodes = None, config["sampling"]["told"]["episodes"]
    elif int(turns) == settings["budget"]["turns"]:
        tasks, episodes = None, config["sampling"]["episodes"]
    else:
        tasks, episodes = again["tasks"], again["episodes"]
    return provenance.canonical(
        {
            "env": wildcards.env,
            "model": wildcards.model,
            "policy": wildcards.policy,
            "seed": config["seed"],
            "backend": config["models"][wildcards.model]["backend"],
            "options": settings["options"],
            "budget": {**settings["budget"], "turns": int(turns), "told": told == "told"},
            "tasks": tasks,
            "episodes": episodes,
            "batch": config["sampling"]["batch"],
            "temperature": config["sampling"]["temperature"],
        }
    )


def estimate_spec(wildcards):
    """Say what is estimated."""
    settings = {key: value for key, value in config["metrics"].items() if key != "truncation"}
    return provenance.canonical(
        {
            "env": wildcards.env,
            "model": wildcards.model,
            "metric": wildcards.metric,
            "settings": {**settings, "seed": config["seed"]},
        }
    )


def claims_spec(wildcards):
    """Say which arms are judged."""
    return provenance.canonical({"arms": arms_told()})


def shown_spec(wildcards):
    """Say which figure or summary is made, of which arms, and at which k where it shows one."""
    return provenance.canonical(
        {**dict(wildcards.items()), "k": config["metrics"]["k"], "arms": arms_told()}
    )


def flat(section, prefix=""):
    """Name each value of a section by its path, written as text."""
    facts = {}
    for key, value in section.items():
        if isinstance(value, dict):
            facts |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            facts[prefix + key] = ", ".join(map(str, value))
        else:
            facts[prefix + key] = "none" if value is None else str(value)
    return facts


def report_spec(wildcards):
    """Say what the reader is told of the setup: the part of the config that was run."""
    facts = {"Study": {"seed": str(config["seed"]), **flat(study)}}
    for kind in ("environments", "models", "arms"):
        for name in study[kind]:
            facts[f"{kind[:-1].capitalize()} {name}"] = flat(config[kind][name])
    for section in ("training", "sampling", "metrics"):
        facts[section.capitalize()] = flat(config[section])
    k, margin = config["metrics"]["k"], config["metrics"]["margin"]
    return provenance.canonical({"k": k, "margin": margin, "facts": facts, "arms": arms_told()})
