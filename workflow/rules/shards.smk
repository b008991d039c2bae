# Sets of episodes that several jobs play in parts: sampling.shards.


def shards_of(wildcards):
    """Say in how many parts a set of episodes is played: as many as it has, at most `shards`.

    A set that is there stays as it was played while its specification does: it would come out
    equal, and yet all that is made from it would be made again.
    """
    condition = wildcards.get("condition", "heated")
    key = wildcards.env, wildcards.model, wildcards.policy, condition
    if key not in CUT:
        CUT[key] = _cut(wildcards, condition)
    return CUT[key]


CUT = {}
"""In how many parts each set is played: Snakemake asks for it at every file of every part."""


def _cut(wildcards, condition):
    env, spec = wildcards.env, json.loads(played_spec(wildcards))
    heated = condition == "heated"
    own = Path(
        "results", "heated" if heated else "episodes", env, wildcards.model, wildcards.policy
    )
    mark = (own if heated else own / condition) / "provenance.json"
    if (record := records.read(mark)) and record["spec"] == spec:
        names = [entry["name"] for entry in record["inputs"]]
        return max(1, sum(name.startswith("turns") for name in names))
    tests = config["environments"][env]["tasks"]["test"]
    tasks = min(tests, spec["tasks"] or tests)
    pieces = len(shards.pieces(tasks, spec["episodes"], spec["batch"])) * len(spec["turns"])
    return min(pieces, within(env)["sampling"]["shards"])


def parts(table):
    """List a table of each part of the set of episodes at hand.

    No rule makes the only part of one, so Snakemake does not gather it but plays it.
    """

    def paths(wildcards):
        number = shards_of(wildcards)
        return [
            f"results/shards/{wildcards.env}/{wildcards.model}/{wildcards.policy}/"
            f"{wildcards.get('condition', 'heated')}/{part}-of-{number}/{table}.parquet"
            for part in range(1, number + 1)
        ]

    return paths


def heat_of(wildcards):
    """Name the temperature of a set of episodes, if it is not that of the study."""
    if wildcards.get("condition", "heated") != "heated":
        return []
    return f"results/likelihood/{wildcards.env}/{wildcards.model}/{wildcards.policy}/heat.parquet"
