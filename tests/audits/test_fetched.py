"""A model that was fetched, from a folder: made again if asked for by name, never by chance."""

import json
import shutil

import pytest

from turnscope.audits.__main__ import main
from turnscope.stages import _job, model

pytestmark = pytest.mark.slow
FOLDER = "results/models/tiny"


@pytest.fixture
def results(nano_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(nano_folder, "stock/tiny")
    spec = {"model": "tiny", "settings": {"path": "stock/tiny"}, "template": None}
    words = ["--spec", json.dumps(spec), "--input", "source=stock/tiny/config.json"]
    words += ["--output", f"weights={FOLDER}/model.safetensors"]
    assert _job.execute(model.run, "model", [*words, f"provenance={FOLDER}/provenance.json"]) == 0
    return tmp_path / "results"


def test_a_model_in_a_folder_is_sound_and_comes_out_again_if_it_is_asked_for(results, capsys):
    assert main([str(results), "--remake", "5"], []) == 0
    assert "remake       0 artifacts, 0 failures" in capsys.readouterr().out
    words = [str(results), "--remake-these", f"{FOLDER}/provenance.json"]
    assert main(words, []) == 0
    assert "remake       1 artifacts, 0 failures" in capsys.readouterr().out


def test_what_is_out_of_reach_is_said_to_be(results, capsys, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    (results.parent / "stock").rename(results.parent / "away")
    words = ["--kinds", "chain", "remake", "--remake-these", f"{FOLDER}/provenance.json"]
    assert main([str(results), *words], []) == 1
    link, again = capsys.readouterr().err.splitlines()
    assert link.endswith("was made from another stock/tiny/config.json")
    assert "the job failed; it fetches what is elsewhere, so it needs it, the network or" in again
