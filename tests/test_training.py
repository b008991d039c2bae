import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.trainer.grpo_trainer import GRPOTrainer

from tests.toys import Hall, Speaker, hall
from turnscope import checkpoints, draws, practice, training
from turnscope.advantages import TurnBatch
from turnscope.algorithms import grpo
from turnscope.algorithms._arm import Algorithm, Moment, full, outcome
from turnscope.environments import frozen_lake
from turnscope.policies.transformers import Policy
from turnscope.practice import Batch, Recipe, Study, measure, pay, tokens
from turnscope.types import Budget, Episode, StopReason, Task, Turn

RECIPE = Recipe(
    steps=2, tasks=4, group=4, learning_rate=1e-3, checkpoint_steps=2, gradient_norm=1e9
)
BUDGET = Budget(turns=6, turn_tokens=4)


def credited(algorithm, episodes, budgets, group):
    return practice.credit(algorithm, episodes, pay(algorithm, episodes), budgets, group)


class Flaky(frozen_lake.Environment):
    """A lake that is out of order for some seeds."""

    def step(self, action: str):
        if self._seed % 5 == 0 and self._turn == 1:
            raise OSError("the ice broke")
        return super().step(action)


class Dead(frozen_lake.Environment):
    def reset(self, task: Task, seed: int) -> str:
        raise OSError("closed in summer")


def study(lakes: list[Task], **changes: Any) -> Study:
    usual = Study(frozen_lake.Environment, lakes, BUDGET, grpo.make(), 0)
    return replace(usual, **changes)


class Spy(training.Trainer):
    """Keeps what reaches TRL's loss, with the episodes behind it."""

    def __init__(self, *arguments: Any):
        self.inputs: list[dict[str, torch.Tensor]] = []
        self.batches: list[Batch] = []
        self.scores: list[torch.Tensor] = []
        self.rows: list[list[str]] = []
        super().__init__(*arguments)

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        self.inputs.append(dict(inputs))
        assert self._batch is not None
        self.batches.append(self._batch)
        return super()._compute_loss(model, inputs)

    def _get_per_token_logps_and_entropies(self, *arguments: Any, **options: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*arguments, **options)
        if found[0].requires_grad:
            found[0].retain_grad()
            self.scores.append(found[0])
        return found


def spy(folder: Path, scratch: Path, what: Study, recipe: Recipe = RECIPE) -> Spy:
    words = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return Spy(what, recipe, model, words, training.config(recipe, what, scratch))


@pytest.fixture(scope="module")
def watched(nano_folder: Path, lakes: list[Task], tmp_path_factory: Any) -> Spy:
    """Two steps on lakes that are sometimes out of order."""
    trainer = spy(nano_folder, tmp_path_factory.mktemp("spy"), study(lakes, environment=Flaky))
    trainer.train()
    return trainer


def by_hand(batch: Batch, group: int) -> list[tuple]:
    """Lay out prompt, completion, mask and advantage of each token of each episode."""
    rows = []
    for at in range(0, len(batch.episodes), group):
        members = batch.episodes[at : at + group]
        returns = [sum(t.reward for t in e.turns) for e in members if e.success is not None]
        mean = np.mean(returns) if returns else 0.0
        deviation = np.std(returns, ddof=1) if len(returns) > 1 else 0.0
        for episode in members:
            value = (sum(t.reward for t in episode.turns) - mean) / (deviation + 1e-4)
            ids, mask, advantages = [], [], []
            for number, turn in enumerate(episode.turns):
                if number:
                    ids += turn.context_ids
                    mask += [0] * len(turn.context_ids)
                    advantages += [0.0] * len(turn.context_ids)
                ids += turn.action_ids
                alive = episode.success is not None
                mask += [int(alive)] * len(turn.action_ids)
                advantages += [value if alive else 0.0] * len(turn.action_ids)
            prompt = episode.turns[0].context_ids
            rows.append((prompt, ids, mask, np.round(advantages, 4).tolist()))
    return sorted(rows)


