"""How many jobs a cluster is given."""

import re

import pytest
import yaml

from tests.workflow.running import ROOT, clone, no_weights, snakemake

pytestmark = pytest.mark.slow
# Those two prove that everything runs, and take seconds each.
PROOFS = ("test", "smoke")
STUDIES = [
    "config.yaml",
    *(
        f"config/{path.name}"
        for path in sorted(ROOT.glob("config/*.yaml"))
        if path.stem not in PROOFS
    ),
]


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return clone(tmp_path_factory.mktemp("load"))


@pytest.mark.parametrize("study", STUDIES)
def test_at_most_one_job_comes_on_a_minute_of_work(repo, study):
    done = snakemake(repo, "plan", study=study)
    assert done.returncode == 0, done.stdout
    load = re.search(r"^on a cluster: .* jobs, <?(\S+) for each minute of work$", done.stdout, re.M)
    assert load is not None, done.stdout
    assert 0 < float(load[1]) <= 1


def groups(repo, *arguments, study="config/test.yaml"):
    done = snakemake(repo, "--dry-run", "-p", "all", *arguments, study=study)
    assert done.returncode == 0, done.stdout
    return sorted(re.findall(r"^\[.*\] Group job (\S+) ", done.stdout, re.MULTILINE))


def test_jobs_with_models_share_one_only_where_all_are_built_here(repo, tmp_path):
    models = yaml.safe_load((repo / "config/test.yaml").read_text())["models"]
    weights = no_weights(tmp_path / "model")
    models["big"] = {"backend": "transformers", "path": str(weights)}
    overlay = tmp_path / "big.yaml"
    overlay.write_text(yaml.safe_dump({"models": models, "study": {"models": ["nano", "big"]}}))
    built, loaded = groups(repo), groups(repo, study=str(overlay))
    assert {"start_frozen_lake", "play_frozen_lake_nano", "compare_frozen_lake_nano"} <= {*built}
    assert {"drawings", "estimates_frozen_lake_nano", "estimates_frozen_lake_big"} == {*loaded}


def test_a_group_takes_as_many_jobs_as_the_profile_says(repo):
    # Ten are played: base and three arms with two seeds, base and grpo-s0 again, base told.
    bundles = ["play_{env}_{model}=4", "estimates_{env}_{model}=20", "drawings=50"]
    found = groups(repo, "--group-components", *bundles)
    assert found.count("play_frozen_lake_nano") == 3
    assert found.count("estimates_frozen_lake_nano") == found.count("drawings") == 1
