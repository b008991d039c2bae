"""What Snakemake would do in a repository without results."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.workflow.running import clone, no_weights, planned, snakemake
from turnscope import registry

pytestmark = pytest.mark.slow
FIGURES = registry.names("figures")
ARMS = ["grpo", "gigpo", "budget_mix"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return clone(tmp_path_factory.mktemp("plan"))


@pytest.fixture(scope="module")
def everything(repo):
    return planned(repo, "all")


def test_the_study_is_played_trained_and_drawn(everything):
    nano = "of nano in frozen_lake"
    assert {
        "Make the tasks of frozen_lake",
        "Make the base policy of nano in frozen_lake",
        f"Choose the probe states {nano}",
        f"Play base {nano}, blind",
        f"Play base {nano}, again",
        f"Play grpo-s0 {nano}, again",
        f"Play base {nano}, told",
        f"Estimate pass_at_kt {nano}",
        "Judge the claims",
        "Write the report",
    } <= set(everything)
    assert {f"Draw {figure}" for figure in FIGURES} <= set(everything)
    assert {f"Tabulate {name}" for name in registry.names("summaries")} <= set(everything)
    for arm in ARMS:
        assert {
            f"Train {arm}, seed 0, from nano in frozen_lake",
            f"Train {arm}, seed 1, from nano in frozen_lake",
            f"Play {arm}-s0 {nano}, blind",
            f"Play {arm}-s1 {nano}, blind",
        } <= set(everything)
    assert f"Play grpo-s0 {nano}, told" not in everything
    assert f"Play gigpo-s0 {nano}, again" not in everything
    assert f"Compare grpo-s1 with base in equal states, {nano.removeprefix('of ')}" in everything
    assert not [job for job in everything if job.startswith("Compare gigpo")]


def test_no_plan_names_a_job_twice(everything):
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_a_target_by_its_name(repo, figure):
    drawn = [job for job in planned(repo, figure) if job.startswith("Draw ")]
    assert drawn == [f"Draw {figure}"]


def test_a_study_of_base_policies_needs_no_training(repo):
    jobs = planned(repo, "results/estimates/frozen_lake/nano/pass_at_kt.parquet")
    assert len([job for job in jobs if job.startswith("Train ")]) == 2 * len(ARMS)
    jobs = planned(repo, "results/episodes/frozen_lake/nano/base/blind/episodes.parquet")
    assert not [job for job in jobs if job.startswith("Train ")]


def overlaid(repo, to, **changes):
    """Write a variant of the test study; sections that are given replace those it has."""
    path = to / "overlay.yaml"
    path.write_text(
        yaml.safe_dump(yaml.safe_load((repo / "config/test.yaml").read_text()) | changes)
    )
    return str(path)


def test_with_vllm_that_plays_and_transformers_scores(repo, tmp_path):
    models = yaml.safe_load((repo / "config/test.yaml").read_text())["models"]
    models["nano"]["backend"] = "vllm"
    study = overlaid(repo, tmp_path, models=models)
    done = snakemake(repo, "--dry-run", "-p", "all", study=study)
    assert done.returncode == 0, done.stdout
    backends: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        if found := re.search(r" -m turnscope\.stages\.(\w+) --spec ", line):
            words = shlex.split(line)
            spec = json.loads(words[words.index("--spec") + 1])
            starts = " ".join(words[words.index("--code") : words.index("--output")])
            if "backend" in spec:
                assert f"policies.{spec['backend']}" in starts
                backends.setdefault(found[1], set()).add(spec["backend"])
    players = {stage: {"vllm"} for stage in ("probes", "sample", "matched")}
    assert backends == players | {"likelihood": {"transformers"}}


def test_an_arm_that_sees_the_turns_left_is_also_played_so(repo, tmp_path):
    study = overlaid(
        repo,
        tmp_path,
        study={"arms": ["gigpo", "grpo", "budget_mix_told"]},
        sampling={"episodes": 8, "batch": 256, "told": {"shares": [0.5, 1.0], "episodes": 8}},
    )
    told = [job.split()[1] for job in planned(repo, "all", study=study) if job.endswith(", told")]
    policies = ["base", "budget_mix_told-s0", "budget_mix_told-s1", "grpo-s0", "grpo-s1"]
    assert sorted(told) == policies


def test_whoever_compares_arms_knows_their_order_and_how_they_are_trained(repo, tmp_path):
    arms = ["gigpo", "grpo", "tight_25", "budget_mix_told"]
    study = overlaid(repo, tmp_path, study={"arms": arms})
    done = snakemake(repo, "--dry-run", "-p", "all", study=study)
    assert done.returncode == 0, done.stdout
    expected = [
        ["gigpo", "gigpo", False],
        ["grpo", "grpo", False],
        ["tight_25", "tight", False],
        ["budget_mix_told", "budget_mix", True],
    ]
    for stage in ("figure", "summary", "report", "claims"):
        lines = [line for line in done.stdout.splitlines() if f"stages.{stage} " in line]
        assert lines
        for line in lines:
            words = shlex.split(line)
            assert json.loads(words[words.index("--spec") + 1])["arms"] == expected


def test_budgets_that_several_shares_round_up_to_are_played_once(repo, tmp_path):
    shares = {"shares": [0.3, 0.35, 1.0], "episodes": 8}  # of 8 turns: 3, 3 and 8
    study = overlaid(repo, tmp_path, sampling={"episodes": 8, "batch": 256, "told": shares})
    target = "results/episodes/frozen_lake/nano/base/told/episodes.parquet"
    assert sampled(snakemake(repo, "--dry-run", "-p", target, study=study))["turns"] == [3, 8]


def sampled(done):
    """Return the specification of the only job that plays."""
    assert done.returncode == 0, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "stages.sample" in line]
    words = shlex.split(line)
    return json.loads(words[words.index("--spec") + 1])


def test_an_arm_with_the_tokens_of_another_waits_for_it(repo):
    target = "results/policies/frozen_lake/nano/grpo_matched-s1/training.parquet"
    assert planned(repo, target) == [
        "Choose the probe states of nano in frozen_lake",
        "Make the base policy of nano in frozen_lake",
        "Make the tasks of frozen_lake",
        "Train budget_mix, seed 1, from nano in frozen_lake",
        "Train grpo_matched, seed 1, from nano in frozen_lake",
    ]


def test_without_evaluation_on_the_way_nothing_is_probed(repo, tmp_path):
    training = yaml.safe_load((repo / "config/test.yaml").read_text())["training"]
    study = overlaid(
        repo,
        tmp_path,
        training=training | {"progress": None},
        study={"metrics": ["pass_at_kt"]},
        figures=["pass_at_k"],
        summaries=[],
    )
    jobs = planned(repo, "all", study=study)
    assert "Train grpo, seed 0, from nano in frozen_lake" in jobs
    assert not [job for job in jobs if job.startswith("Choose")]
    done = snakemake(repo, "--dry-run", "-p", "all", study=study)
    (line, *_) = [line for line in done.stdout.splitlines() if "stages.train" in line]
    words = shlex.split(line)
    assert json.loads(words[words.index("--spec") + 1])["progress"] is None
    assert "states=" in words


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"sede": 1}, "config: sede: unknown key 'sede' (did you mean seed?); known: seed, "),
        (
            {"study": {"environments": ["frozen_lak"]}},
            "config: study.environments: unknown environment 'frozen_lak' (did you mean ",
        ),
        ({"study": {"arms": ["gpro"]}}, "config: study.arms: unknown arm 'gpro' (did you mean "),
        ({"study": {"models": ["nanno"]}}, "config: study.models: unknown model 'nanno' (did "),
        (
            {"environments": {"frozen_lake": {"budget": {"turns": -5}}}},
            "config: environments.frozen_lake.budget.turns: -5 is not legal; legal is at least 1",
        ),
        (
            {"environments": {"frozen_lake": {"budget": {"turns": 1}}}},
            "config: environments.frozen_lake.budget.turns: 1 is below what any task needs; ",
        ),
        (
            {"metrics": {"ks": [1, 64]}},
            "config: metrics.ks: 64 is above sampling.episodes = 32; legal is at most 32",
        ),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--dry-run"]])
def test_a_bad_study_is_refused_in_one_line_before_any_job(repo, tmp_path, change, line, flags):
    study = tmp_path / "bad.yaml"
    study.write_text(yaml.safe_dump(change))
    done = snakemake(repo, *flags, "all", study=str(study))
    said = [text for text in done.stdout.splitlines() if not text.startswith(("Using", "Config "))]
    assert done.returncode == 1
    assert len(said) == 1
    assert said[0].startswith(line)
    assert not (repo / "results" / "logs").exists()


def test_results_go_to_the_directory_that_is_asked_for(repo, tmp_path):
    made = tmp_path / "elsewhere"
    done = snakemake(repo, "--directory", str(made), "tasks_of_frozen_lake")
    assert done.returncode == 1  # no such target: nothing is made, here or there
    target = "results/tasks/frozen_lake/tasks.parquet"
    done = snakemake(repo, "--directory", str(made), target)
    assert done.returncode == 0, done.stdout
    assert (made / target).exists()
    assert not (repo / target).exists()


def test_a_clone_may_have_blanks_and_quotes_in_its_path(tmp_path):
    made = clone(tmp_path / """my brother's "clone" $HOME""")
    target = "results/tasks/frozen_lake/tasks.parquet"
    done = snakemake(made, target)
    assert done.returncode == 0, done.stdout
    assert (made / target).exists()


