"""How much a job has to do, in units that a rate can be measured for.

Units: a `turn` that may be played (episodes times the budget, used up or not), a `trained` turn
(also learned from), a `scored` turn (its likelihood is computed under one policy), a `sequence`
that a base policy is built from. A `turn` counts by its budget, so how much of it is used up is
part of a rate. What has none of them costs the same in every study: a `job`.
"""

from turnscope.plan.jobs import Job, Study

PLAYING = ("base", "probes", "train", "sample", "matched", "likelihood")
"""Stages that use a model."""


def units(job: Job, study: Study) -> dict[str, float]:
    """Count the work of a job, by unit; empty if it does not depend on the config.

    Args:
        job: The job.
        study: What it is part of.

    Raises:
        ValueError: The study has no tasks or base policy of its environment.
    """
    spec = job.spec
    if job.stage == "base":
        build = spec["settings"].get("build")
        return {"sequence": build["steps"] * build["batch"]} if build else {}
    if job.stage not in PLAYING:
        return {}
    if job.env not in study.tests or job.env not in study.budgets:
        raise ValueError(
            f"no job makes tasks and base policy of {job.env}; plan all jobs, done or not"
        )
    tests, most = study.tests[job.env], study.budgets[job.env]["turns"]
    if job.stage == "likelihood":
        # The episodes of both policies, under both.
        return {"scored": 4 * tests * spec["episodes"] * most}
    if job.stage == "sample":
        turns = (spec["tasks"] or tests) * spec["episodes"] * sum(spec["turns"])
        return {"turn": turns / spec.get("parts", 1)}
    if job.stage == "probes":
        return {"turn": spec["progress"]["tasks"] * most}
    return _trained(job) if job.stage == "train" else {"turn": _matched(job)}


def variant(job: Job) -> str:
    """Name the sort of a job among those of its stage, as far as it matters; else `*`."""
    spec = job.spec
    if job.stage == "train":
        return spec["algorithm"]
    if job.stage == "sample":
        if spec["temperature"] is None:
            return "heated"
        if spec["budget"]["told"]:
            return "told"
        return "blind" if spec["tasks"] is None else "again"
    return "*"


def _trained(job: Job) -> dict[str, float]:
    """Count turns of training, and those of the measurements on the way."""
    training, progress = job.spec["training"], job.spec["progress"]
    turns = job.spec["budget"]["turns"]
    exams = 1 + training["steps"] // training["checkpoint_steps"]
    played = exams * progress["tasks"] * progress["episodes"] * turns if progress else 0
    episodes = training["steps"] * training["tasks"] * training["group"]
    return {"trained": episodes * turns, "turn": played}


def _matched(job: Job) -> float:
    """Count actions in states, and turns of continuations.

    About half of the states that are not made so are error states, which are gone on from, and
    on average half of the budget is left there.
    """
    spec = job.spec
    actions = (spec["states"] + spec["injected"]) * spec["actions"]
    continued = (spec["states"] / 2 + spec["injected"]) * spec["continuations"]
    return 2 * (actions + continued * spec["budget"]["turns"] / 2)
