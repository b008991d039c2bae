"""Whatever is done to results is found, by the kinds of audit that are to find it."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.audits import forging
from tests.audits.forging import (
    BASE,
    GIGPO,
    GRPO,
    HERE,
    OTHER,
    PASS,
    POLICY,
    POOL,
    SCORES,
    TASKS,
    WEIGHTS,
    findings,
)
from turnscope import registry, tables

pytestmark = pytest.mark.slow


def test_nothing_is_found_in_a_clean_study(copied, planned):
    kinds = registry.names("audits")
    assert kinds == [
        *("chain", "derive", "freshness", "integrity", "leakage", "remake", "replay"),
        *("resample", "sanity"),
    ]
    assert findings(copied, kinds, planned) == []


# Files, by who does not touch the records.


def bit(results, path):
    content = bytearray((results / path).read_bytes())
    content[len(content) // 2] ^= 1
    forging.replace(results / path, bytes(content))


def cut(results, path):
    content = (results / path).read_bytes()
    forging.replace(results / path, content[: len(content) // 2])


def emptied(results, path):
    forging.replace(results / path, b"")


def lost(results, path):
    (results / path).unlink()


def folder(results, path):
    (results / path).unlink()
    (results / path).mkdir()


FILES = [
    *((bit, path) for path in (f"{GRPO}/turns.parquet", WEIGHTS, "figures/pass_at_k.png")),
    *((bit, path) for path in ("report.html", f"{TASKS}/tasks.parquet", f"{PASS}.parquet")),
    *((cut, path) for path in (f"{BASE}/episodes.parquet", WEIGHTS, "figures/pass_at_k.csv")),
    *((emptied, path) for path in (f"{POOL}/actions.parquet", "claims/claims.parquet")),
    *((lost, path) for path in (f"{GRPO}/episodes.parquet", WEIGHTS, f"{POLICY}/config.json")),
    *((folder, path) for path in (f"{SCORES}/heat.parquet", "summaries/conduct.csv")),
]


@pytest.mark.parametrize(("how", "path"), FILES)
def test_a_damaged_file_is_found(copied, planned, how, path):
    how(copied, path)
    found = findings(copied, ["integrity"], planned)
    assert {one[2] for one in found} == {f"results/{path}"}


@pytest.mark.parametrize("name", [f"{GRPO}/turns.parquet", f"{TASKS}/tasks.parquet"])
def test_a_damaged_table_is_a_finding_of_every_kind_and_no_traceback(copied, planned, name):
    cut(copied, name)
    for kind in ("integrity", "replay", "leakage", "sanity"):
        assert findings(copied, [kind], planned, episodes=1), kind


@pytest.mark.parametrize("name", [f"{GRPO}/notes.txt", "more.parquet", f"{PASS}_2.parquet"])
def test_a_file_that_no_job_made_is_found(copied, planned, name):
    (copied / name).write_text("x")
    (one,) = findings(copied, ["integrity"], planned)
    assert one[:3] == ("integrity", "stranger", f"results/{name}")


def test_files_swapped_between_policies_are_found(copied, planned):
    one, other = (copied / path / "turns.parquet" for path in (GRPO, OTHER))
    mine, theirs = one.read_bytes(), other.read_bytes()
    forging.replace(one, theirs)
    forging.replace(other, mine)
    assert len(findings(copied, ["integrity"], planned)) >= 2
    for path in (GRPO, OTHER):
        forging.seal(copied, f"{path}/provenance.json")
    assert findings(copied, ["integrity"], planned) == []
    assert {one[1] for one in findings(copied, ["chain"], planned)} == {"link"}
    assert findings(copied, ["sanity"], planned)


# Records.


def spec_seed(content):
    content["spec"]["seed"] = 2


def checksum(content):
    content["outputs"][0]["sha256"] = "0" * 64


def read_checksum(content):
    content["inputs"][0]["sha256"] = "0" * 64


def module(content):
    content["modules"]["turnscope.rollout"] = "0" * 64


def renamed_stage(content):
    content["stage"] = "tasks"


def kept_quiet(content):
    del content["outputs"][0]


def forgotten_input(content):
    del content["inputs"][0]


def elsewhere(content):
    content["outputs"][0]["path"] = f"results/{OTHER}/episodes.parquet"


def without_key(content):
    del content["key"]


def no_files(content):
    content["outputs"] = [1]


def odd_spec(content):
    content["spec"] = ["seed"]


@pytest.mark.parametrize(
    ("how", "kind", "sealed", "then"),
    [
        (spec_seed, "integrity", True, "freshness"),
        (checksum, "integrity", False, None),
        (read_checksum, "integrity", True, "chain"),
        (module, "integrity", True, "freshness"),
        (renamed_stage, "integrity", False, None),
        (kept_quiet, "integrity", True, "freshness"),
        (forgotten_input, "integrity", True, "freshness"),
        (elsewhere, "integrity", False, None),
        (without_key, "integrity", False, None),
        (no_files, "integrity", False, None),
        (odd_spec, "integrity", False, None),
    ],
)
def test_an_edited_record_is_found(copied, planned, how, kind, sealed, then):
    mark = f"{GRPO}/provenance.json"
    content = forging.record(copied, mark)
    how(content)
    forging.write(copied, mark, content)
    assert findings(copied, [kind], planned)
    if sealed:
        forging.seal(copied, mark)
        assert findings(copied, [then], planned)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"schema": 1}', b"[" * 100_000])
def test_a_record_that_is_none_is_found(copied, planned, content):
    forging.replace(copied / GRPO / "provenance.json", content)
    for kind in ("integrity", "chain", "freshness"):
        found = findings(copied, [kind], planned)
        # What is planned is there, if only as a record that `integrity` cannot read.
        assert found or kind == "freshness"
        assert all(len(one[3].splitlines()) == 1 for one in found)


def test_a_lost_record_is_missing_its_files_strangers_and_what_read_them_without_producer(
    copied, planned
):
    (copied / GRPO / "provenance.json").unlink()
    found = findings(copied, ["integrity", "chain", "freshness"], planned)
    assert {one[1] for one in found} == {"stranger", "producer", "missing"}


def test_a_record_of_two_producers_is_found(copied, planned):
    content = forging.record(copied, f"{PASS}.provenance.json")
    forging.write(copied, f"estimates/{HERE}/again.provenance.json", content)
    found = findings(copied, ["chain", "freshness"], planned)
    assert {one[1] for one in found} == {"producers", "orphan"}


def test_a_cycle_is_found(copied, planned):
    content = forging.record(copied, f"{TASKS}/provenance.json")
    path = f"results/{PASS}.parquet"
    wrote = forging.record(copied, f"{PASS}.provenance.json")["outputs"][0]["sha256"]
    content["inputs"] = [{"name": "estimates", "path": path, "sha256": wrote}]
    forging.write(copied, f"{TASKS}/provenance.json", content)
    forging.seal(copied, f"{TASKS}/provenance.json")
    assert [one for one in findings(copied, ["chain"], planned) if one[1] == "cycle"]


# Tables that were changed by who made all records agree.


def turned(name, change):
    """Change a value of the third turn of a table."""

    def edit(frame):
        frame.loc[2, name] = change(frame.loc[2, name])

    return edit


def raised(frame):
    place = frame.index[(frame["metric"] == "pass_at_k") & frame["against"].isna()][3]
    frame.loc[place, ["value", "low", "high"]] = 1.0


def moved(frame):
    frame.loc[frame["low"].first_valid_index(), "low"] = 2.0


def doubled(frame):
    return pd.concat([frame, frame.tail(1)], ignore_index=True)


def improbable(frame):
    frame.loc[frame["p_value"].first_valid_index(), "p_value"] = -0.5


def reversed_sign(frame):
    rows = (frame["metric"] == "pass_at_k") & (frame["against"] == "base")
    rows &= frame["value"].abs() > 0.01
    names = ["value", "low", "high", "band_t_low", "band_t_high", "band_k_low", "band_k_high"]
    place = rows.idxmax()
    frame.loc[place, names] = -frame.loc[place, names].astype(float).to_numpy()
    for low, high in zip(names[1::2], names[2::2], strict=True):
        ends = sorted(frame.loc[place, [low, high]])
        frame.loc[place, [low, high]] = ends


def overturned(frame):
    rows = frame["verdict"].isin(["contradicted", "inconclusive"])
    frame.loc[rows.idxmax(), "verdict"] = "holds"


def leaked(frame):
    train, test = (frame.index[frame["split"] == name][0] for name in ("train", "test"))
    frame.loc[train, "payload"] = frame.loc[test, "payload"].replace(", ", ",  ")


def posed_twice(frame):
    one, other = frame.index[frame["split"] == "test"][:2]
    frame.loc[other, "payload"] = frame.loc[one, "payload"]


def moved_goal(frame):
    for place in frame.index[frame["split"] == "test"]:
        payload = json.loads(frame.loc[place, "payload"])
        payload["map"] = [row[::-1] for row in payload["map"]]
        frame.loc[place, "payload"] = json.dumps(payload, sort_keys=True)


def fewer(frame):
    return frame.drop(frame.index[frame["split"] == "train"][0])


def put(frame, name, place, value):
    """Change a list in a column."""
    values = list(frame[name])
    values[place] = value
    frame[name] = values


def falling(frame):
    put(frame, "bound", 0, frame["bound"][0][::-1])


def hard(frame):
    frame["min_turns"] = 7


def certain(frame):
    put(frame, "logprobs", 2, np.full_like(frame["logprobs"][2], 0.5))


def likelier(frame):
    put(frame, "logprobs", 2, frame["logprobs"][2] * np.float32(0.5))


def mute(frame):
    put(frame, "action_ids", 2, frame["action_ids"][2][:0])


def said_otherwise(frame):
    frame["actions"] = [["wait"] * turn for turn in frame["turn"]]


def no_test_task(frame):
    frame.loc[0, "task_id"] = "train-00000"


def too_many_steps(frame):
    frame["step"] += 1


def spent_back(frame):
    frame.loc[frame["name"] == "tokens_total", "value"] *= -1


def less_likely(frame):
    frame.loc[frame["actor"] == "trained", "logp_trained"] -= 1


def better_than_best(frame):
    frame["quality"] = 1.5


CHANGED = [
    (f"{GRPO}/turns.parquet", turned("reward", lambda one: one + 1), "sanity replay"),
    (f"{GRPO}/turns.parquet", turned("observation", lambda one: f"{one} "), "replay"),
    (f"{GRPO}/turns.parquet", turned("state_key", lambda one: f"{one}0"), "replay"),
    (f"{GRPO}/turns.parquet", turned("action", lambda _: "wait"), "replay"),
    (f"{GRPO}/turns.parquet", turned("valid", lambda one: not one), "sanity replay"),
    (f"{GRPO}/turns.parquet", turned("quality", lambda one: one * 0.9), "replay"),
    (f"{GRPO}/turns.parquet", turned("turn", lambda one: one + 1), "sanity replay"),
    (f"{GRPO}/turns.parquet", certain, "sanity"),
    (f"{GRPO}/turns.parquet", likelier, "sanity"),
    (f"{GRPO}/turns.parquet", mute, "sanity"),
    (f"{GRPO}/turns.parquet", lambda frame: frame.iloc[::-1], "sanity replay"),
    (f"{GRPO}/turns.parquet", lambda frame: frame.drop(2), "sanity replay"),
    (f"{GRPO}/turns.parquet", doubled, "sanity replay"),
    (f"{GRPO}/episodes.parquet", turned("seed", lambda one: one + 1), "leakage replay"),
    (f"{GRPO}/episodes.parquet", turned("success", lambda one: not one), "sanity replay"),
    (f"{GRPO}/episodes.parquet", turned("reward", lambda one: one + 1), "sanity replay"),
    (f"{GRPO}/episodes.parquet", turned("tokens", lambda one: one + 1), "sanity replay"),
    (f"{GRPO}/episodes.parquet", turned("stop", lambda _: "tokens"), "replay"),
    (f"{GRPO}/episodes.parquet", turned("final_state_key", lambda one: f"{one}0"), "replay"),
    (f"{GRPO}/episodes.parquet", turned("told", lambda one: not one), "leakage replay"),
    (f"{GRPO}/episodes.parquet", turned("budget", lambda one: one - 1), "leakage"),
    (f"{GRPO}/episodes.parquet", turned("temperature", lambda _: 0.5), "sanity"),
    (f"{GRPO}/episodes.parquet", turned("policy", lambda _: "base"), "sanity"),
    (f"{GRPO}/episodes.parquet", turned("sample", lambda one: one + 1), "leakage"),
    (f"{GRPO}/episodes.parquet", no_test_task, "leakage"),
    (f"{TASKS}/tasks.parquet", leaked, "leakage"),
    (f"{TASKS}/tasks.parquet", posed_twice, "leakage replay"),
    (f"{TASKS}/tasks.parquet", moved_goal, "replay"),
    (f"{TASKS}/tasks.parquet", fewer, "sanity"),
    (f"{TASKS}/tasks.parquet", falling, "sanity"),
    (f"{TASKS}/tasks.parquet", hard, "sanity"),
    (f"{PASS}.parquet", raised, "sanity"),
    (f"{PASS}.parquet", moved, "sanity"),
    (f"{PASS}.parquet", doubled, "sanity"),
    (f"{PASS}.parquet", improbable, "sanity"),
    (f"{PASS}.parquet", reversed_sign, "sanity"),
    ("claims/claims.parquet", overturned, "sanity"),
    (f"{POOL}/pool.parquet", turned("state_key", lambda one: f"{one}0"), "replay"),
    (f"{POOL}/pool.parquet", said_otherwise, "replay"),
    (f"{POOL}/actions.parquet", turned("quality", lambda one: one / 2 + 0.1), "replay"),
    (f"{POOL}/actions.parquet", turned("valid", lambda one: not one), "replay"),
    (f"{POOL}/actions.parquet", turned("visits", lambda _: 999), "replay"),
    (f"probes/{HERE}/states.parquet", said_otherwise, "replay"),
    (f"{SCORES}/likelihood.parquet", less_likely, "sanity"),
    (f"{SCORES}/likelihood.parquet", turned("logp_base", lambda _: 0.1), "sanity"),
    (f"{SCORES}/likelihood.parquet", turned("logp_sampled", lambda one: one - 1e-4), "sanity"),
    (f"{SCORES}/heat.parquet", lambda frame: frame.assign(temperature=-1.0), "sanity"),
    (f"{POLICY}/progress.parquet", no_test_task, "leakage"),
    (f"{POLICY}/progress.parquet", better_than_best, "sanity"),
    (f"{POLICY}/training.parquet", too_many_steps, "sanity"),
    (f"{POLICY}/training.parquet", spent_back, "sanity"),
]


@pytest.mark.parametrize(("path", "change", "kinds"), CHANGED)
def test_a_changed_table_is_found_even_if_all_records_agree(copied, planned, path, change, kinds):
    forging.rewrite(copied, path, change)
    assert [one[2] for one in findings(copied, ["integrity"], planned)] == [f"results/{path}"]
    home = path.rpartition("/")[0]
    mark = f"{PASS}.provenance.json" if path.startswith("est") else f"{home}/provenance.json"
    forging.seal(copied, mark)
    assert findings(copied, ["integrity"], planned) == []
    # A table that nobody reads has one witness fewer.
    assert bool(findings(copied, ["chain"], planned)) == forging.is_read(copied, path)
    forging.seal_all(copied)
    assert findings(copied, ["integrity", "chain"], planned) == []
    played = GRPO if home == TASKS else home
    for kind in kinds.split():
        assert findings(copied, [kind], planned, only=[played]), kind


def test_seeds_swapped_with_their_names_are_found_by_who_scored_them(copied, planned):
    for name in ("episodes", "turns"):
        one, other = (
            tables.read(copied / path / f"{name}.parquet", name) for path in (GRPO, OTHER)
        )
        for path, frame, policy in ((GRPO, other, "grpo-s0"), (OTHER, one, "grpo-s1")):
            table = tables.conform(frame.assign(policy=policy), name)
            tables.write(table, copied / path / f"{name}.parquet", name)
    forging.seal_all(copied)
    assert findings(copied, ["integrity", "chain", "freshness", "leakage"], planned) == []
    assert findings(copied, ["sanity"], planned)


# What only doing the job again finds.


def more(results, path):
    content = (results / path).read_bytes()
    forging.replace(results / path, content + b" ")


def subtle(results, path):
    def change(frame):
        frame.loc[frame["metric"] == "evaluation_noise", "value"] *= 1.01

    forging.rewrite(results, path, change)


def unscored(results, path):
    forging.rewrite(results, path, likelier)


def other_test(results, path):
    def change(frame):
        frame.loc[0, "stratum"] = "9x9"

    forging.rewrite(results, path, change)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        (more, "figures/pass_at_k.csv"),
        (more, "report.html"),
        (more, "summaries/conduct.csv"),
        (subtle, f"{PASS}.parquet"),
        (unscored, f"{GIGPO}/turns.parquet"),
        (other_test, f"{TASKS}/tasks.parquet"),
    ],
)
def test_what_no_table_betrays_is_found_by_doing_the_job_again(copied, planned, how, path):
    how(copied, path)
    forging.seal_all(copied)
    assert findings(copied, ["integrity", "chain", "freshness"], planned) == []
    found = findings(copied, ["remake"], planned, chosen=(f"results/{path}",))
    assert ("remake", f"results/{path}") in {(one[0], one[2]) for one in found}


def test_artifacts_chosen_at_random_come_out_again(copied, planned):
    assert findings(copied, ["remake"], planned, remake=5, seed=1) == []


# What is planned.


def test_another_config_is_found_by_its_keys(copied, planned):
    mark = f"results/{PASS}.provenance.json"
    jobs = tuple(
        job._replace(spec={**job.spec, "settings": {**job.spec["settings"], "draws": 600}})
        if job.mark == mark
        else job
        for job in planned
    )
    (one,) = findings(copied, ["freshness"], jobs)
    assert one[1:] == (
        "spec",
        mark,
        "made from another specification: settings.draws 500 -> 600",
    )


def test_what_nobody_plans_is_an_orphan(copied, planned):
    mark = f"results/{PASS}.provenance.json"
    jobs = tuple(job for job in planned if job.mark != mark)
    assert [one[1:3] for one in findings(copied, ["freshness"], jobs)] == [("orphan", mark)]