def test_a_brace_in_the_path_of_a_clone_is_refused_in_one_line(tmp_path):
    done = snakemake(clone(tmp_path / "{mine}"), "--dry-run", "all")
    assert done.returncode == 1
    assert "holds a brace, which Snakemake takes for a placeholder; rename it" in done.stdout
    assert "Traceback" not in done.stdout


def test_jobs_that_ask_for_no_gpu_see_none_and_threads_are_those_of_the_rule(repo, tmp_path):
    done = snakemake(repo, "--dry-run", "-p", "all")
    commands = [line for line in done.stdout.splitlines() if " -m turnscope.stages." in line]
    assert len(commands) > 10
    for command in commands:
        start = "test 0 != 0 || export CUDA_VISIBLE_DEVICES=; OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 "
        assert start in command
    weights = no_weights(tmp_path / "model")
    overlay = tmp_path / "big.yaml"
    overlay.write_text(
        yaml.safe_dump(
            {
                "models": {"big": {"backend": "transformers", "path": str(weights)}},
                "study": {"models": ["big"]},
            }
        )
    )
    done = snakemake(repo, "--dry-run", "-p", "all", study=str(overlay))
    assert re.search(r"test 1 != 0 .* -m turnscope\.stages\.train ", done.stdout)
    assert re.search(r"test 0 != 0 .* -m turnscope\.stages\.claims ", done.stdout)


