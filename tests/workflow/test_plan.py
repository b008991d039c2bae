"""What Snakemake would do in a repository without results."""

import pytest
import yaml

from tests.workflow.running import clone, planned, snakemake
from turnscope import registry

pytestmark = pytest.mark.slow
FIGURES = registry.names("figures")


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
        "Train grpo, seed 0, from nano in frozen_lake",
        "Train grpo, seed 1, from nano in frozen_lake",
        f"Play base {nano}, blind-T8",
        f"Play base {nano}, blind-T4",
        f"Play grpo-s0 {nano}, blind-T8",
        f"Play grpo-s0 {nano}, blind-T4",
        f"Play grpo-s1 {nano}, blind-T8",
        f"Estimate pass_at_kt {nano}",
        "Judge the claims",
        "Write the report",
    } <= set(everything)
    assert {f"Draw {figure}" for figure in FIGURES} <= set(everything)


def test_no_plan_names_a_job_twice(everything):
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_a_target_by_its_name(repo, figure):
    drawn = [job for job in planned(repo, figure) if job.startswith("Draw ")]
    assert drawn == [f"Draw {figure}"]


def test_a_study_of_base_policies_needs_no_training(repo):
    jobs = planned(repo, "results/estimates/frozen_lake/nano/pass_at_kt.parquet")
    assert len([job for job in jobs if job.startswith("Train ")]) == 2
    jobs = planned(repo, "results/episodes/frozen_lake/nano/base/blind-T8/episodes.parquet")
    assert not [job for job in jobs if job.startswith("Train ")]


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


def test_the_slurm_profile_is_found_by_its_name(repo):
    done = snakemake(repo, "--profile", "slurm", "--dry-run", "all")
    assert done.returncode == 0, done.stdout
    assert "Train grpo, seed 0" in done.stdout
