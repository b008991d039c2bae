import json

import pytest

from tests.ablation.studies import made
from turnscope.ablation import folder as folders

ASKED = {"what": "C1", "set": [], "config": None}


@pytest.fixture
def study(tmp_path):
    return made(tmp_path)


def everything(study):
    return {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}


def test_everything_is_there_but_what_is_made_again(study):
    (study / ".snakemake/metadata").mkdir(parents=True)
    (study / ".snakemake/metadata/x").write_text("known")
    before = everything(study)
    folder = folders.choose(study, ASKED)
    assert folder == study / "results/again/C1"
    folders.prepare(study, folder, ASKED, {"seed": 2}, {"results/claims/provenance.json"})
    assert not (folder / "results/claims").exists()
    figure = "results/figures/pass_at_k.png"
    assert (folder / figure).read_text() == "a picture"
    assert (folder / figure).stat().st_mtime_ns == (study / figure).stat().st_mtime_ns
    assert (folder / "results/figures/pass_at_k.run.json").exists()
    assert (folder / ".snakemake/metadata/x").read_text() == "known"
    assert (folder / folders.CHANGES).read_text() == "seed: 2\n"
    assert {path: data for path, data in everything(study).items() if path in before} == before


def test_a_file_put_in_the_place_of_a_link_leaves_the_study_alone(study):
    folder = folders.choose(study, ASKED)
    folders.prepare(study, folder, ASKED, {}, set())
    path = folder / "results/figures/pass_at_k.csv"
    path.unlink()
    path.write_text("other")
    assert (study / "results/figures/pass_at_k.csv").read_text().startswith("policy,value")


def test_what_lies_below_a_study_is_not_of_it(study):
    number = len(list(folders.marks(study)))
    made(study / "results/full")
    folder = folders.choose(study, ASKED)
    folders.prepare(study, folder, ASKED, {}, set())
    assert len(list(folders.marks(study))) == len(list(folders.marks(folder))) == number == 3


def test_an_unfinished_folder_is_taken_up_again_and_a_finished_one_is_kept(study):
    folder = folders.choose(study, ASKED)
    folders.prepare(study, folder, ASKED, {}, set())
    (folder / "results/figures/pass_at_k.png").unlink()
    assert folders.choose(study, ASKED) == folder
    folders.prepare(study, folder, ASKED, {}, set())
    assert not (folder / "results/figures/pass_at_k.png").exists()
    (folder / folders.DONE).write_text("done")
    assert folders.choose(study, ASKED) == study / "results/again/C1-2"


def test_a_folder_that_was_not_filled_to_the_end_is_filled_anew(study):
    folder = folders.choose(study, ASKED)
    (folder / "results").mkdir(parents=True)
    (folder / "results/half").write_text("x")
    assert folders.choose(study, ASKED) == folder
    folders.prepare(study, folder, ASKED, {}, set())
    assert not (folder / "results/half").exists()
    assert json.loads((folder / folders.ASKED).read_text()) == ASKED


@pytest.mark.parametrize(
    ("what", "settings", "name"),
    [
        ("frozen_lake/nano/grpo-s1", [], "frozen_lake-nano-grpo-s1"),
        ("", ["training.steps=20"], "training.steps=20"),
        ("grpo", ["training.seeds=[0, 1]"], "grpo+training.seeds=-0--1-"),
        ("", [], "changed"),
        ("x" * 200, [], "x" * 80),
    ],
)
def test_the_name_of_a_folder_says_what_was_asked_for(tmp_path, what, settings, name):
    asked = {"what": what, "set": settings, "config": None}
    assert folders.choose(tmp_path, asked) == tmp_path / "results/again" / name


def test_a_model_in_the_folder_of_the_study_is_found_from_the_new_one(tmp_path):
    (tmp_path / "models/small").mkdir(parents=True)
    (tmp_path / "models/small/config.json").write_text("{}")
    folder = tmp_path / "again"
    models = {"small": {"path": "models/small"}, "hub": {"path": "Some/Model"}, "nano": {}}
    folders.share(tmp_path, folder, models)
    assert (folder / "models/small/config.json").read_text() == "{}"
    assert not (folder / "Some").exists()
    folders.share(tmp_path, folder, models)
