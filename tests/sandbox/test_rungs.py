import os
import sys
from pathlib import Path

from turnscope.sandbox import Settings, rungs


def _names(settings: Settings) -> list[str]:
    found = [launch.rung for launch in rungs.launches(settings)]
    return sorted(set(found), key=found.index)


def test_the_ladder_is_climbed_from_the_top_and_never_to_no_isolation_unasked():
    assert "rlimits" not in _names(Settings())
    assert _names(Settings(allow_unsandboxed=True))[-1] == "rlimits"
    assert "apptainer" not in _names(Settings())
    names = _names(Settings(image="a.sif", allow_unsandboxed=True))
    assert names == [name for name in rungs.NAMES if name in names]


def test_a_rung_that_is_insisted_on_is_the_only_one():
    assert _names(Settings(rung="landlock", image="a.sif", allow_unsandboxed=True)) == ["landlock"]
    assert _names(Settings(rung="rlimits")) == []


def test_a_container_is_closed_and_runs_the_python_of_the_image():
    (launch,) = rungs.launches(Settings(rung="apptainer", image="a.sif"))
    command = launch.command
    assert Path(command[0]).name == "apptainer"
    assert command[1] == "exec"
    assert {"--containall", "--no-home"} <= set(command)
    image = command.index("a.sif")
    assert command[image + 1] == "python3"
    shut = command[command.index("--no-mount") + 1].split(",")
    assert {"tmp", "home", "cwd", "proc", "sys", "hostfs", "bind-paths"} <= set(shut)
    assert "PYTHONHASHSEED=0" in command[:image]


def test_bubblewrap_shows_nothing_but_libraries_and_the_interpreter():
    for launch in rungs.launches(Settings(rung="bubblewrap")):
        command = launch.command
        shown = [command[i + 1] for i, word in enumerate(command) if word == "--ro-bind"]
        base = os.path.realpath(sys.base_prefix)
        assert all(path.startswith(("/usr/lib", "/lib", base)) for path in shown)
        assert "--bind" not in command
        kinds = {"ipc", "pid", "net", "uts", "cgroup-try"}
        assert {f"--unshare-{kind}" for kind in kinds} <= set(command)
        # Without a namespace of users the zygote must become another user itself.
        assert ("--unshare-user" in command) == (launch.setup["user"] is None)
        assert command[command.index("--hostname") + 1] == "sandbox"


def test_folders_of_packages_are_cut_out_of_what_is_shown(tmp_path: Path):
    for name in ("a/b/packages/x", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    parts = rungs.split(tmp_path, [tmp_path / "a/b/packages"])
    assert list(parts) == [tmp_path / "a/c", tmp_path / "d"]
    assert list(rungs.split(tmp_path, [])) == [tmp_path]


def test_packages_are_hidden_and_the_standard_library_is_not():
    hidden = rungs.hidden()
    visible = rungs.visible()
    assert not any(Path(os.__file__).is_relative_to(path) for path in hidden)
    assert any(
        Path(os.path.realpath(os.__file__)).is_relative_to(path.resolve()) for path in visible
    )
