import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.archive.conftest import TABLE, TASKS
from turnscope.archive import crate, members, pack

ROOT = Path(__file__).parent.parent.parent
PYTHON = ROOT / ".venv-crate/bin/python"
ACCEPTED = {
    "process-run-crate-0.5_3.2",  # no program has an address of its own
    "process-run-crate-0.5_5.1",  # the check looks at the address of the class
    "process-run-crate-0.5_8.6",  # who had the study run is not recorded
    "ro-crate-1.1_22.2",  # nor its author
    "ro-crate-1.1_22.3",  # nor its publisher
}
"""Recommendations that are not followed."""


def described(repo):
    files = [*pack.code(repo).files, *members.artifacts([TASKS, TABLE])]
    files.append(members.File("study.json", b"{}\n"))
    sums = {file.name: members.sha256(file) for file in files}
    return crate.describe([TABLE, TASKS], files, sums, "c0ffee"), sums


def by_id(found):
    entities = {entity["@id"]: entity for entity in found["@graph"]}
    assert len(entities) == len(found["@graph"])
    return entities


def references(value):
    if isinstance(value, list):
        return [one for entry in value for one in references(entry)]
    if isinstance(value, dict):
        return [value["@id"]] if set(value) == {"@id"} else references(list(value.values()))
    return []


def test_every_file_has_its_checksum_and_size(repo):
    found, sums = described(repo)
    entities = by_id(found)
    for name, sha256 in sums.items():
        assert entities[name]["sha256"] == sha256
    assert entities["results/tasks/tasks.parquet"]["contentSize"] == "5"
    assert {one["@id"] for one in entities["./"]["hasPart"]} == set(sums)


def test_each_job_is_an_action_from_its_inputs_to_its_outputs(repo):
    entities = by_id(described(repo)[0])
    action = entities["#job/results/summaries/a.provenance.json"]
    record = json.loads(TABLE.read_text())
    run = json.loads(TABLE.with_name("a.run.json").read_text())
    assert action["@type"] == "CreateAction"
    assert action["instrument"] == {"@id": "src/turnscope/stages/summary.py"}
    assert references(action["object"]) == [
        "results/tasks/tasks.parquet",
        "#job/results/summaries/a.provenance.json/spec",
    ]
    assert references(action["result"]) == [
        "results/summaries/a.csv",
        "results/summaries/a.provenance.json",
        "results/summaries/a.run.json",
    ]
    assert action["identifier"] == record["key"]
    assert (action["startTime"], action["endTime"]) == (run["start"], run["end"])
    assert entities["#job/results/summaries/a.provenance.json/spec"]["value"] == '{"n":1}'
    assert references(entities["#run"]["result"]) == [
        "results/tasks/notes.txt",
        "results/summaries/a.csv",
    ]


def test_what_was_read_from_elsewhere_is_described_by_its_checksum(repo):
    entities = by_id(described(repo)[0])
    action = entities["#job/results/tasks/provenance.json"]
    assert references(action["object"])[0] == "#absent/questions.txt"
    lost = entities["#absent/questions.txt"]
    assert lost["sha256"] == json.loads(TASKS.read_text())["inputs"][0]["sha256"]
    assert "#absent/questions.txt" not in references(entities["./"])


def test_parts_may_be_deleted_once_they_are_gathered(repo):
    record = json.loads(TABLE.read_text())
    part = "results/shards/1-of-2/episodes.parquet"
    other = {"name": "episodes.0", "path": part, "sha256": "0" * 64, "bytes": 1}
    record["inputs"].append(other)
    TABLE.write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"made from results/shards/1-of-2/episodes\.parquet"):
        described(repo)
    TABLE.write_text(json.dumps(record | {"stage": "gather"}))
    shutil.copy("src/turnscope/stages/summary.py", "src/turnscope/stages/gather.py")
    subprocess.run(["git", "add", "src"], check=True)
    assert by_id(described(repo)[0])[f"#absent/{part}"]["name"] == part


def test_all_that_is_referred_to_is_described(repo):
    entities = by_id(described(repo)[0])
    told = {"https://w3id.org/ro/crate/1.1"} | {
        one for entity in entities.values() for one in references(entity) if one.startswith("https")
    }
    assert {one for entity in entities.values() for one in references(entity)} - told <= set(
        entities
    )


def test_every_term_is_one_of_the_published_contexts(repo):
    terms = {"@id", "@type"}
    for path in (Path(__file__).parent / "context").iterdir():
        terms |= set(json.loads(path.read_text())["@context"])
    for entity in described(repo)[0]["@graph"]:
        kinds = entity["@type"] if isinstance(entity["@type"], list) else [entity["@type"]]
        assert {*entity, *kinds} <= terms


def test_only_circumstances_differ_between_equal_runs(repo):
    before = json.dumps(described(repo)[0], indent=1).splitlines()
    diary = TASKS.with_name("run.json")
    run = json.loads(diary.read_text())
    diary.write_text(json.dumps(run | {"seconds": 123.0, "end": "2999-01-01T00:00:00+00:00"}))
    after = json.dumps(described(repo)[0], indent=1).splitlines()
    changed = {old.split('"')[1] for old, new in zip(before, after, strict=True) if old != new}
    assert changed == {"datePublished", "endTime", "value", "sha256", "contentSize"}


@pytest.fixture
def unpacked(archive, tmp_path):
    if not PYTHON.exists():
        if os.environ.get("CI"):
            pytest.fail("CI is set, but .venv-crate is not there; make crate makes it")
        pytest.skip("the validator is not installed; make crate does, and runs these tests")
    subprocess.run(["tar", "xf", archive, "-C", tmp_path], check=True)
    return tmp_path / "study"


def issues(folder):
    """Validate without a network, where the system lets us cut it off."""
    apart = ["unshare", "--net", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], check=False).returncode:
        apart = []
    done = subprocess.run(
        [*apart, PYTHON, Path(__file__).with_name("validate.py"), folder],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_an_archive_conforms_to_the_published_profile(unpacked):
    found = issues(unpacked)
    assert [issue for issue in found if issue["severity"] == "REQUIRED"] == []
    assert {issue["check"] for issue in found} == ACCEPTED


@pytest.mark.slow
def test_the_validator_finds_what_does_not_conform(unpacked):
    path = unpacked / "ro-crate-metadata.json"
    described = json.loads(path.read_text())
    entities = by_id(described)
    del entities["Snakefile"]["programmingLanguage"]
    del entities["#job/results/tasks/provenance.json"]["instrument"]
    entities["./"]["invented"] = "a term of no context"
    path.write_text(json.dumps(described))
    said = " ".join(issue["message"] for issue in issues(unpacked))
    assert "programmingLanguage" in said
    assert "MUST have an instrument" in said
    assert "invented" in said