@pytest.mark.parametrize(
    ("condition", "turns", "tasks", "episodes"),
    [("blind", [8], None, 12), ("again", [4], 20, 8), ("told", [4, 8], None, 10)],
)
def test_only_blind_episodes_under_smaller_budgets_are_few(
    repo, tmp_path, condition, turns, tasks, episodes
):
    target = f"results/episodes/frozen_lake/nano/base/{condition}/episodes.parquet"
    study = yaml.safe_load((repo / "config/test.yaml").read_text())
    study["sampling"]["episodes"] = 12
    study["sampling"]["told"]["episodes"] = 10
    overlay = tmp_path / "more.yaml"
    overlay.write_text(yaml.safe_dump(study))
    spec = sampled(snakemake(repo, "--dry-run", "-p", target, study=str(overlay)))
    assert (spec["turns"], spec["tasks"], spec["episodes"]) == (turns, tasks, episodes)


POND = '''\
"""FrozenLake by another name."""

from turnscope.environments.frozen_lake import *
'''
CHANGES = {
    "build": {"hidden": 48},
    "training": {"steps": 5},
    "progress": {"tasks": 11, "episodes": 3},
    "sampling": {"episodes": 10, "told": {"shares": [0.4, 1.0]}},
    "matched": {"states": 33, "scored": 1, "heated": 9},
}


@pytest.fixture(scope="module")
def pond(tmp_path_factory):
    """A clone with a second environment."""
    made = clone(tmp_path_factory.mktemp("pond"))
    (made / "src/turnscope/environments/pond.py").write_text(POND)
    return made


def two(repo, to, **section):
    """Write a variant of the test study with both environments."""
    worlds = yaml.safe_load((repo / "config/test.yaml").read_text())["environments"]
    lake = worlds["frozen_lake"]
    smaller = lake | {"budget": {"turns": 5, "turn_tokens": 4}}
    to.mkdir()
    return overlaid(
        repo,
        to,
        environments=worlds | {"pond": smaller | section},
        study={"environments": ["frozen_lake", "pond"]},
    )


def specifications(repo, study):
    """Return the stage and the specification of each job, by its first output."""
    done = snakemake(repo, "--dry-run", "-p", "all", study=study)
    assert done.returncode == 0, done.stdout
    found = {}
    for line in done.stdout.splitlines():
        if " -m turnscope.stages." in line:
            words = shlex.split(line)
            stage = words[words.index("-m") + 1].rsplit(".")[-1]
            output = words[words.index("--output") + 1].partition("=")[2]
            found[output] = stage, json.loads(words[words.index("--spec") + 1])
    return found


