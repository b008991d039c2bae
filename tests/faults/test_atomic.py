import ast
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from turnscope import atomic, provenance

SOURCES = sorted(provenance.PACKAGE.rglob("*.py"))
PAGES = provenance.PACKAGE.parent.parent / "docs" / "generate.py"
SAFE = ("replacing", "filling")
"""What yields a draft, to which anything may write."""
WRITERS = {
    *("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"),
    *("copy2", "copyfile", "copyfileobj", "copytree", "make_archive"),
    *("unpack_archive", "extractall"),
    *("savefig", "imsave", "to_csv", "to_parquet", "to_json", "to_pickle", "to_excel", "tofile"),
    *("write_table", "ParquetWriter", "write_feather", "write_dataset", "write_csv"),
    *("save_pretrained", "save_file", "save_model", "savez", "savez_compressed", "savetxt"),
}
"""Names of functions and methods that write a file, whatever they are called on."""
OF_OS = {"replace", "rename", "renames", "link", "symlink", "truncate", "mkfifo"}
MODULES = {
    "shutil": {"copy", "move"},
    "torch": {"save"},
    "np": {"save"},
    "json": {"dump"},
    "pickle": {"dump"},
}
"""Functions that write a file, where the name alone says less."""
ALLOWED = {
    "ablation.folder.prepare": "a new folder, whose request is written when all else is there",
    "ablation.folder.share": "a link",
    "ablation.folder._link": "a new folder, whose request is written when all else is there",
    "archive.pack._write": "a path that its only caller takes from a draft",
    "archive.unpack.place": "files of a folder that was unpacked and checked",
    "archive.unpack._copy": "a new folder, which is moved when all of it is checked",
    "audits.remake._lay": "a temporary folder",
    "cache.shelf.put": "a draft of an entry, and the end of it",
    "cache.shelf.discard": "the removal of an entry, at once",
    "cache.shelf._link": "a path that its only caller takes from a draft",
    "cache.shelf._copy": "the same",
    "atomic.filling": "the end of a draft",
    "atomic.replacing": "the end of a draft",
    "claims._variants.change": "no file, but values of a series",
    "critic.value.save": "a part of a checkpoint, which is none before its mark",
    "tables.append": "a writer of Parquet, which has opened a draft",
    "training._trainer._save_checkpoint": "a part of a checkpoint, which is none before its mark",
    "training._sampler.claim": "a lock, which holds nothing",
    "environments.intercode_sql.mariadb._locked": "a lock, which holds nothing",
    "environments.intercode_sql.mariadb._launch": "the log of a server while it runs",
    "locks.holding": "a lock, which holds only who has it",
    "hub.fetch": "a partial download, which bears another name until its checksum is right",
    "models._gathered": "links in the scratch of a job",
    "models._config": "a folder that its only caller takes from a draft",
    "models._words": "the same",
    "sandbox.driver.script": "the standard output of a sandboxed program",
    "smollm2._write": "a temporary folder, which is renamed when it is on the disk",
    "smollm2.convert": "the same",
    "stages._ranks._main": "a report to the process that waits for it, in a temporary folder",
    "weights.merge": "a path that its only caller takes from a draft",
    "wheels._install": "a temporary folder, which is renamed when it is on the disk",
}
"""Functions that write without a draft, and why that is right."""


