"""Models that are not built here: the paper's study, and the way of a tiny Qwen3."""

import json
import os
import re

import pandas as pd
import pytest
import yaml
from safetensors import safe_open
from transformers import AutoTokenizer

from tests import qwen
from tests.workflow.running import clone, planned, snakemake
from turnscope import templates

pytestmark = pytest.mark.slow
EPISODES = "results/episodes/frozen_lake/tiny/base/blind/episodes.parquet"


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return clone(tmp_path_factory.mktemp("loaded"))


@pytest.fixture(scope="module")
def study(repo):
    """A study of the smallest size whose model lies in a folder, with the stock template."""
    stock = qwen.folder(repo / "stock")
    changes = yaml.safe_load((repo / "config/test.yaml").read_text())
    lake = changes["environments"]["frozen_lake"]
    lake["tasks"] |= {"train": 8, "test": 12}
    lake |= {"options": {"view": "grid"}, "budget": {"turns": 3, "turn_tokens": 6}}
    changes["models"] = {
        "tiny": {
            "backend": "transformers",
            "path": stock.as_posix(),
            "template": "qwen3",
            "thinking": False,
            "dtype": "bfloat16",
        }
    }
    changes["study"] = {"models": ["tiny"]}
    path = repo / "loaded.yaml"
    path.write_text(yaml.safe_dump(changes))
    return path.as_posix()


def test_a_qwen3_is_fetched_linked_and_played(repo, study):
    jobs = ["Fetch tiny", "Make the base policy of tiny in frozen_lake"]
    jobs += ["Make the tasks of frozen_lake", "Play base of tiny in frozen_lake, blind"]
    assert planned(repo, EPISODES, study=study) == jobs
    done = snakemake(repo, EPISODES, study=study)
    assert done.returncode == 0, done.stdout
    made, base = repo / "results/models/tiny", repo / "results/policies/frozen_lake/tiny/base"
    assert os.path.samefile(made / "model.safetensors", base / "model.safetensors")
    with safe_open(base / "model.safetensors", framework="pt") as file:
        kinds = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert kinds == {"BF16"}
    words = AutoTokenizer.from_pretrained(base)
    assert words.chat_template == templates.text("qwen3", False)
    turns = pd.read_parquet((repo / EPISODES).with_name("turns.parquet"))
    assert len(turns) == 12 * 8 * 3
    first = words.decode(turns["context_ids"].iloc[0])
    assert first.startswith("<|im_start|>user\n")
    assert first.endswith("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert planned(repo, EPISODES, study=study) == []


def test_a_change_of_the_model_is_seen(repo, study):
    stock = repo / "stock" / "config.json"
    before = stock.read_text()
    stock.write_text(json.dumps(json.loads(before) | {"max_position_embeddings": 2048}))
    assert "Fetch tiny" in planned(repo, EPISODES, study=study)
    stock.write_text(before)
    other = repo / "thinking.yaml"
    text = yaml.safe_load((repo / "loaded.yaml").read_text())
    text["models"]["tiny"]["thinking"] = True
    other.write_text(yaml.safe_dump(text))
    assert "Fetch tiny" in planned(repo, EPISODES, study=other.as_posix())


def test_the_study_of_the_paper_is_planned_without_its_models(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path))
    jobs = planned(repo, "all", study="config/paper.yaml")
    assert {"Fetch qwen3_4b", "Fetch qwen3_8b"} <= set(jobs)
    fetched = [job.split()[5] for job in jobs if job.startswith("Fetch what the tasks of ")]
    assert fetched == ["bfcl", "deepcoder", "intercode_sql"]
    # 15 arms with 3 seeds, in 4 environments with 2 models.
    assert len([job for job in jobs if job.startswith("Train ")]) == 15 * 3 * 4 * 2
    assert len([job for job in jobs if job.startswith("Gather ")]) == 58 * 4 * 2
    done = snakemake(repo, "plan", "--quiet", "host", "rules", study="config/paper.yaml")
    assert done.returncode == 0, done.stdout
    *_, total = [line for line in done.stdout.splitlines() if line.startswith("total ")]
    assert f"{len(jobs):,}" in total.split()
    assert "?" not in total
    assert re.search(r"^qwen3_8b +train with a critic ", done.stdout, re.MULTILINE)


def test_a_study_of_what_is_made_here_fetches_nothing(repo):
    jobs = planned(repo, "all", study="config/full.yaml")
    assert not [job for job in jobs if job.startswith("Fetch")]
