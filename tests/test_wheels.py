import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from turnscope import wheels

ASK = """
import sys
from turnscope import wheels
print(wheels.folder(sys.argv[1:]))
"""


@pytest.fixture
def line(tmp_path, monkeypatch):
    """Offer one wheel, in a folder of ours and nowhere else; its requirement."""
    return offer(tmp_path, monkeypatch, "tiny", "ANSWER = 42\n")


def offer(tmp_path: Path, monkeypatch, name: str, text: str) -> str:
    offered = tmp_path / "offered"
    offered.mkdir(exist_ok=True)
    for variable in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(offered))
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", "src")
    wheel = offered / f"{name}-1.0-py3-none-any.whl"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: nowhere-found\n"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(f"{name}.py", text)
        file.writestr(f"{name}-1.0.dist-info/METADATA", about)
        file.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


def test_a_wheel_is_installed_once_without_what_it_asks_for(line, tmp_path, monkeypatch):
    place = wheels.folder([line])
    assert place.parent == tmp_path / "cache" / "wheels"
    assert (place / "tiny.py").read_text() == "ANSWER = 42\n"
    assert "tiny" not in sys.modules
    (tmp_path / "offered" / "tiny-1.0-py3-none-any.whl").unlink()
    assert wheels.folder([line]) == place
    assert [path.name for path in place.parent.iterdir() if path.is_dir()] == [place.name]


def test_the_order_of_the_lines_does_not_matter_and_their_content_does(line, tmp_path, monkeypatch):
    other = offer(tmp_path, monkeypatch, "other", "")
    both = wheels.folder([line, other])
    assert both == wheels.folder([other, line])
    assert {"tiny.py", "other.py"} <= {path.name for path in both.iterdir()}
    assert wheels.folder([line]) != both


def test_every_user_can_read_what_a_careful_one_installs(line):
    run = "import os; os.umask(0o077)" + ASK
    done = subprocess.run(
        [sys.executable, "-c", run, line], capture_output=True, text=True, check=True
    )
    place = Path(done.stdout.strip())
    assert place.stat().st_mode & 0o555 == 0o555
    assert (place / "tiny.py").stat().st_mode & 0o444 == 0o444


def test_another_content_under_the_same_name_is_refused(line, tmp_path):
    wrong = line[:-64] + "0" * 64
    with pytest.raises(
        RuntimeError, match=r"could not install tiny==1.0 \(.*pip install"
    ) as caught:
        wheels.folder([wrong])
    assert "\n" not in str(caught.value)
    assert not [path for path in (tmp_path / "cache" / "wheels").iterdir() if path.is_dir()]


def test_the_command_of_the_message_repairs_it(line, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(RuntimeError, match="No matching distribution") as caught:
        wheels.folder([line])
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "offered"))
    subprocess.run(str(caught.value).partition("run: ")[2], shell=True, check=True)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert (wheels.folder([line]) / "tiny.py").is_file()


def test_processes_that_ask_at_once_get_the_same_folder(line):
    asking = [
        subprocess.Popen([sys.executable, "-c", ASK, line], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    places = {process.communicate()[0].strip() for process in asking}
    assert [process.returncode for process in asking] == [0, 0]
    assert places == {str(wheels.folder([line]))}


@pytest.mark.parametrize(
    "line",
    [
        "tiny==1.0",
        "tiny>=1.0 --hash=sha256:" + "0" * 64,
        "tiny==1.0 --hash=sha256:" + "0" * 63,
        "tiny==1.0 --hash=sha256:" + "0" * 64 + "\n--index-url=http://localhost",
        "-r other.txt",
        "",
    ],
)
def test_what_is_no_pinned_wheel_is_refused(line):
    with pytest.raises(ValueError, match="legal is name==version --hash=sha256:"):
        wheels.folder([line])


def test_the_cache_lies_where_the_variables_say():
    assert wheels.cache({"TURNSCOPE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert wheels.cache({"XDG_CACHE_HOME": "/b"}) == Path("/b/turnscope")
    assert wheels.cache({"TURNSCOPE_CACHE": "", "HOME": "/c"}) == Path.home() / ".cache/turnscope"
