# What jobs ask for: GPUs, processors, memory and time; and which share a job of a cluster.


def gpus(wildcards):
    """Return how many GPUs a job with a model needs: none if it is built here, for it is tiny."""
    return 0 if built(wildcards) else 1


def processes(wildcards):
    """Return how many processes train one policy."""
    return config["models"][wildcards.model].get("tuning", {}).get("processes", 1)


def grown(first):
    """Ask for so much of a resource, and for as much again with every further attempt."""

    def amount(wildcards, attempt):
        return first * attempt

    return amount


def built(wildcards):
    """Tell models that are built here: tiny ones, without a GPU."""
    return "build" in config["models"][wildcards.model]


def minutes(small, large):
    """Ask for time with a model that is built here, or with one that is loaded; see `grown`."""

    def amount(wildcards, attempt):
        return (small if built(wildcards) else large) * attempt

    return amount


def memory(first, copies=lambda wildcards: 1):
    """Ask for memory: so much with a model that is built here, else what each copy of it needs."""

    def amount(wildcards, attempt):
        if built(wildcards):
            return first * attempt
        each = asked.megabytes(config["models"][wildcards.model]["path"])
        return each * copies(wildcards) * attempt

    return amount


def together(group):
    """Name the job of SLURM that small jobs share; None where models are loaded, and jobs take hours."""
    small = all("build" in config["models"][model] for model in study["models"])
    return group if small else None


def bundles():
    """Say how many jobs of a group a cluster is given as one, as the profile for SLURM does."""
    profile = (ROOT / "profiles/slurm/profile.v9+.yaml").read_text()
    return yaml.safe_load(profile)["group-components"]


def lasting(first, name, spec):
    """Ask for so much time with a model that is built here, or for what the plan says of a stage."""

    def amount(wildcards, attempt):
        if built(wildcards):
            return first * attempt
        return min(asked.MOST, asked.minutes(name, spec(wildcards), config) * attempt)

    return amount


def processors(wildcards):
    """Return the threads of a job with a model: one if it is built here, so that sums stay equal."""
    return 1 if built(wildcards) else asked.THREADS * gpus(wildcards)