def writes(call: ast.Call) -> bool:
    """Tell whether a call may write a file."""
    match call.func:
        case ast.Name(id="open"):
            return _mode(call.args[1:2], call)
        case ast.Attribute(value=ast.Name(id="os"), attr="open"):
            return any(flag in ast.unparse(call) for flag in ("O_CREAT", "O_WRONLY", "O_TRUNC"))
        case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in OF_OS:
            return True
        case ast.Attribute(value=ast.Name(id="atomic")):
            return False
        case ast.Attribute(value=ast.Name(id=module), attr="open") if module in {
            *("gzip", "bz2", "lzma", "tarfile", "io"),
        }:
            return _mode(call.args[1:2], call)
        case ast.Attribute(attr="open"):
            return _mode(call.args[:1], call)
        case ast.Attribute(attr="replace"):  # of a text: two arguments; of a path: one
            return len(call.args) == 1 and not call.keywords
        case ast.Attribute(value=ast.Name(id="pd"), attr=_):
            return False
        case ast.Attribute(attr="to_csv" | "to_json"):  # without a path, they return a text
            return bool(call.args) or any("path" in str(entry.arg) for entry in call.keywords)
        case ast.Attribute(attr="rename"):  # of a frame: by keywords
            return bool(call.args)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in MODULES.get(module, ()):
            return True
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in WRITERS
    return False


def _mode(found: list[ast.expr], call: ast.Call) -> bool:
    """Tell whether a file is opened to be written."""
    found = found or [entry.value for entry in call.keywords if entry.arg == "mode"]
    if not found:
        return False
    mode = found[0].value if isinstance(found[0], ast.Constant) else "w"  # unknown is suspect
    return bool(set("wax+") & set(str(mode)))


