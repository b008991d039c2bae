"""What a dishonest author would do, who makes all records agree with it: each is found.

The kinds named with each are those that are to find it. `remake` finds all of it, and is named
alone where nothing else does; what it costs is why it looks at few artifacts.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from tests.audits import forging
from tests.audits.forging import BASE, GIGPO, GRPO, HERE, PASS, POLICY, TASKS, WEIGHTS, findings
from turnscope import tables

pytestmark = pytest.mark.slow
OTHER = f"policies/{HERE}/grpo-s1"


def everything_agrees(results, planned):
    forging.seal_all(results)
    assert findings(results, ["integrity", "chain"], planned) == []


def exchanged(results, one, other):
    """Exchange the files of two folders, but not their records."""
    for path in sorted((results / one).iterdir()):
        if path.name not in ("provenance.json", "run.json"):
            mine, theirs = path.read_bytes(), (results / other / path.name).read_bytes()
            forging.replace(path, theirs)
            forging.replace(results / other / path.name, mine)


# Policies that are others than they are called.


def seeds(results):
    """Exchange two seeds, whose tables then say that they are the other."""
    exchanged(results, POLICY, OTHER)
    for folder, name in ((POLICY, "grpo-s0"), (OTHER, "grpo-s1")):
        for table in ("training", "progress"):
            path = f"{folder}/{table}.parquet"
            forging.rewrite(results, path, lambda frame, name=name: frame.assign(policy=name))


def weights(results):
    """Make the weights of a policy a little larger."""
    numbers = load_file(results / WEIGHTS)
    (results / WEIGHTS).unlink()
    save_file({name: one * np.float32(1.05) for name, one in numbers.items()}, results / WEIGHTS)


def untrained(results):
    """Give the base policy out as a trained one."""
    path = results / f"policies/{HERE}/base/model.safetensors"
    forging.replace(results / WEIGHTS, path.read_bytes())


def tokenizer(results):
    """Exchange two words of a tokenizer."""
    path = results / POLICY / "tokenizer.json"
    content = json.loads(path.read_text())
    words = content["model"]["vocab"]
    one, other = (next(word for word in words if name in word) for name in ("left", "right"))
    words[one], words[other] = words[other], words[one]
    forging.replace(path, json.dumps(content).encode())


@pytest.mark.parametrize("how", [seeds, weights, untrained, tokenizer])
def test_a_policy_that_is_another_one_says_something_else(copied, planned, how):
    assert findings(copied, ["resample"], planned, only=[GRPO]) == []
    how(copied)
    everything_agrees(copied, planned)
    assert findings(copied, ["freshness"], planned) == []
    assert findings(copied, ["resample"], planned, only=[GRPO])


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("config.json", {"auto_map": {"AutoModelForCausalLM": "x.Y"}}, "names code to run"),
        ("adapter_config.json", {}, "no record speaks for"),
        ("model.safetensors", {}, "no safetensors"),
    ],
)
def test_weights_with_something_else_beside_them_are_not_loaded(
    copied, planned, name, content, why
):
    path = copied / POLICY / name
    own = json.loads(path.read_text()) if name == "config.json" else {}
    forging.replace(path, json.dumps(own | content).encode())
    forging.seal_all(copied)
    (found,) = findings(copied, ["resample"], planned, only=[GRPO])
    assert why in found[3]


# Episodes of somebody else, or of another kind.


def of_another_arm(results):
    for name in ("episodes", "turns"):
        frame = tables.read(results / GRPO / f"{name}.parquet", name)
        forging.rewrite(
            results,
            f"{GIGPO}/{name}.parquet",
            lambda _, frame=frame: frame.assign(policy="gigpo-s0"),
        )


def heated(results):
    """Give episodes of another temperature out as those at 1."""
    for name in ("episodes", "turns"):
        frame = tables.read(results / f"heated/{HERE}/grpo-s0/{name}.parquet", name)
        frame = frame.assign(temperature=1.0) if name == "episodes" else frame
        forging.rewrite(
            results,
            f"{GIGPO}/{name}.parquet",
            lambda _, frame=frame: frame.assign(policy="gigpo-s0"),
        )


def unsure(results):
    """Say that a policy was less sure than it was."""

    def change(frame):
        frame["logprobs"] = [one - np.float32(0.2) for one in frame["logprobs"]]

    forging.rewrite(results, f"{GIGPO}/turns.parquet", change)


def doubled(results):
    """Give the first episode of each task out as its second one, too."""
    heads = tables.read(results / GIGPO / "episodes.parquet", "episodes")
    turns = tables.read(results / GIGPO / "turns.parquet", "turns")
    first = heads[heads["sample"] == 0].set_index("task_id")
    seeds = heads[heads["sample"] == 1].set_index("task_id")["seed"]
    again = first.assign(sample=1, seed=seeds).reset_index()
    heads = pd.concat([heads[heads["sample"] != 1], again]).sort_values(["task_id", "sample"])
    said = turns[turns["sample"] == 0].assign(sample=1)
    turns = pd.concat([turns[turns["sample"] != 1], said])
    turns = turns.sort_values(["task_id", "sample", "turn"])
    for name, frame in (("episodes", heads[heads.columns]), ("turns", turns)):
        forging.rewrite(results, f"{GIGPO}/{name}.parquet", lambda _, frame=frame: frame)


def survivors(results):
    """Give all failures out as failures of the environment."""
    lost = tables.read(results / GIGPO / "episodes.parquet", "episodes")
    lost = lost[~lost["success"].astype(bool)]
    keys = {*zip(lost["task_id"], lost["sample"], strict=True)}

    def of_heads(frame):
        some = [key in keys for key in zip(frame["task_id"], frame["sample"], strict=True)]
        frame.loc[some, "success"] = pd.NA
        frame.loc[some, "stop"] = "error"
        frame.loc[some, ["final_observation", "final_state_key"]] = ""
        frame.loc[some, "error"] = "OSError: timed out at the action 'left'"

    def of_turns(frame):
        some = [key in keys for key in zip(frame["task_id"], frame["sample"], strict=True)]
        frame.loc[some, "success"] = pd.NA

    forging.rewrite(results, f"{GIGPO}/episodes.parquet", of_heads)
    forging.rewrite(results, f"{GIGPO}/turns.parquet", of_turns)


@pytest.mark.parametrize(
    ("how", "kinds"),
    [
        (of_another_arm, "resample"),
        (heated, "resample"),
        (unsure, "resample"),
        (doubled, "replay"),
        (survivors, "resample"),
    ],
)
def test_episodes_of_another_kind_are_found(copied, planned, how, kinds):
    assert findings(copied, kinds.split(), planned, only=[GIGPO]) == []
    how(copied)
    everything_agrees(copied, planned)
    for kind in kinds.split():
        assert findings(copied, [kind], planned, only=[GIGPO]), kind


def cherries(results):
    """Leave out a failed episode of each task, and say that fewer were asked for."""
    mark = f"{GIGPO}/provenance.json"
    content = forging.record(results, mark)
    content["spec"]["episodes"] -= 1
    forging.write(results, mark, content)
    heads = tables.read(results / GIGPO / "episodes.parquet", "episodes")
    order = heads.sort_values(["success", "sample"], kind="stable")
    worst = order.groupby("task_id").head(1)
    drop = {*zip(worst["task_id"], worst["sample"], strict=True)}

    def kept(frame):
        some = [key not in drop for key in zip(frame["task_id"], frame["sample"], strict=True)]
        frame = frame[some].copy()
        after = dict(drop)
        frame["sample"] -= (frame["sample"] > frame["task_id"].map(after)).astype("int32")
        return frame

    for name in ("episodes", "turns"):
        forging.rewrite(results, f"{GIGPO}/{name}.parquet", kept)


def hardest(results):
    """Leave out the tasks that nobody solves, and say that fewer were asked for."""
    mark = f"{TASKS}/provenance.json"
    content = forging.record(results, mark)
    heads = tables.read(results / BASE / "episodes.parquet", "episodes")
    solved = heads.groupby("task_id")["success"].sum()
    never = {*solved.index[solved == solved.min()][:3]}
    content["spec"]["tasks"]["test"] -= len(never)
    forging.write(results, mark, content)
    paths = [f"{TASKS}/tasks.parquet"]
    paths += [
        path.relative_to(results).as_posix() for path in results.glob("episodes/**/*.parquet")
    ]
    for path in paths:
        forging.rewrite(results, path, lambda frame: frame[~frame["task_id"].isin(never)])


@pytest.mark.parametrize(
    ("how", "kinds"), [(cherries, "freshness leakage"), (hardest, "freshness leakage derive")]
)
def test_what_was_left_out_afterwards_is_found(copied, planned, how, kinds):
    how(copied)
    everything_agrees(copied, planned)
    for kind in kinds.split():
        assert findings(copied, [kind], planned, only=[f"{PASS}.provenance.json"]), kind


# Numbers that nobody computed.


def value(frame):
    frame.loc[frame["metric"] == "evaluation_noise", "value"] *= 1.01


def narrower(frame):
    """Give intervals of another level out as 95%."""
    for low, high in (("low", "high"), ("band_t_low", "band_t_high")):
        frame[low] = frame["value"] + 0.8 * (frame[low] - frame["value"])
        frame[high] = frame["value"] + 0.8 * (frame[high] - frame["value"])


def significant(frame):
    frame["p_value"] *= 0.5


def more_tasks(frame):
    frame["tasks"] += 10


def fewer_rows(frame):
    return frame[frame["p_value"].isna() | (frame["p_value"] < 0.5)]


@pytest.mark.parametrize("change", [value, narrower, significant, more_tasks, fewer_rows])
def test_estimates_that_nobody_computed_are_found(copied, planned, change):
    forging.rewrite(copied, f"{PASS}.parquet", change)
    everything_agrees(copied, planned)
    (found,) = findings(copied, ["derive"], planned, only=[f"{PASS}.provenance.json"])
    assert found[:3] == ("derive", "derive", f"results/{PASS}.parquet")


def test_a_verdict_that_was_turned_everywhere_is_found(copied, planned):
    claims = tables.read(copied / "claims/claims.parquet", "claims")
    place = claims.index[claims["verdict"].isin(["contradicted", "inconclusive"])][0]
    name, verdict = claims.loc[place, ["claim", "verdict"]]

    def turned(frame):
        frame.loc[(frame["claim"] == name) & (frame["verdict"] == verdict), "verdict"] = (
            "reproduced"
        )

    for table in ("claims", "robustness"):
        forging.rewrite(copied, f"claims/{table}.parquet", turned)
    page = (copied / "report.html").read_text()
    edited = re.sub(rf"\b{verdict}\b", "reproduced", page)
    assert edited != page
    forging.replace(copied / "report.html", edited.encode())
    everything_agrees(copied, planned)
    found = findings(copied, ["derive"], planned, only=["claims", "report.provenance.json"])
    assert {one[2] for one in found} >= {"results/claims/claims.parquet", "results/report.html"}


@pytest.mark.parametrize("kind", ["csv", "svg", "pdf", "png"])
def test_a_figure_that_was_touched_up_is_found(copied, planned, kind):
    path = f"figures/pass_at_k.{kind}"
    forging.replace(copied / path, (copied / path).read_bytes().replace(b"0", b"1", 1))
    everything_agrees(copied, planned)
    found = findings(copied, ["derive"], planned, only=["figures/pass_at_k.provenance.json"])
    assert [one[2] for one in found] == [f"results/{path}"]


def test_another_seed_in_the_specification_is_found(copied, planned):
    mark = f"{PASS}.provenance.json"
    content = forging.record(copied, mark)
    content["spec"]["settings"]["seed"] += 1
    forging.write(copied, mark, content)
    everything_agrees(copied, planned)
    (one,) = findings(copied, ["freshness"], planned)
    assert one[1] == "spec"
    assert findings(copied, ["derive"], planned, only=[mark])


# What only doing the job again finds.


def smoothed(results):
    def change(frame):
        frame.loc[frame["name"] == "entropy", "value"] *= 0.99

    forging.rewrite(results, f"{POLICY}/training.parquet", change)


def luckier(results):
    def change(frame):
        rows = frame["success"].notna()
        frame.loc[rows, "success"] = True

    forging.rewrite(results, f"{POLICY}/progress.parquet", change)


def test_a_training_that_went_otherwise_is_found_by_doing_it_again(copied, planned):
    smoothed(copied)
    luckier(copied)
    everything_agrees(copied, planned)
    mark = f"results/{POLICY}/provenance.json"
    found = findings(copied, ["remake"], planned, chosen=(mark,))
    tables = {f"results/{POLICY}/{table}.parquet" for table in ("training", "progress")}
    assert {one[2] for one in found} >= tables