def test_what_reaches_the_loss_is_ours_at_exactly_the_policys_tokens(watched):
    assert len(watched.inputs) == 2
    seen = 0
    for inputs, batch in zip(watched.inputs, watched.batches, strict=True):
        rows = []
        for row in range(16):
            real = inputs["completion_mask"][row].bool()
            prompt = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()].tolist()
            rows.append(
                (
                    prompt,
                    inputs["completion_ids"][row][real].tolist(),
                    inputs["tool_mask"][row][real].tolist(),
                    np.round(inputs["advantages"][row][real].double().numpy(), 4).tolist(),
                )
            )
            assert not inputs["advantages"][row][~real].any()
        assert sorted(rows) == by_hand(batch, 4)
        seen += int((inputs["advantages"] != 0).sum())
    assert seen > 30  # not an empty comparison
    stops = {episode.stop for batch in watched.batches for episode in batch.episodes}
    assert stops >= {StopReason.ERROR, StopReason.SUCCESS, StopReason.FAILURE}


def test_groups_are_attempts_at_one_task(watched):
    names = []
    for batch in watched.batches:
        groups = [batch.episodes[at : at + 4] for at in range(0, 16, 4)]
        assert all(len({episode.task_id for episode in group}) == 1 for group in groups)
        assert all([episode.sample for episode in group] == [0, 1, 2, 3] for group in groups)
        names += [group[0].task_id for group in groups]
    assert len(set(names)) == 8  # no task comes twice before all have come


def test_text_of_the_environment_gets_no_gradient(watched):
    """And a token of the policy gets minus its advantage over the number of such tokens."""
    inputs = watched.inputs[0]
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    watched.scores.clear()
    watched._compute_loss(watched.model, inputs).backward()
    gradient = watched.scores[-1].grad
    assert gradient is not None
    assert not gradient[~mask].any()
    torch.testing.assert_close(gradient[mask], -inputs["advantages"][mask] / mask.sum())
    watched.model.zero_grad()


def test_advantages_elsewhere_do_not_matter(watched):
    inputs = watched.inputs[0]
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    spoilt = inputs | {"advantages": torch.where(mask, inputs["advantages"], 1e3)}
    one, two = (watched._compute_loss(watched.model, each) for each in (inputs, spoilt))
    assert one.item() == two.item()
    moved = inputs | {"advantages": torch.where(mask, inputs["advantages"] + 1, 0.0)}
    assert watched._compute_loss(watched.model, moved).item() != one.item()


