import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.archive.conftest import TABLE, TASKS, git
from turnscope.archive import __main__ as command
from turnscope.archive import members, pack, unpack

MADE = {
    "results/summaries/a.csv",
    "results/summaries/a.provenance.json",
    "results/summaries/a.run.json",
    "results/tasks/notes.txt",
    "results/tasks/provenance.json",
    "results/tasks/run.json",
    "results/tasks/tasks.parquet",
}


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def rewritten(archive, change):
    """Write an archive anew after a change to its list of members and contents."""
    with tarfile.open(archive) as tar:
        found = [
            (one, tar.extractfile(one).read() if one.isreg() else b"")  # pyright: ignore[reportOptionalMemberAccess]
            for one in tar.getmembers()
        ]
    change(found)
    with tarfile.open(archive, "w:", format=tarfile.PAX_FORMAT) as tar:
        for member, content in found:
            if member.isreg():
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def at(found, name):
    return next(place for place, (member, _) in enumerate(found) if member.name == f"study/{name}")


def refused(archive, tmp_path):
    with pytest.raises(ValueError, match=r"study\.tar: ") as caught:
        unpack.unpack(archive, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo"]
    return str(caught.value)


def test_a_missing_archive_and_what_is_none_are_named(tmp_path):
    (tmp_path / "words").write_text("no archive")
    for name, said in (("gone", "there is no archive "), ("words", "no whole archive of a study")):
        with pytest.raises(ValueError, match=said):
            unpack.unpack(tmp_path / name, tmp_path / "new")
        assert not (tmp_path / "new").exists()


def test_equal_content_gives_equal_bytes(repo, archive):
    first = archive.read_bytes()
    for path in repo.rglob("*"):
        if path.is_file():
            path.touch()
    pack.pack([TABLE, TASKS], Path("study.json"), repo, archive)
    assert archive.read_bytes() == first
    (repo / "README.md").write_text("# Another\n")
    pack.pack([TABLE, TASKS], Path("study.json"), repo, archive)
    assert archive.read_bytes() != first


def test_an_archive_is_the_repository_and_a_manifest_that_sha256sum_reads(archive, tmp_path):
    subprocess.run(["tar", "xf", archive, "-C", tmp_path], check=True)
    study = tmp_path / "study"
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", "MANIFEST.sha256"],
        cwd=study,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    own = {"MANIFEST.sha256", "archive.json", "study.json", "ro-crate-metadata.json"}
    code = {".gitignore", "README.md", "Snakefile", "run"}
    stages = {f"src/turnscope/stages/{name}.py" for name in ("summary", "tasks")}
    assert files(study) == MADE | own | code | stages
    assert done.stdout.count(": OK\n") == len(files(study)) - 1
    assert (study / "run").stat().st_mode & 0o111
    assert (study / "link").readlink() == Path("src/turnscope")


def test_results_come_out_as_they_went_in_and_are_put_in_place_once(repo, archive, tmp_path):
    note = unpack.unpack(archive, tmp_path / "new")
    assert note["changed"] == []
    assert files(tmp_path / "new") == MADE
    there = tmp_path / "clone"
    assert unpack.place(tmp_path / "new", there) == len(MADE)
    assert {name: (there / name).read_bytes() for name in MADE} == {
        name: (repo / name).read_bytes() for name in MADE
    }
    unpack.unpack(archive, tmp_path / "again")
    assert unpack.place(tmp_path / "again", there) == 0


def test_a_file_with_other_content_is_named_and_nothing_is_put_in_place(archive, tmp_path):
    unpack.unpack(archive, tmp_path / "new")
    there = tmp_path / "clone"
    (there / "results").mkdir(parents=True)
    (there / "results/summaries").write_text("a file where a folder belongs")
    (there / "results/tasks").mkdir()
    (there / "results/tasks/tasks.parquet").write_text("mine")
    with pytest.raises(ValueError, match="nothing was restored") as caught:
        unpack.place(tmp_path / "new", there)
    assert [line.split()[1] for line in str(caught.value).splitlines()[1:]] == [
        "results/tasks/tasks.parquet",
        "results/summaries/a.csv",
        "results/summaries/a.provenance.json",
        "results/summaries/a.run.json",
    ]
    assert files(there) == {"results/summaries", "results/tasks/tasks.parquet"}


def test_a_tampered_artifact_is_named(archive, tmp_path):
    def change(found):
        place = at(found, "results/tasks/tasks.parquet")
        found[place] = (found[place][0], b"task5")

    rewritten(archive, change)
    assert "results/tasks/tasks.parquet is not what its manifest says" in refused(archive, tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda found: found.pop(at(found, "results/summaries/a.csv")),
            "results/summaries/a.csv is in its manifest, but not in it",
        ),
        (
            lambda found: found.append((tarfile.TarInfo("study/results/more"), b"x")),
            "results/more is not in its manifest",
        ),
        (
            lambda found: found.append(found[at(found, "Snakefile")]),
            "'study/Snakefile' is out of place in it, or there twice",
        ),
        (
            lambda found: found.insert(0, found.pop(1)),
            "it does not begin with study/MANIFEST.sha256",
        ),
        (
            lambda found: found.pop(at(found, "link")),
            "does not know of the same links",
        ),
    ],
)
def test_a_lost_an_added_and_a_doubled_file_are_named(archive, tmp_path, change, said):
    rewritten(archive, change)
    assert said in refused(archive, tmp_path)


