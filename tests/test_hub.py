import fcntl
import hashlib
import threading
from pathlib import Path

import pytest

from tests.hub import COMMIT, Hub, git_id, serving
from turnscope import hub

NAME = "owner/model"
FILES = {"config.json": b'{"a": 1}\n', "model.safetensors": bytes(range(256)) * 40}
DEAD = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Keep the cache of the hub's client out of the tests, and let them use the network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "client"))


@pytest.fixture
def server():
    with serving(Hub(NAME, dict(FILES), "model")) as running:
        yield running


def at(endpoint: str) -> hub.Repository:
    return hub.Repository(NAME, COMMIT, "model", endpoint)


def collect(endpoint: str, kept: Path) -> dict[str, bytes]:
    found = hub.collect(at(endpoint), lambda path: True, kept=kept)
    return {name: path.read_bytes() for name, path in found.items()}


def cached(tmp_path: Path, files: dict[str, bytes]) -> Path:
    """Write files as the hub's client keeps them."""
    repository = tmp_path / "client" / "models--owner--model"
    (repository / "blobs").mkdir(parents=True)
    (repository / "snapshots" / COMMIT).mkdir(parents=True)
    for name, data in files.items():
        small = name.endswith(".json")
        blob = git_id(data) if small else hashlib.sha256(data).hexdigest()
        (repository / "blobs" / blob).write_bytes(data)
        (repository / "snapshots" / COMMIT / name).symlink_to(f"../../blobs/{blob}")
    return repository


def test_files_are_listed_with_their_hashes(server):
    large, small = FILES["model.safetensors"], FILES["config.json"]
    assert hub.files(at(server.endpoint)) == [
        # echo '{"a": 1}' | git hash-object --stdin
        hub.File("config.json", len(small), None, "cb5b2f69babc53f9145b45ad20b9a075d48717ef"),
        hub.File("model.safetensors", len(large), hashlib.sha256(large).hexdigest(), None),
    ]


def test_what_was_fetched_needs_no_hub_any_more(server, tmp_path):
    assert collect(server.endpoint, tmp_path / "kept") == FILES
    assert (server.listed, len(server.ranges)) == (1, 2)
    assert collect(DEAD, tmp_path / "kept") == FILES


def test_a_download_goes_on_where_a_killed_one_ended(server, tmp_path):
    part = tmp_path / "kept" / COMMIT / "model.safetensors.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES["model.safetensors"][:1000])
    assert collect(server.endpoint, tmp_path / "kept") == FILES
    assert server.ranges == [None, "bytes=1000-"]
    assert not part.exists()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("model.safetensors", "model.safetensors has sha256 .*, not the .* of the hub; it was rem"),
        ("config.json", "config.json has git id .*, not the .* of the hub; it was removed, so try"),
    ],
)
def test_another_content_is_refused_and_fetched_again(server, tmp_path, name, line):
    server.files[name] = FILES[name][:-1] + b"?"
    with pytest.raises(ValueError, match=line):
        collect(server.endpoint, tmp_path / "kept")
    server.files[name] = FILES[name]
    assert collect(server.endpoint, tmp_path / "kept") == FILES
    (tmp_path / "kept" / COMMIT / name).write_bytes(b"?")
    with pytest.raises(ValueError, match=line):
        collect(DEAD, tmp_path / "kept")
    assert not (tmp_path / "kept" / COMMIT / name).exists()


def test_the_cache_of_the_client_is_used(server, tmp_path):
    cached(tmp_path, FILES)
    assert collect(server.endpoint, tmp_path / "kept") == FILES
    assert server.ranges == []
    assert collect(DEAD, tmp_path / "other") == FILES


def test_what_the_cache_of_the_client_lacks_is_fetched(server, tmp_path):
    cached(tmp_path, {"config.json": FILES["config.json"]})
    assert collect(server.endpoint, tmp_path / "kept") == FILES
    assert len(server.ranges) == 1


def test_a_spoilt_cache_of_the_client_is_refused_and_left_alone(tmp_path):
    repository = cached(tmp_path, FILES)
    blob = repository / "blobs" / hashlib.sha256(FILES["model.safetensors"]).hexdigest()
    blob.write_bytes(b"?")
    with pytest.raises(ValueError, match=f"of the hub; remove {blob}"):
        collect(DEAD, tmp_path / "kept")
    assert blob.exists()


def test_without_a_network_one_line_says_what_is_missing(tmp_path):
    with pytest.raises(RuntimeError) as refusal:
        collect(DEAD, tmp_path / "kept")
    said = str(refusal.value)
    assert "\n" not in said
    assert said.startswith(f"model {NAME}, revision {COMMIT}, is neither in {tmp_path}/kept")
    assert str(tmp_path / "client" / "models--owner--model" / "snapshots" / COMMIT) in said
    assert f"`hf download {NAME} --revision {COMMIT}`" in said


def test_a_revision_that_the_hub_has_not_is_said_in_one_line(server, tmp_path):
    other = hub.Repository(NAME, "f" * 40, "model", server.endpoint)
    with pytest.raises(RuntimeError, match=rf"^model {NAME}, revision f{{40}}, is neither in .*$"):
        hub.collect(other, lambda path: True, kept=tmp_path / "kept")


def test_jobs_do_not_use_the_hub_unless_they_say_so(server, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(RuntimeError, match="offline mode"):
        collect(server.endpoint, tmp_path / "kept")
    with hub.online():
        assert collect(server.endpoint, tmp_path / "kept") == FILES
    with pytest.raises(RuntimeError, match="offline mode"):
        collect(server.endpoint, tmp_path / "more")


def test_one_job_downloads_and_others_wait(server, tmp_path):
    name = "model.safetensors"
    (file,) = [one for one in hub.files(at(server.endpoint)) if one.path == name]
    server.held[name] = threading.Event()
    found: list[Path] = []

    def fetch() -> None:
        found.append(hub.fetch(at(server.endpoint), file, tmp_path))

    threads = [threading.Thread(target=fetch) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not server.ranges:
        pass
    with (tmp_path / COMMIT / f"{name}.part").open("ab") as part, pytest.raises(BlockingIOError):
        fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
    server.held[name].set()
    for thread in threads:
        thread.join()
    assert found == [tmp_path / COMMIT / name] * 3
    assert found[0].read_bytes() == FILES[name]
    assert server.ranges == [None]
    assert [path.name for path in (tmp_path / COMMIT).iterdir()] == [name]


def test_what_a_job_that_failed_left_is_gone_on_with_by_the_one_that_waited(server, tmp_path):
    name = "model.safetensors"
    (file,) = [one for one in hub.files(at(server.endpoint)) if one.path == name]
    part = tmp_path / COMMIT / f"{name}.part"
    part.parent.mkdir(parents=True)
    with part.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=hub.fetch, args=(at(server.endpoint), file, tmp_path))
        waiting.start()
        other.write(FILES[name][:500])
        other.flush()
    waiting.join()
    assert server.ranges == ["bytes=500-"]
    assert (tmp_path / COMMIT / name).read_bytes() == FILES[name]
