import json

import pytest

from turnscope import provenance


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of three modules: stages.draw imports lines, which imports nothing."""
    root = tmp_path / "src" / "turnscope"
    (root / "stages").mkdir(parents=True)
    (root / "__init__.py").write_text('"""Package."""\n')
    (root / "stages" / "__init__.py").write_text("")
    (root / "stages" / "draw.py").write_text("from turnscope import lines\n\nSTEP = lines.WIDTH\n")
    (root / "lines.py").write_text('"""Lines."""\n\nWIDTH = 2  # pixels\n')
    (root / "other.py").write_text("X = 1\n")
    monkeypatch.setattr(provenance, "PACKAGE", root)
    provenance._scan.cache_clear()
    provenance._pins.cache_clear()
    yield root
    provenance._scan.cache_clear()
    provenance._pins.cache_clear()


def pin(package, *lines):
    folder = package.parent.parent / "envs"
    folder.mkdir(exist_ok=True)
    (folder / "requirements.txt").write_text("\n".join(["# pins", *lines]))
    provenance._pins.cache_clear()
    provenance._scan.cache_clear()
    return provenance.modules(["stages.draw"])


def digest_after(path, text):
    path.write_text(text)
    provenance._scan.cache_clear()
    return provenance.digest(["stages.draw"])


def test_modules_are_found_through_imports_and_packages(package):
    assert list(provenance.modules(["stages.draw"])) == [
        "turnscope",
        "turnscope.lines",
        "turnscope.stages",
        "turnscope.stages.draw",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"""Other words."""\n\nWIDTH = 2  # pixels\n',
        '"""Lines."""\n\n# another comment\nWIDTH = 2\n',
        '"""Lines."""\n\nWIDTH = (\n    2\n)\n"""Says what it is."""\n',
    ],
)
def test_words_and_layout_do_not_enter_the_digest(package, text):
    before = provenance.digest(["stages.draw"])
    assert digest_after(package / "lines.py", text) == before


@pytest.mark.parametrize("text", ["WIDTH = 3\n", "WIDTH = 2.0\n", "WIDTH = 2\nHEIGHT = 1\n"])
def test_code_of_an_imported_module_enters_the_digest(package, text):
    before = provenance.digest(["stages.draw"])
    assert digest_after(package / "lines.py", text) != before


def test_a_data_file_of_a_module_enters_its_digest(package):
    (package / "lines.css").write_text("p {}")
    provenance._scan.cache_clear()
    before = provenance.digest(["stages.draw"])
    (package / "lines.css").write_text("p { margin: 0 }")
    provenance._scan.cache_clear()
    assert provenance.digest(["stages.draw"]) != before


def test_code_that_is_not_imported_does_not_enter(package):
    before = provenance.digest(["stages.draw"])
    assert digest_after(package / "other.py", "X = 2\n") == before


def test_a_package_that_is_imported_enters_with_its_pin(package):
    (package / "lines.py").write_text("import numpy as np\nfrom trl.trainer import x\n")
    before = pin(package, "numpy==2.0", "Torch==1", "scipy==3")
    assert {name: found for name, found in before.items() if "turnscope" not in name} == {
        "numpy": "2.0",
        "torch": "1",  # trl computes with it
    }
    assert pin(package, "numpy==2.0", "Torch==1", "scipy==4") == before
    assert pin(package, "numpy==2.1", "Torch==1", "scipy==3") != before


def test_a_stage_depends_on_what_it_computes_with():
    found = provenance.modules(["stages.train", "algorithms.grpo"])
    assert {"torch", "transformers", "trl", "tokenizers", "numpy", "pyarrow"} <= set(found)
    assert "matplotlib" not in found
    assert "torch" not in provenance.modules(["stages.tasks", "environments.frozen_lake"])
    assert "matplotlib" in provenance.modules(["stages.figure", "figures.pass_at_k"])


def test_a_docstring_is_no_code_but_a_returned_text_is(package):
    first = digest_after(package / "lines.py", 'def f():\n    """A."""\n    return "a"\n')
    assert digest_after(package / "lines.py", 'def f():\n    """B."""\n    return "a"\n') == first
    assert digest_after(package / "lines.py", 'def f():\n    """A."""\n    return "b"\n') != first


def test_none_and_nothing_differ(package):
    first = digest_after(package / "lines.py", "WIDTH = None\n")
    assert digest_after(package / "lines.py", "WIDTH = []\n") != first


def test_the_digest_does_not_depend_on_the_order_of_names(package):
    names = ["stages.draw", "other"]
    assert provenance.digest(names) == provenance.digest(names[::-1])


def test_an_unknown_module_is_refused():
    with pytest.raises(ValueError, match=r"there is no module turnscope\.stages\.nothing"):
        provenance.modules(["stages.nothing"])


def test_what_records_a_job_is_not_part_of_it():
    assert not set(provenance.NOT_CODE) & set(provenance.modules(["stages.tasks"]))


def test_canonical_is_equal_for_equal_values():
    assert provenance.canonical({"b": [1, None], "a": 0.1}) == '{"a":0.1,"b":[1,null]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        provenance.canonical({"a": float("nan")})


def test_a_record_names_causes_and_results(tmp_path):
    read, wrote = tmp_path / "in", tmp_path / "out"
    read.write_bytes(b"abc")
    wrote.write_bytes(b"")
    record = provenance.record("draw", {"k": 8}, "c0de", {}, {"rows": read}, {"plot": wrote})
    # SHA-256 of "abc" and of nothing are the examples of FIPS 180-2.
    assert record["inputs"][0]["sha256"].startswith("ba7816bf8f01cfea414140de5dae2223")
    assert record["outputs"] == [
        {
            "name": "plot",
            "path": wrote.as_posix(),
            "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "bytes": 0,
        }
    ]


def test_the_key_depends_on_every_cause_and_on_no_result(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"1")

    def key(stage="draw", k=8, code="c0de", wrote=()):
        outputs = {name: path for name in wrote}  # noqa: C420 - `fromkeys` has no type here
        return provenance.record(stage, {"k": k}, code, {}, {"a": path}, outputs)["key"]

    before = key()
    assert key(wrote=["b"]) == before
    assert before not in {key(stage="base"), key(k=4), key(code="0ther")}
    path.write_bytes(b"2")
    assert key() != before


def test_json_is_written_whole(tmp_path):
    path = tmp_path / "new" / "record.json"
    provenance.write_json({"b": 1, "a": [None]}, path)
    assert json.loads(path.read_text()) == {"a": [None], "b": 1}
    assert [entry.name for entry in path.parent.iterdir()] == ["record.json"]


def test_circumstances_name_this_process():
    now = provenance.circumstances("2020-01-01T00:00:00", "2020-01-01T00:00:02", 2.0)
    assert now["seconds"] == 2.0
    assert now["versions"]["numpy"]
    assert now["peak_rss_bytes"] > 1 << 20