def calls(node: ast.AST, name: str = "", safe: bool = False) -> Iterator[tuple[str, ast.Call]]:
    """Yield calls that write and are given no draft, with the function in which they are."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        name = node.name
    if isinstance(node, ast.With):
        safe = safe or any(
            isinstance(part, ast.Attribute | ast.Name)
            and (part.attr if isinstance(part, ast.Attribute) else part.id) in SAFE
            for item in node.items
            for part in ast.walk(item.context_expr)
        )
    if isinstance(node, ast.Call) and not safe and writes(node):
        yield name, node
    for child in ast.iter_child_nodes(node):
        yield from calls(child, name, safe)


def suspects(text: str) -> list[str]:
    return [f"{name}:{ast.unparse(call)}" for name, call in calls(ast.parse(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(p): open(p, 'w')", True),
        ("def f(p): open(p, mode='ab')", True),
        ("def f(p, m): p.open(m)", True),
        ("def f(p): p.open('rb')", False),
        ("def f(p): open(p)", False),
        ("def f(p): gzip.open(p, 'wt')", True),
        ("def f(p): p.write_bytes(b'')", True),
        ("def f(p): os.open(p, os.O_WRONLY | os.O_CREAT)", True),
        ("def f(p): os.open(p, os.O_RDONLY)", False),
        ("def f(p, q): p.replace(q)", True),
        ("def f(s): s.replace('a', 'b')", False),
        ("def f(p, q): p.rename(q)", True),
        ("def f(x): x.rename(columns={})", False),
        ("def f(x, p): torch.save(x, p)", True),
        ("def f(x, p): x.to_csv(p)", True),
        ("def f(x, p): x.to_csv(path_or_buf=p)", True),
        ("def f(x): return x.to_csv(index=False)", False),
        ("def f(x): return x.copy()", False),
        ("def f(p):\n with replacing(p) as q: q.write_text('')", False),
        ("def f(p):\n with atomic.filling(p) as q:\n  for x in q: x.open('w')", False),
        ("def f(p):\n with opened(p) as q: q.write_text('')", True),
    ],
)
def test_what_writes_is_recognised(text, found):
    assert bool(suspects(text)) is found


def found_in(path: Path) -> list[tuple[str, str]]:
    module = path.relative_to(provenance.PACKAGE).with_suffix("").as_posix().replace("/", ".")
    module = module.removesuffix(".__init__")
    tree = ast.parse(path.read_text())
    return [(f"{module}.{name}", ast.unparse(call)) for name, call in calls(tree)]


def test_no_other_code_writes_files_than_what_writes_them_whole():
    found = [one for path in SOURCES for one in found_in(path)]
    unknown = [f"{name}: {call}" for name, call in found if name not in ALLOWED]
    assert not unknown, "write to atomic.replacing or atomic.filling, or say here why not"
    assert sorted(ALLOWED.keys() - {name for name, _ in found}) == []


def test_the_pages_of_the_documentation_are_written_whole():
    assert suspects(PAGES.read_text()) == []


def die_within(drafting: AbstractContextManager[Path], write: Callable[[Path], Any]) -> None:
    with drafting as draft:
        write(draft)
        raise RuntimeError


def test_a_file_is_there_when_it_is_complete(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    with atomic.replacing(path) as draft:
        draft.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    with pytest.raises(RuntimeError):
        die_within(atomic.replacing(path), lambda draft: draft.write_text("half"))
    assert path.read_text() == "new"
    assert [one.name for one in path.parent.iterdir()] == ["a.txt"]


def test_a_text_is_written_as_it_is(tmp_path):
    atomic.write_text("a\r\nb\n√", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes() == "a\r\nb\n√".encode()


def test_a_folder_is_filled_at_the_end_and_weights_come_last(tmp_path, monkeypatch):
    (tmp_path / "kept").write_text("kept")
    order: list[str] = []
    usual = os.replace

    def replace(source: Path, target: Path) -> None:
        order.append(target.relative_to(tmp_path).as_posix())
        usual(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with atomic.filling(tmp_path) as draft:
        (draft / "model.safetensors").write_text("w")
        (draft / "deep").mkdir()
        (draft / "deep" / "z.json").write_text("{}")
        (draft / "config.json").write_text("{}")
        assert sorted(one.name for one in tmp_path.iterdir() if one != draft) == ["kept"]
    assert order == ["config.json", "deep/z.json", "model.safetensors"]
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        *("config.json", "deep", "kept", "model.safetensors"),
    ]
    with pytest.raises(RuntimeError):
        die_within(
            atomic.filling(tmp_path), lambda draft: (draft / "config.json").write_text("half")
        )
    assert (tmp_path / "config.json").read_text() == "{}"


def test_content_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    seen: list[str] = []
    sync, usual = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (seen.append("sync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (seen.append("name"), usual(*paths)))
    atomic.write_text("a", tmp_path / "a")
    assert seen == ["sync", "name"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINVAL, errno.ENOTSUP])
def test_a_disk_that_refuses_is_heard_and_one_that_cannot_be_asked_is_not(
    tmp_path, monkeypatch, number
):
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    path = tmp_path / "a"
    path.write_text("old")
    if number in atomic.UNABLE:
        atomic.write_text("new", path)
        assert path.read_text() == "new"
    else:
        with pytest.raises(OSError, match=os.strerror(number)):
            atomic.write_text("new", path)
        assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


STAGE = """
import os, signal, sys
from turnscope import atomic
from turnscope.stages import _job

def run(spec, inputs, outputs):
    with atomic.replacing(outputs["table"]) as draft:
        draft.write_text("half" if spec["dies"] else "whole")
        if spec["dies"]:
            os.kill(os.getpid(), signal.SIGKILL)

sys.exit(_job.execute(run, "figure", sys.argv[1:]))
"""


def test_a_killed_job_leaves_nothing_under_the_final_name_and_the_next_one_removes_its_draft(
    tmp_path,
):
    def job(dies: str) -> int:
        words = ["--spec", f'{{"dies": {dies}}}', "--output", f"table={tmp_path}/t.csv"]
        words += [f"provenance={tmp_path}/t.provenance.json"]
        return subprocess.run([sys.executable, "-c", STAGE, *words], capture_output=True).returncode

    (tmp_path / ".u.csv.7.tmp").write_text("another job's")
    assert job("true") == -signal.SIGKILL
    assert len(list(tmp_path.glob(".t.csv.*.tmp"))) == 1
    assert not (tmp_path / "t.csv").exists()
    assert job("false") == 0
    assert (tmp_path / "t.csv").read_text() == "whole"
    assert [path.name for path in tmp_path.glob(".*")] == [".u.csv.7.tmp"]
