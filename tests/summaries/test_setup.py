import pytest

from turnscope.schemas import ESTIMATES, TRAINING
from turnscope.summaries import setup

NOTHING, NO_CURVES = (schema.empty_table().to_pandas() for schema in (ESTIMATES, TRAINING))
FACTS = {
    "Study": {"seed": "1", "arms": "grpo, ppo", "metrics": "pass_at_kt"},
    "Environment frozen_lake": {"tasks.test": "500", "budget.turns": "20", "options.view": "all"},
    "Model nano": {"backend": "transformers", "build.hidden": "64"},
    "Arm grpo": {},
    "Training": {"seeds": "0, 1", "learning_rate": "0.0007", "clip": "0.2"},
}


def rows(facts: dict) -> list[list[str]]:
    table = setup.data(NOTHING, NO_CURVES, k=8, arms={}, setup=facts)
    assert list(table.columns) == ["section", "setting", "value"]
    return table.to_numpy().tolist()


def test_what_a_reader_needs_is_shown_in_words_and_the_rest_is_left_out():
    assert rows(FACTS) == [
        ["Study", "arms", "grpo, ppo"],
        ["Study", "seed of tasks, episodes and draws", "1"],
        ["Environment frozen_lake", "test tasks", "500"],
        ["Environment frozen_lake", "T_max, turns", "20"],
        ["Environment frozen_lake", "option view", "all"],
        ["Model nano", "backend", "transformers"],
        ["Model nano", "built: hidden", "64"],
        ["Training", "training seeds", "0, 1"],
        ["Training", "learning rate", "0.0007"],
    ]


def test_what_an_environment_changes_is_shown_with_it():
    facts = {
        "Environment code": {
            "tasks.test": "300",
            "arms": "grpo, gigpo",
            "build.steps": "600",
            "training.steps": "60",
            "progress.states": "80",
            "sampling.told.episodes": "8",
            "matched.states": "300",
        }
    }
    assert [row[1:] for row in rows(facts)] == [
        ["test tasks", "300"],
        ["arms that run here", "grpo, gigpo"],
        ["built: steps", "600"],
        ["training: steps", "60"],
        ["measured on the way: states", "80"],
        ["sampling: told.episodes", "8"],
        ["compared: states", "300"],
    ]


def test_without_settings_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="setup"):
        rows({"Study": {}})