def log_probabilities(model: Any, inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Score the completion of each row alone, without padding."""
    rows = []
    for row in range(len(inputs["prompt_ids"])):
        prompt = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()]
        answer = inputs["completion_ids"][row][inputs["completion_mask"][row].bool()]
        ids = torch.cat([prompt, answer])
        scores = torch.log_softmax(model(input_ids=ids[None]).logits[0], dim=-1)
        rows.append(scores[len(prompt) - 1 : -1].gather(1, answer[:, None])[:, 0])
    return rows


NORMALISERS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "dapo": lambda loss_BL, mask_BL: (loss_BL * mask_BL).sum() / mask_BL.sum(),
    "bnpo": lambda loss_BL, mask_BL: (loss_BL * mask_BL).sum() / mask_BL.sum(),
    "grpo": lambda loss_BL, mask_BL: (
        (loss_BL * mask_BL).sum(1) / mask_BL.sum(1).clamp(min=1)
    ).mean(),
    "dr_grpo": lambda loss_BL, mask_BL: (loss_BL * mask_BL).sum() / (len(mask_BL) * 6 * 4),
}


@pytest.mark.parametrize("loss", NORMALISERS)
def test_the_gradient_is_the_policy_gradient(watched, loss):
    inputs = watched.inputs[0]
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).float()
    usual, watched.loss_type = watched.loss_type, loss
    watched.model.zero_grad()
    watched._compute_loss(watched.model, inputs).backward()
    watched.loss_type = usual
    found = {name: weight.grad.clone() for name, weight in watched.model.named_parameters()}
    watched.model.zero_grad()
    scores = torch.nn.utils.rnn.pad_sequence(
        log_probabilities(watched.model, inputs), batch_first=True
    )
    NORMALISERS[loss](-scores * inputs["advantages"], mask).backward()
    for name, weight in watched.model.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, rtol=1e-3, atol=1e-6)
    watched.model.zero_grad()


@pytest.mark.parametrize("micro", [1, 3, 5, 15])
@torch.no_grad()
def test_scoring_in_parts_equals_trls(watched, micro):
    inputs = watched.inputs[0]
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    arguments = (watched.model, ids, mask, inputs["completion_ids"].size(1))
    whole = GRPOTrainer._get_per_token_logps_and_entropies(
        watched, *arguments, compute_entropy=True
    )
    watched.recipe = replace(RECIPE, micro=micro)
    parts = watched._get_per_token_logps_and_entropies(*arguments, compute_entropy=True)
    short = watched._get_per_token_logps_and_entropies(*arguments)
    watched.recipe = RECIPE
    real = inputs["completion_mask"].bool()
    for one, two in zip(whole[:2], parts[:2], strict=True):
        assert one.shape == two.shape
        assert torch.isfinite(two).all()
        torch.testing.assert_close(one[real], two[real], atol=1e-5, rtol=0)
    assert torch.equal(short[0], parts[0])
    assert short[1] is None


@torch.no_grad()
def test_training_scores_what_was_sampled_as_it_was_sampled(nano_folder, lakes, tmp_path):
    """Else the probability ratio would not start at 1, and the step would not be on-policy."""
    trainer = spy(nano_folder, tmp_path, study(lakes), replace(RECIPE, micro=3))
    inputs = trainer._generate_and_score_completions(
        [{"prompt": "", "place": place} for place in (0, 1, 2, 3) for _ in range(4)]
    )
    scores = log_probabilities(trainer.model, inputs)
    assert trainer._batch is not None
    for row, episode in enumerate(trainer._batch.episodes):
        said = inputs["tool_mask"][row][: len(scores[row])].bool()
        sampled = [score for turn in episode.turns for score in turn.logprobs]
        np.testing.assert_allclose(scores[row][said], sampled, atol=1e-4, rtol=0)


def test_a_step_makes_what_paid_more_likely(nano_folder, lakes, tmp_path):
    recipe = replace(RECIPE, steps=1, tasks=8, learning_rate=1e-4)
    trainer = spy(nano_folder, tmp_path, study(lakes), recipe)
    before = AutoModelForCausalLM.from_pretrained(nano_folder)
    trainer.train()
    (inputs,) = trainer.inputs
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    totals = []
    with torch.no_grad():
        for model in (before, trainer.model):
            rows = log_probabilities(model, inputs)
            scores = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
            totals.append((scores * mask).sum(1))
    gain = totals[1] - totals[0]
    credit_B = (inputs["advantages"] * mask).sum(1) / mask.sum(1).clamp(min=1)
    assert (gain * credit_B).sum() > 0
    assert gain[credit_B > 0].mean() > gain[credit_B < 0].mean()


def test_a_study_whose_environment_is_down_changes_nothing(nano_folder, lakes, tmp_path):
    curves = training.train(
        study(lakes, environment=Dead),
        RECIPE,
        nano_folder,
        tmp_path / "policy",
        tmp_path / "scratch",
        "dead",
    )
    one, two = (
        AutoModelForCausalLM.from_pretrained(folder).state_dict()
        for folder in (nano_folder, tmp_path / "policy")
    )
    assert all(torch.equal(one[name], two[name]) for name in one)
    values = {(row["step"], row["name"]): row["value"] for row in curves}
    assert values[1, "environment_errors"] == values[2, "environment_errors"] == 16
    for name in ("success", "reward", "turns", "invalid_share"):
        assert values.get((1, name)) is None or np.isnan(values[1, name])


def turn(context: list[int], action: list[int], reward: float = 0.0, key: str = "k") -> Turn:
    return Turn("", key, "", reward, True, context, action, [0.0] * len(action))


def episode(*turns: Turn, stop: StopReason = StopReason.BUDGET, task: str = "t") -> Episode:
    return Episode(task, 0, list(turns), stop, "", "")


def test_the_layout_of_tokens_by_hand():
    played = episode(turn([1, 2, 3], [4, 5]), turn([6], [7]), turn([8, 9], [4, 4, 5]))
    assert tokens(played, 99) == (
        [1, 2, 3],
        [4, 5, 6, 7, 8, 9, 4, 4, 5],
        [1, 1, 0, 1, 0, 0, 1, 1, 1],
    )
    assert tokens(episode(turn([1], [2])), 99) == ([1], [2], [1])


def test_an_episode_that_failed_keeps_its_tokens_and_teaches_nothing():
    failed = replace(episode(turn([1], [2]), turn([3], [4])), stop=StopReason.ERROR)
    assert tokens(failed, 99) == ([1], [2, 3, 4], [0, 0, 0])
    assert tokens(replace(failed, turns=[]), 99) == ([99], [99], [0])


def test_credit_by_hand():
    # Group 0: returns 1 and 0, one failed; group 1: returns 2, 2, 0.5.
    episodes = [
        episode(turn([], [1]), turn([], [1], 1.0)),
        episode(turn([], [1], 9.0), stop=StopReason.ERROR),
        episode(turn([], [1])),
        episode(turn([], [1], 2.0)),
        episode(turn([], [1], 1.5), turn([], [1], 0.5)),
        episode(turn([], [1], 0.5)),
    ]
    got = credited(grpo.make(scale="none"), episodes, [5] * 6, 3)
    assert [part.tolist() for part in got] == [[0.5, 0.5], [0.0], [-0.5], [0.5], [0.5, 0.5], [-1.0]]
    scaled = credited(grpo.make(), episodes, [5] * 6, 3)
    one, two = 0.5**0.5 + 1e-4, (2 * 0.25 / 2 + 1 / 2) ** 0.5 + 1e-4
    expected = [0.5 / one] * 2 + [0] + [-0.5 / one] + [0.5 / two] * 3 + [-1 / two]
    np.testing.assert_allclose(np.concatenate(scaled), expected, rtol=1e-12)


def test_where_all_or_all_but_one_failed_nothing_is_earned():
    failed = episode(stop=StopReason.ERROR)
    alone = episode(turn([], [1], 1.0))
    assert [part.tolist() for part in credited(grpo.make(), [failed, alone], [5, 5], 2)] == [
        [],
        [0],
    ]
    assert [part.tolist() for part in credited(grpo.make(), [failed] * 2, [5, 5], 2)] == [[], []]


def test_every_pass_takes_every_task_once_in_another_order(lakes):
    what, recipe = study(lakes[:10]), replace(RECIPE, steps=5, tasks=4)
    places = practice.order(what, recipe)
    assert len(places) == 20
    assert sorted(places[:10]) == sorted(places[10:]) == list(range(10))
    assert places[:10] != places[10:]
    assert practice.order(what, replace(recipe, steps=3)) == places[:12]
    assert practice.order(replace(what, seed=what.seed + 1), recipe) != places


def test_tokens_do_not_enter_credit():
    short = [episode(turn([1], [2], 1.0)), episode(turn([1], [2]))]
    long = [
        episode(replace(e.turns[0], context_ids=[7] * 50, action_ids=[8] * 9, observation="x" * 99))
        for e in short
    ]
    one, two = (credited(grpo.make(), each, [5, 5], 2) for each in (short, long))
    assert [part.tolist() for part in one] == [part.tolist() for part in two]


def test_what_an_estimator_is_told():
    told: list[TurnBatch] = []

    def watch(batch: TurnBatch) -> np.ndarray:
        told.append(batch)
        return batch.reward_N * 0

    arm = Algorithm(full, outcome, watch)
    episodes = [
        episode(turn([], [1], key="a"), turn([], [1], 1.0, "b")),
        episode(turn([], [1], key="a")),
        episode(stop=StopReason.ERROR),
        episode(turn([], [1], key="b"), turn([], [1], key="b")),
    ]
    got = credited(arm, episodes, [5, 5, 3, 3], 2)
    assert [len(part) for part in got] == [2, 1, 0, 2]
    (batch,) = told
    assert batch.episode_N.tolist() == [0, 0, 1, 3, 3]
    assert batch.group_N.tolist() == [0, 0, 0, 1, 1]
    assert batch.turn_N.tolist() == [0, 1, 0, 0, 1]
    assert batch.left_N.tolist() == [5, 4, 5, 3, 2]
    assert batch.reward_N.tolist() == [0, 1, 0, 0, 0]
    a, b, a_again, other, other_again = batch.state_N.tolist()
    assert a == a_again != b
    assert other == other_again
    assert other not in (a, b)  # the same name in another task is another state


def test_rewards_of_the_wrong_number_are_refused():
    arm = Algorithm(full, lambda episode: [1.0], grpo.make().credit)
    with pytest.raises(ValueError, match="reward"):
        credited(arm, [episode(turn([], [1]), turn([], [1]))] * 2, [5, 5], 2)


def halls(number: int) -> list[Task]:
    return [hall(3, f"h{i}", slip=0.4) for i in range(number)]


def play(what: Study, tasks: list[Task], step: int = 0, recipe: Recipe = RECIPE) -> Batch:
    return practice.play(what, Speaker(0.6), [t for t in tasks for _ in range(4)], step, recipe)


def test_schedules_give_each_group_one_budget():
    moments: list[Moment] = []

    def schedule(moment: Moment) -> int:
        moments.append(moment)
        return 1 + int(moment.task_id[1:]) % 3

    arm = replace(grpo.make(), turns=schedule, told=True)
    what = study(halls(3), environment=Hall, algorithm=arm, seed=7)
    batch = play(what, halls(3), step=5)
    assert batch.budgets == [1] * 4 + [2] * 4 + [3] * 4
    assert all(len(e.turns) <= b for e, b in zip(batch.episodes, batch.budgets, strict=True))
    assert {(m.seed, m.step, m.steps, m.turns) for m in moments} == {(7, 5, 2, 6)}
    first = [e.turns[0].observation for e in batch.episodes]
    assert first == [f"at=0\nturns left {b}" for b in batch.budgets]


@pytest.mark.parametrize("turns", [0, 7])
def test_a_schedule_out_of_range_is_refused(turns):
    arm = replace(grpo.make(), turns=lambda moment: turns)
    with pytest.raises(ValueError, match=rf"{turns}.*1 to 6"):
        play(study(halls(1), environment=Hall, algorithm=arm), halls(1))


def test_draws_depend_on_seed_step_task_and_member_alone():
    what = study(halls(3), environment=Hall)
    usual = play(what, halls(3)).episodes
    assert play(what, halls(3)[::-1]).episodes == usual[8:] + usual[4:8] + usual[:4]
    assert play(what, halls(3)[1:2]).episodes == usual[4:8]
    others = [
        play(what, halls(3), step=1).episodes,
        play(replace(what, seed=1), halls(3)).episodes,
    ]
    for other in others:
        same = sum(one == two for one, two in zip(usual, other, strict=True))
        assert same < 4
    assert len({tuple(turn.action for turn in e.turns) for e in usual[:4]}) > 1


def test_curves_by_hand():
    solved = Episode("t", 0, [turn([], [1, 2]), turn([], [1], 1.0)], StopReason.SUCCESS, "", "")
    wasted = episode(replace(turn([], [1, 2, 3]), valid=False))
    failed = episode(stop=StopReason.ERROR)
    episodes = [solved, wasted, failed, wasted]
    parts = credited(grpo.make(), episodes, [5] * 4, 2)
    found = measure(Batch(episodes, [5, 5, 3, 3], parts, pay(grpo.make(), episodes)), 2)
    assert found == {
        "success": 1 / 3,
        "turns": 4 / 3,
        "tokens": 3.0,
        "budget": 4.0,
        "invalid_share": 0.5,
        "zero_variance_groups": 0.5,
        "environment_errors": 1.0,
    }


def test_curves_where_nothing_was_scored_are_missing_not_zero():
    failed = [episode(stop=StopReason.ERROR)] * 2
    found = measure(Batch(failed, [5, 5], [np.zeros(0)] * 2, [None, None]), 2)
    assert np.isnan(found["success"])
    assert np.isnan(found["invalid_share"])
    assert found["environment_errors"] == 2


def folder_with(scratch: Path, steps: dict[int, bool], name: str = "run") -> None:
    assert checkpoints.last(scratch, name) is None
    for step, complete in steps.items():
        (scratch / f"checkpoint-{step}").mkdir()
        (scratch / f"checkpoint-{step}" / "model.safetensors").write_text("x")
        if complete:
            (scratch / f"checkpoint-{step}" / checkpoints.COMPLETE).touch()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_last_complete_checkpoint_is_used_and_incomplete_ones_are_removed(tmp_path):
    folder_with(tmp_path / "s", {9: True, 10: True, 100: False})
    found = checkpoints.last(tmp_path / "s", "run")
    assert found == tmp_path / "s" / "checkpoint-10"
    assert "checkpoint-100" not in names_in(tmp_path / "s")
    folder_with(tmp_path / "none", {5: False})
    assert checkpoints.last(tmp_path / "none", "run") is None
    assert names_in(tmp_path / "none") == ["run.json"]


def test_checkpoints_of_another_run_are_not_used(tmp_path):
    folder_with(tmp_path / "s", {5: True})
    assert checkpoints.last(tmp_path / "s", "other") is None
    assert names_in(tmp_path / "s") == ["run.json"]
    assert checkpoints.last(tmp_path / "s", "run") is None


def test_checkpoints_without_a_name_are_not_used(tmp_path):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "run.json").unlink()
    assert checkpoints.last(tmp_path / "s", "run") is None


@pytest.mark.parametrize("content", ["", '"ru', "[]"])
def test_checkpoints_with_a_damaged_name_are_not_used(tmp_path, content):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "run.json").write_text(content)
    assert checkpoints.last(tmp_path / "s", "run") is None


LONG = replace(RECIPE, steps=6, checkpoint_steps=3)


class Death(BaseException):
    """Nothing catches it, as nothing catches the end of a process."""


class Mortal(frozen_lake.Environment):
    """A lake that takes the whole process with it after a number of episodes."""

    left = 1 << 30

    def __init__(self) -> None:
        super().__init__()
        Mortal.left -= 1
        if Mortal.left < 0:
            raise Death


def run(lakes: list[Task], base: Path, to: Path, recipe: Recipe = LONG, **more: Any) -> list[dict]:
    what = study(lakes, environment=Mortal, **more)
    return training.train(what, recipe, base, to / "policy", to / "scratch", "name")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def comparable(curves: list[dict[str, Any]]) -> list[tuple]:
    return [(row["step"], row["name"], repr(row["value"])) for row in curves]


@pytest.fixture(scope="module")
def uninterrupted(nano_folder: Path, lakes: list[Task], tmp_path_factory: Any) -> tuple:
    folder = tmp_path_factory.mktemp("whole")
    curves = run(lakes, nano_folder, folder)
    return folder, curves


def test_the_result_is_an_ordinary_folder(uninterrupted, nano_folder, words):
    folder, _ = uninterrupted
    model = AutoModelForCausalLM.from_pretrained(folder / "policy")
    base = AutoModelForCausalLM.from_pretrained(nano_folder)
    assert model.dtype == torch.float32
    moved = [
        not torch.equal(one, two)
        for one, two in zip(model.parameters(), base.parameters(), strict=True)
    ]
    assert all(moved)
    again = AutoTokenizer.from_pretrained(folder / "policy")
    assert again.encode("at=r0c0<|im_end|>") == words.encode("at=r0c0<|im_end|>")
    assert again.chat_template == words.chat_template
    assert Policy(folder / "policy").renderer.first("x") == Policy(nano_folder).renderer.first("x")


def test_curves_say_what_happened_at_each_step(uninterrupted):
    _, curves = uninterrupted
    for name in training.CURVES.values():
        assert [row["step"] for row in curves if row["name"] == name] == [1, 2, 3, 4, 5, 6], name
    value = {(row["step"], row["name"]): row["value"] for row in curves}
    for step in range(1, 7):
        assert value[step, "success"] == pytest.approx(value[step, "reward"])
        assert 0 < value[step, "entropy"] < np.log(400)
        assert 1 <= value[step, "turns"] <= 6
        assert value[step, "learning_rate"] == 1e-3
        assert value[step, "budget"] == 6
        assert value[step, "environment_errors"] == 0
    assert max(value[step, "gradient_norm"] for step in range(1, 7)) > 0


def test_equal_runs_give_equal_bytes_wherever_they_run(uninterrupted, nano_folder, lakes, tmp_path):
    whole, curves = uninterrupted
    shutil.copytree(nano_folder, tmp_path / "elsewhere")
    again = run(lakes, tmp_path / "elsewhere", tmp_path)
    assert comparable(again) == comparable(curves)
    assert content(tmp_path / "policy") == content(whole / "policy")
    for name, data in content(whole / "policy").items():
        assert str(nano_folder).encode() not in data, name


def test_training_seeds_differ(uninterrupted, nano_folder, lakes, tmp_path):
    run(lakes, nano_folder, tmp_path, replace(LONG, steps=1), seed=1)
    run(lakes, nano_folder, tmp_path / "0", replace(LONG, steps=1))
    one, two = (
        (folder / "policy" / "model.safetensors").read_bytes()
        for folder in (tmp_path, tmp_path / "0")
    )
    assert one != two


def test_checkpoints_are_marked_and_few(uninterrupted):
    folder, _ = uninterrupted
    kept = [p for p in (folder / "scratch").iterdir() if p.is_dir()]
    assert sorted(path.name for path in kept) == ["checkpoint-3", "checkpoint-6"]
    assert all((path / checkpoints.COMPLETE).exists() for path in kept)


# Episodes until death: in the first step, the fourth (behind a checkpoint) and the last one.
@pytest.mark.parametrize("deaths", [[5], [16 * 3 + 7], [16 * 5 + 15], [20, 16 * 3 + 1, 3]])
def test_a_run_that_dies_and_goes_on_ends_the_same(
    uninterrupted, nano_folder, lakes, tmp_path, deaths, monkeypatch
):
    whole, curves = uninterrupted
    for left in deaths:
        monkeypatch.setattr(Mortal, "left", left)
        with pytest.raises(Death):
            run(lakes, nano_folder, tmp_path)
        assert not (tmp_path / "policy").exists()
    monkeypatch.setattr(Mortal, "left", 1 << 30)
    again = run(lakes, nano_folder, tmp_path)
    assert content(tmp_path / "policy") == content(whole / "policy")
    assert comparable(again) == comparable(curves)


def test_a_run_that_dies_behind_its_last_checkpoint_trains_no_further(
    uninterrupted, nano_folder, lakes, tmp_path, monkeypatch
):
    whole, curves = uninterrupted
    shutil.copytree(whole / "scratch", tmp_path / "scratch")
    monkeypatch.setattr(Mortal, "left", 0)
    again = run(lakes, nano_folder, tmp_path)
    assert content(tmp_path / "policy") == content(whole / "policy")
    assert comparable(again) == comparable(curves)


def test_episodes_cut_by_their_budget_stay_in_the_loss(nano_folder, lakes, tmp_path):
    what = study(lakes)
    settings = training.config(RECIPE, what, tmp_path)
    assert not settings.mask_truncated_completions
    settings.mask_truncated_completions = True
    words = AutoTokenizer.from_pretrained(nano_folder)
    model = AutoModelForCausalLM.from_pretrained(nano_folder, dtype=torch.float32)
    with pytest.raises(ValueError, match="stay in the loss"):
        training.Trainer(what, RECIPE, model, words, settings)


def test_a_recipe_becomes_trls_words(lakes, tmp_path):
    recipe = Recipe(
        steps=7,
        tasks=3,
        group=5,
        learning_rate=2e-4,
        checkpoint_steps=4,
        loss="grpo",
        kl=0.1,
        clip=0.3,
        warmup=2,
        gradient_norm=0.5,
    )
    got = training.config(recipe, study(lakes), tmp_path)
    assert (got.max_steps, got.save_steps, got.num_generations) == (7, 4, 5)
    assert (got.per_device_train_batch_size, got.generation_batch_size) == (15, 15)
    assert (got.learning_rate, got.warmup_steps, got.max_grad_norm) == (2e-4, 2, 0.5)
    assert (got.loss_type, got.beta, got.epsilon) == ("grpo", 0.1, 0.3)
    assert (got.num_iterations, got.gradient_accumulation_steps) == (1, 1)
    assert (got.temperature, got.top_p, got.top_k, got.min_p) == (1.0, 1.0, 0, None)
    assert got.importance_sampling_level == "token"


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        ({"group": 1}, "training.group = 1"),
        ({"tasks": 41}, "training.tasks = 41"),
        ({"tasks": 0}, "training.tasks = 0"),
        ({"steps": 0}, "training.steps = 0"),
        ({"checkpoint_steps": 0}, "training.checkpoint_steps = 0"),
        ({"micro": 0}, "training.micro = 0"),
        ({"loss": "luspo"}, "training.loss = 'luspo'"),
        ({"loss": "ppo"}, "training.loss = 'ppo'"),
    ],
)
def test_recipes_that_cannot_be_run_are_refused_in_one_line(
    nano_folder, lakes, tmp_path, changes, about
):
    with pytest.raises(ValueError, match="training") as caught:
        run(lakes, nano_folder, tmp_path, replace(LONG, **changes))
    assert str(caught.value).startswith(about)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "scratch").exists()


CHILD = """
import sys
from pathlib import Path
from tests.test_training import KILLED, run
from turnscope.environments import frozen_lake

lakes = frozen_lake.tasks(3, train=40, test=0, sizes=[3, 4])
base, folder = map(Path, sys.argv[1:])
curves = run(lakes, base, folder, KILLED)
(folder / "curves.txt").write_text(repr(curves))
"""
KILLED = replace(RECIPE, steps=24, checkpoint_steps=3)


def start_child(base: Path, folder: Path) -> subprocess.Popen:
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(base), str(folder)],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(path: Path, child: subprocess.Popen) -> None:
    while not path.exists() and child.poll() is None:
        time.sleep(0.0005)


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_moment_ends_the_same(nano_folder, tmp_path):
    """Killed while a checkpoint is being written, at random moments, and when all but done."""
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    assert start_child(nano_folder, whole).wait() == 0
    chance = random.Random(5)
    # a pass over the tasks is 10 steps: 21 lies in the third, where the order must be the same too
    marks = ["checkpoint-3", "checkpoint-6/optimizer.pt", "checkpoint-21/complete"]
    marks.append("checkpoint-24/complete")
    delays = [0.0, 0.0, chance.uniform(0, 0.5), 0.0]
    killed = 0
    for mark, delay in zip(marks, delays, strict=True):
        child = start_child(nano_folder, torn)
        wait_for(torn / "scratch" / mark, child)
        time.sleep(delay)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            killed += 1
        child.wait()
    assert killed >= 3
    assert start_child(nano_folder, torn).wait() == 0
    assert content(torn / "policy") == content(whole / "policy")
    assert (torn / "curves.txt").read_text() == (whole / "curves.txt").read_text()


def test_seeds_of_steps_are_all_different():
    """The noise of a step is named by (seed, step, task, member)."""
    names = {
        draws.seed("train", seed, step, task, member)
        for seed in range(3)
        for step in range(20)
        for task in ("a", "b")
        for member in range(8)
    }
    assert len(names) == 3 * 20 * 2 * 8
