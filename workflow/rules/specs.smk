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


def data_spec(wildcards):
    """Say for which tasks something is fetched."""
    options = config["environments"][wildcards.env]["tasks"]
    return provenance.canonical({"env": wildcards.env, "tasks": options})


def model_spec(wildcards):
    """Say where a model comes from, and what is changed of it."""
    settings = taken(config["models"][wildcards.model])
    template = settings.get("template")
    return provenance.canonical(
        {
            "model": wildcards.model,
            "settings": {key: settings[key] for key in settings if key != "backend"},
            "template": template and provenance.file_sha256(templates.source(template)),
        }
    )


def taken(model):
    """Return the settings of a model without those that only its training depends on."""
    return {key: value for key, value in model.items() if key != "tuning"}


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
            "settings": taken(within(wildcards.env)["models"][wildcards.model]),
        }
    )


def probes_spec(wildcards):
    """Say in which states of which tasks actions are probed while arms are trained."""
    settings = config["environments"][wildcards.env]
    progress = within(wildcards.env)["training"]["progress"]
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
    common = dict(within(wildcards.env)["training"])
    del common["seeds"]
    progress = common.pop("progress")
    model = config["models"][wildcards.model]
    tuning = model.get("tuning", None if "build" in model else {})
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
            # With the number of processes: in another order sums round otherwise, and one token
            # that is drawn otherwise changes the rest of a training.
            **({} if tuning is None else {"tuning": tuning}),
            "progress": progress
            and {
                "seed": config["seed"],
                **{key: progress[key] for key in ("tasks", "episodes", "actions")},
            },
        }
    )


def sample_spec(wildcards):
    """Say which episodes are played.

    One blind set under T_max serves every smaller budget; blind sets under smaller budgets, played
    again, exist only to show that, on fewer tasks. Each told budget has a set of its own, of all
    tasks.
    """
    pair, most = policy_spec(wildcards), turns_of(wildcards.env)
    sampling, again = within(wildcards.env)["sampling"], config["metrics"]["truncation"]
    told = sampling["told"]
    turns, tasks, episodes = {
        "blind": ([most], None, sampling["episodes"]),
        "again": (studies.played_again(config, wildcards.env), again["tasks"], again["episodes"]),
        "told": ([*dict.fromkeys(budgets.grid(told["shares"], most))], None, told["episodes"]),
    }[wildcards.condition]
    return provenance.canonical(
        {
            **pair,
            "budget": {**pair["budget"], "told": wildcards.condition == "told"},
            "turns": turns,
            "tasks": tasks,
            "episodes": episodes,
        }
    )


def estimate_spec(wildcards):
    """Say what is estimated."""
    settings = {key: value for key, value in config["metrics"].items() if key != "truncation"}
    tie = within(wildcards.env)["matched"]["tie"]
    return provenance.canonical(
        {
            "env": wildcards.env,
            "model": wildcards.model,
            "metric": wildcards.metric,
            "settings": {**settings, "seed": config["seed"], "tie": tie},
        }
    )


def policy_spec(wildcards):
    """Say which policy plays or is compared with base, and how its episodes are played."""
    settings = config["environments"][wildcards.env]
    sampling = within(wildcards.env)["sampling"]
    return {
        "env": wildcards.env,
        "model": wildcards.model,
        "policy": wildcards.policy,
        "seed": config["seed"],
        "backend": config["models"][wildcards.model]["backend"],
        "options": settings["options"],
        "budget": settings["budget"],
        "temperature": sampling["temperature"],
        "batch": sampling["batch"],
    }


def matched_spec(wildcards):
    """Say in which states policies are compared, and how often."""
    names = ("states", "per_task", "actions", "injected", "continuations")
    matched = within(wildcards.env)["matched"]
    return provenance.canonical(
        {**policy_spec(wildcards), **{name: matched[name] for name in names}}
    )


def likelihood_spec(wildcards):
    """Say of how many episodes the likelihood is scored; one backend does, whichever played."""
    pair = policy_spec(wildcards)
    names = ("env", "model", "policy", "seed")
    matched = within(wildcards.env)["matched"]
    return provenance.canonical(
        {
            **{name: pair[name] for name in names},
            "backend": "transformers",
            "episodes": matched["scored"],
            "batch": matched["scored_batch"],
        }
    )


def heated_spec(wildcards):
    """Say which episodes are played at another temperature."""
    pair = policy_spec(wildcards)
    return provenance.canonical(
        {
            **pair,
            "budget": {**pair["budget"], "told": False},
            "turns": [turns_of(wildcards.env)],
            "tasks": None,
            "episodes": within(wildcards.env)["matched"]["heated"],
            "temperature": None,
        }
    )


def played_spec(wildcards):
    """Say which episodes are played, at whichever temperature."""
    heated = wildcards.get("condition", "heated") == "heated"
    return heated_spec(wildcards) if heated else sample_spec(wildcards)


def shard_spec(wildcards):
    """Say which part of which episodes is played."""
    part = {name: int(wildcards[name]) for name in ("part", "parts")}
    return provenance.canonical({**json.loads(played_spec(wildcards)), **part})


def calibrate_spec(wildcards):
    """Say which synthetic studies are run."""
    settings = {name: config["calibration"][name] for name in ("studies", "draws")}
    return provenance.canonical({**settings, "seed": config["seed"]})


def claims_spec(wildcards):
    """Say which arms are judged, and where a reader finds what they are judged by."""
    return provenance.canonical(
        {"arms": arms_told(), "figures": config["figures"], "summaries": config["summaries"]}
    )


def shown_spec(wildcards):
    """Say which figure or summary is made, of which arms, and at which k where it shows one."""
    facts = {"facts": setup()} if "setup" in sources_of(wildcards) else {}
    return provenance.canonical(
        {**dict(wildcards.items()), "k": config["metrics"]["k"], "arms": arms_told(), **facts}
    )


def flat(section, prefix=""):
    """Name each value of a section by its path, written as text."""
    facts = {}
    for key, value in section.items():
        if key == "shards":
            continue  # how many jobs play changes nothing that a reader sees
        if isinstance(value, dict):
            facts |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            facts[prefix + key] = ", ".join(map(str, value))
        else:
            facts[prefix + key] = "none" if value is None else str(value)
    return facts


def setup():
    """Gather what a reader is told of the setup: the part of the config that was run."""
    facts = {"Study": {"seed": str(config["seed"]), **flat(study)}}
    for kind in ("environments", "models", "arms"):
        for name in study[kind]:
            facts[f"{kind[:-1].capitalize()} {name}"] = flat(config[kind][name])
    for section in ("training", "sampling", "matched", "metrics"):
        facts[section.capitalize()] = flat(config[section])
    return facts


def report_spec(wildcards):
    """Say what the reader is told of the study, and which texts of code the page holds."""
    texts = {
        name: provenance.file_sha256(registry.source("claims", name))
        for name in [*registry.names("claims"), "_evidence"]
    }
    k, margin = config["metrics"]["k"], config["metrics"]["margin"]
    return provenance.canonical(
        {"k": k, "margin": margin, "facts": setup(), "arms": arms_told(), "texts": texts}
    )
