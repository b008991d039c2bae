import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environments.deepcoder.rows import (
    CODEFORCES,
    LCB,
    PRIME_SCRIPT,
    TACO,
    TACO_SCRIPT,
    numbered,
    parquet,
)
from tests.hub import COMMIT, Hub
from turnscope.environments.deepcoder import preview, problems


@pytest.fixture(autouse=True)
def online(monkeypatch) -> None:
    """Undo what stages say for their process, and for those it starts: that there is no hub."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    file = tmp_path / "made.parquet"
    codeforces = [numbered(CODEFORCES, number) for number in range(3)]
    copied = codeforces[1] | {"solutions": ["pass"]}
    files = {
        "codeforces/test-00000-of-00001.parquet": parquet(codeforces, file),
        "lcbv5/train-00000-of-00001.parquet": parquet([LCB], file),
        "lcbv5/test-00000-of-00001.parquet": parquet([LCB | {"problem": "B"}], file),
        "taco/train-00000-of-00002.parquet": parquet([TACO, copied], file),
        "taco/train-00001-of-00002.parquet": parquet([TACO | {"tests": "[]"}, TACO_SCRIPT], file),
        "primeintellect/train-00000-of-00001.parquet": parquet(
            [PRIME_SCRIPT, *(numbered(PRIME_SCRIPT, number) for number in range(9))], file
        ),
        "README.md": b"",
    }
    server = Hub(preview.DATASET, files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def convert(hub: Hub, output: Path, **options: Any) -> dict[str, Any]:
    return preview.convert(output, revision=COMMIT, endpoint=hub.endpoint, **options)


def test_the_dataset_is_converted(hub: Hub, tmp_path: Path):
    output = tmp_path / "out" / "problems.jsonl"
    manifest = convert(hub, output)
    assert json.loads(output.with_suffix(".manifest.json").read_text()) == manifest
    assert manifest["counts"] == {
        "codeforces/test": {"kept": 3},
        "lcbv5/test": {"kept": 1},
        "lcbv5/train": {"equals a test problem": 1},
        "primeintellect/train": {"kept": 10},
        "taco/train": {"kept": 2, "equals a test problem": 1, "no tests": 1},
    }
    found = list(problems.read(output))
    assert len(found) == manifest["problems"] == 16
    assert manifest["sha256"] == hashlib.sha256(output.read_bytes()).hexdigest()
    assert manifest["revision"] == COMMIT
    assert {file["path"]: file["sha256"] for file in manifest["files"]} == {
        path: digest for path, digest in hub.claimed.items() if path != "README.md"
    }
    names = {problem.name: problem for problem in found}
    assert names["taco-train-00000"].entry == "twice"
    assert names["taco-train-00003"].entry is None
    assert {problem.split for problem in found} == {"train", "test"}


def test_a_second_run_downloads_nothing_and_gives_equal_bytes(hub: Hub, tmp_path: Path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    convert(hub, one)
    downloads = len(hub.ranges)
    convert(hub, two)
    assert len(hub.ranges) == downloads == 6
    assert one.read_bytes() == two.read_bytes()


def test_most_limits_each_part_and_leaves_files_out(hub: Hub, tmp_path: Path):
    manifest = convert(hub, tmp_path / "few.jsonl", most=1, configs=["taco", "codeforces"])
    assert manifest["counts"] == {"codeforces/test": {"kept": 1}, "taco/train": {"kept": 1}}
    assert [file["path"] for file in manifest["files"]] == [
        "codeforces/test-00000-of-00001.parquet",
        "taco/train-00000-of-00002.parquet",
    ]
    with pytest.raises(ValueError, match="most is 0"):
        convert(hub, tmp_path / "few.jsonl", most=0)


def test_a_download_that_breaks_goes_on(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Bytes are written in pieces of 10 MB; what is less is lost with the connection.
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10)
    path = "codeforces/test-00000-of-00001.parquet"
    hub.breaks = 1
    manifest = convert(hub, tmp_path / "problems.jsonl", configs=["codeforces"])
    written = len(hub.files[path]) // 2 // 10 * 10
    assert hub.ranges == [None, f"bytes={written}-"]
    assert manifest["counts"] == {"codeforces/test": {"kept": 3}}


def test_a_download_whose_process_ended_goes_on(hub: Hub, tmp_path: Path):
    path = "codeforces/test-00000-of-00001.parquet"
    part = tmp_path / "downloads" / COMMIT / f"{path}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(hub.files[path][:100])
    convert(hub, tmp_path / "problems.jsonl", configs=["codeforces"])
    assert hub.ranges == ["bytes=100-"]
    assert part.with_suffix("").read_bytes() == hub.files[path]
    assert not part.exists()


def test_a_corrupt_file_is_refused_and_downloaded_again(hub: Hub, tmp_path: Path):
    path, output = "codeforces/test-00000-of-00001.parquet", tmp_path / "problems.jsonl"
    right = hub.files[path]
    hub.files[path] = right[:-9] + b"corrupted"
    with pytest.raises(ValueError, match=f"{path} has sha256"):
        convert(hub, output, configs=["codeforces"])
    assert not output.exists()
    assert not output.with_suffix(".manifest.json").exists()
    hub.files[path] = right
    assert convert(hub, output, configs=["codeforces"])["problems"] == 3
    kept = tmp_path / "downloads" / COMMIT / path
    kept.write_bytes(right[:-9] + b"corrupted")
    with pytest.raises(ValueError, match="it was removed"):
        convert(hub, output, configs=["codeforces"])
    assert not kept.exists()


def test_a_failed_conversion_leaves_what_was_there(hub: Hub, tmp_path: Path):
    output = tmp_path / "problems.jsonl"
    convert(hub, output, configs=["codeforces"])
    before = output.read_bytes()
    path = "taco/train-00001-of-00002.parquet"
    hub.files[path] = hub.files[path][:-1] + b"?"
    with pytest.raises(ValueError, match="has sha256"):
        convert(hub, output)
    assert output.read_bytes() == before
    assert not [found for found in tmp_path.iterdir() if found.name.endswith(".part")]


@pytest.mark.parametrize("revision", ["main", COMMIT[:12], COMMIT.upper(), f"{COMMIT}0", ""])
def test_only_a_commit_is_a_revision(revision: str, tmp_path: Path):
    with pytest.raises(ValueError, match="legal is a commit hash of 40 hex digits"):
        preview.convert(tmp_path / "x", revision=revision, endpoint="http://127.0.0.1:9")


def test_unknown_configs_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="known: codeforces, lcbv5, primeintellect, taco"):
        preview.convert(tmp_path / "x", configs=["apps"])


def command(hub: Hub, output: Path, *options: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "turnscope.environments.deepcoder.preview"]
    words += ["--revision", COMMIT, "--output", str(output), *options]
    environment = {
        **os.environ,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": str(Path(preview.__file__).parents[3]),
    }
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)


def test_the_command_converts_and_says_what_came_of_it(hub: Hub, tmp_path: Path):
    output = tmp_path / "problems.jsonl"
    run = command(hub, output, "--configs", "codeforces")
    assert json.loads(run.communicate()[0]) == {"problems": 3, "codeforces/test": {"kept": 3}}
    assert run.returncode == 0
    assert len(list(problems.read(output))) == 3


def test_a_conversion_that_was_killed_is_made_again(hub: Hub, tmp_path: Path):
    output, other = tmp_path / "one" / "problems.jsonl", tmp_path / "two" / "problems.jsonl"
    path = "taco/train-00000-of-00002.parquet"
    hub.held[path] = threading.Event()
    run = command(hub, output)
    while len(hub.ranges) < 5:  # the fifth file is the one that is held
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.communicate()
    hub.held[path].set()
    assert not output.exists()
    before = len(hub.ranges)
    assert convert(hub, output) == convert(hub, other)
    # Two files were left to download for one output, and all six for the other.
    assert len(hub.ranges) == before + 2 + 6
    assert output.read_bytes() == other.read_bytes()
    assert {found.name for found in output.parent.iterdir()} == {
        "problems.jsonl",
        "problems.manifest.json",
        "downloads",
    }


def test_the_command_says_a_fault_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert preview.main(["--revision", "main", "--output", str(tmp_path / "x")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