@pytest.fixture(scope="module")
def plain(pond, tmp_path_factory):
    return specifications(pond, two(pond, tmp_path_factory.mktemp("plain") / "two"))


def test_a_second_environment_changes_no_job_of_the_first(repo, plain):
    alone = specifications(repo, "config/test.yaml")
    first = {name: one for name, one in alone.items() if "/frozen_lake/" in name}
    assert len(first) > 40
    assert {name: one for name, one in plain.items() if "/frozen_lake/" in name} == first
    second = {name.replace("/pond/", "/frozen_lake/") for name in plain if "/pond/" in name}
    assert second == set(first)


def test_what_an_environment_changes_runs_jobs_of_it_alone(pond, plain, tmp_path):
    changed = specifications(pond, two(pond, tmp_path / "two", **CHANGES))
    assert changed.keys() == plain.keys()
    different = {name for name in plain if changed[name] != plain[name]}
    whole = {"results/summaries/setup.csv", "results/report.html"}
    assert whole <= different
    assert all("/pond/" in name for name in different - whole)
    stages = {plain[name][0] for name in different}
    assert stages == {
        *("base", "probes", "train", "sample", "matched", "likelihood"),
        *("summary", "report"),
    }
    # what is common still is: changes name single keys
    (name,) = [name for name in different if name.endswith("pond/nano/grpo-s1/model.safetensors")]
    before, after = plain[name][1], changed[name][1]
    assert after["training"] == before["training"] | {"steps": 5}
    assert after["progress"] == before["progress"] | {"tasks": 11, "episodes": 3}
    name = "results/episodes/pond/nano/base/told/episodes.parquet"
    assert (changed[name][1]["turns"], changed[name][1]["episodes"]) == ([2, 5], 8)
    name = "results/episodes/pond/nano/base/again/episodes.parquet"
    assert changed[name] == plain[name]
    assert changed[name][1]["turns"] == [3]


def test_what_ties_is_a_matter_of_estimates_and_nothing_is_played_anew_for_it(
    pond, plain, tmp_path
):
    changed = specifications(pond, two(pond, tmp_path / "two", matched={"tie": 0.125}))
    assert changed.keys() == plain.keys()
    different = {name for name in plain if changed[name] != plain[name]}
    estimates = {name for name in plain if name.startswith("results/estimates/pond/")}
    assert different == estimates | {"results/summaries/setup.csv", "results/report.html"}
    for name in estimates:
        (_, before), (_, after) = plain[name], changed[name]
        assert before["settings"]["tie"] == 0.01
        assert after["settings"] == before["settings"] | {"tie": 0.125}


def test_an_arm_counts_more_than_its_environment_and_that_more_than_the_study(pond, tmp_path):
    study = two(pond, tmp_path / "two", training={"steps": 5, "group": 6})
    changes = yaml.safe_load(Path(study).read_text())
    changes["arms"] = {"gigpo": {"training": {"steps": 7}}}
    Path(study).write_text(yaml.safe_dump(changes))
    found = specifications(pond, study)
    sizes = {
        (env, arm): tuple(
            found[f"results/policies/{env}/nano/{arm}-s0/model.safetensors"][1]["training"][name]
            for name in ("steps", "group", "tasks")
        )
        for env in ("frozen_lake", "pond")
        for arm in ("grpo", "gigpo")
    }
    assert sizes == {
        ("frozen_lake", "grpo"): (4, 4, 4),
        ("frozen_lake", "gigpo"): (7, 4, 4),
        ("pond", "grpo"): (5, 6, 4),
        ("pond", "gigpo"): (7, 6, 4),
    }


def test_an_arm_runs_only_where_it_is_named(pond, plain, tmp_path):
    found = specifications(pond, two(pond, tmp_path / "two", arms=["budget_mix", "grpo"]))
    missing = plain.keys() - found.keys()
    assert found.keys() <= plain.keys()
    assert {name for name in plain if re.search(r"/pond/nano/gigpo-s\d/", name)} == missing
    assert [found[name] for name in found] == [
        plain[name] if name not in ("results/summaries/setup.csv", "results/report.html") else one
        for name, one in found.items()
    ]


def test_the_slurm_profile_is_found_by_its_name(repo):
    done = snakemake(repo, "--profile", "slurm", "--dry-run", "all")
    assert done.returncode == 0, done.stdout
    assert "Train grpo, seed 0" in done.stdout