def member(name, kind=tarfile.REGTYPE, link=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


@pytest.mark.parametrize(
    "hostile",
    [
        member("study/../../outside"),
        member("study/results/../../../outside"),
        member("/tmp/outside"),
        member("study//tmp/outside"),
        member("outside"),
        member("study/results/a\nb"),
        member("study/results/link", tarfile.SYMTYPE, "tasks"),
        member("study/results/link", tarfile.LNKTYPE, "study/results/tasks/tasks.parquet"),
        member("study/link2", tarfile.SYMTYPE, "../../outside"),
        member("study/link2", tarfile.SYMTYPE, "src/../../outside"),
        member("study/link2", tarfile.SYMTYPE, "/etc/passwd"),
        member("study/link2", tarfile.SYMTYPE, "src"),
        member("study/results/device", tarfile.CHRTYPE),
        member("study/results/pipe", tarfile.FIFOTYPE),
        member("study/results/folder", tarfile.DIRTYPE),
        member("study/results/sparse", tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda one: f"{one.name!r} {one.type!r} {one.linkname}",
)
def test_what_leads_out_of_an_archive_or_is_no_file_is_refused(archive, tmp_path, hostile):
    rewritten(archive, lambda found: found.insert(1, (hostile, b"")))
    refused(archive, tmp_path)
    rewritten(archive, lambda found: found.append(found.pop(1)))
    refused(archive, tmp_path)


def test_a_link_in_place_of_a_listed_artifact_is_refused(archive, tmp_path):
    def change(found):
        place = at(found, "results/tasks/tasks.parquet")
        found[place] = (member(found[place][0].name, tarfile.SYMTYPE, "notes.txt"), b"")

    rewritten(archive, change)
    assert "is a link to elsewhere" in refused(archive, tmp_path)


@pytest.mark.parametrize("bytes_left", [0, 100, 512, 5000, -20000, -11000])
def test_a_truncated_archive_is_refused(archive, tmp_path, bytes_left):
    archive.write_bytes(archive.read_bytes()[:bytes_left])
    refused(archive, tmp_path)


def test_any_flipped_byte_of_a_file_is_found(archive, tmp_path):
    content = archive.read_bytes()
    for name in MADE:
        with tarfile.open(archive) as tar:
            place = tar.getmember(f"study/{name}").offset_data
        flipped = bytearray(content)
        flipped[place] ^= 1
        archive.write_bytes(flipped)
        assert f"{name} is not what its manifest says" in refused(archive, tmp_path)
        archive.write_bytes(content)


def test_a_second_restore_waits_for_the_first(archive, tmp_path):
    unpack.unpack(archive, tmp_path / "new")
    with pytest.raises(ValueError, match="another archive is being restored"):
        unpack.unpack(archive, tmp_path / "new")
    assert files(tmp_path / "new") == MADE


def test_changed_code_is_packed_and_named_and_unknown_code_is_refused(repo, archive, tmp_path):
    (repo / "Snakefile").write_text("rule other:\n")
    (repo / "notes").write_text("nothing that git knows, nor code")
    pack.pack([TASKS, TABLE], Path("study.json"), repo, archive)
    assert unpack.unpack(archive, tmp_path / "new")["changed"] == ["Snakefile"]
    assert "notes" not in {file.name for file in pack.code(repo).files}
    (repo / "src/more.py").write_text("")
    with pytest.raises(ValueError, match=r"git does not know src/more\.py"):
        pack.pack([TASKS, TABLE], Path("study.json"), repo, archive)


def test_a_link_out_of_the_repository_is_not_packed(repo, archive):
    (repo / "out").symlink_to("../elsewhere")
    git("add", "out")
    with pytest.raises(ValueError, match=r"the link out leads to \.\./elsewhere"):
        pack.code(repo)


def test_code_without_git_is_refused(tmp_path):
    with pytest.raises(ValueError, match="an archive holds what git tracks, but"):
        pack.code(tmp_path)


def test_an_artifact_whose_input_would_be_lacking_is_refused(repo):
    with pytest.raises(ValueError, match=r"made from results/tasks/tasks\.parquet, which"):
        pack.pack([TABLE], Path("study.json"), repo, repo / "a.tar")
    record = json.loads(TABLE.read_text())
    record["outputs"][0]["path"] = "elsewhere/a.csv"
    TABLE.write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"wrote elsewhere/a\.csv, not under results"):
        pack.pack([TABLE, TASKS], Path("study.json"), repo, repo / "a.tar")
    assert not list(repo.glob(".a.tar*"))


@pytest.mark.parametrize("content", [None, "{"])
def test_a_lost_record_of_circumstances_is_named(repo, content):
    diary = Path("results/tasks/run.json")
    diary.unlink() if content is None else diary.write_text(content)
    with pytest.raises(ValueError, match=f"{diary}: not a readable record; remove provenance.json"):
        pack.pack([TASKS, TABLE], Path("study.json"), repo, repo / "results/archive/study.tar")


def test_a_stale_study_is_not_packed(repo, capsys):
    line = (
        "Shell command: x -m turnscope.stages.tasks --spec '{\"n\": 2}' --code c stages.tasks "
        f"--output tasks={TASKS.parent}/tasks.parquet provenance={TASKS} > log"
    )
    assert command.main(["pack", "--study", "study.json", "a.tar"], [line]) == 1
    assert (
        "spec results/tasks/provenance.json: made from another specification: n 1 -> 2"
        in capsys.readouterr().err
    )
    assert command.main(["pack", "--study", "study.json", "a.tar"], ["nothing"]) == 1
    assert not (repo / "a.tar").exists()


@pytest.mark.parametrize("name", ["a", "a/b.c", "results/ä"])
def test_names_inside_are_legal(name):
    assert members.safe(name) == name


@pytest.mark.parametrize("name", ["", "/a", "a//b", "a/", "..", "a/../b", "./a", "a\nb", "a\\b"])
def test_other_names_are_not(name):
    with pytest.raises(ValueError, match="is not legal in an archive"):
        members.safe(name)
