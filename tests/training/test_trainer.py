import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.trainer.grpo_trainer import GRPOTrainer

from turnscope import checkpoints, monitor, progress, training
from turnscope.algorithms import grpo, ppo
from turnscope.algorithms._arm import Moment
from turnscope.environments import frozen_lake
from turnscope.policies.transformers import Policy
from turnscope.practice import Batch, Recipe, Study
from turnscope.progress import Exam
from turnscope.training._layout import complete
from turnscope.training._trainer import Trainer
from turnscope.types import Budget, StopReason, Task

RECIPE = Recipe(
    steps=2, tasks=4, group=4, learning_rate=1e-3, checkpoint_steps=2, gradient_norm=1e9
)
BUDGET = Budget(turns=6, turn_tokens=4)


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


class Spy(Trainer):
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
    return Spy(what, recipe, folder, model, words, training.config(recipe, what, scratch))


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
    curves, _ = training.train(
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


LONG = replace(RECIPE, steps=6, checkpoint_steps=3)


class Death(KeyboardInterrupt):
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
    return training.train(what, recipe, base, to / "policy", to / "scratch", "name").curves


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
        Trainer(what, RECIPE, nano_folder, model, words, settings)


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


def test_an_arm_that_is_cut_by_its_budget_keeps_every_token_in_the_loss(
    nano_folder, lakes, tmp_path
):
    """BudgetMix would be disabled silently if episodes that ran out of turns were masked."""
    arm = replace(grpo.make(), turns=lambda moment: 2)
    trainer = spy(nano_folder, tmp_path, study(lakes, algorithm=arm))
    trainer.train()
    cut = 0
    for inputs, batch in zip(trainer.inputs, trainer.batches, strict=True):
        counted = (inputs["completion_mask"] * inputs["tool_mask"]).sum(1).tolist()
        said = [sum(len(turn.action_ids) for turn in e.turns) for e in batch.episodes]
        assert sorted(counted) == sorted(said)
        cut += sum(episode.stop is StopReason.BUDGET for episode in batch.episodes)
    assert cut > 5


def test_a_loss_that_leaves_out_what_was_said_is_refused(watched):
    batch = watched.batches[0]
    counts = [
        0 if paid is None else sum(len(turn.action_ids) for turn in one.turns)
        for one, paid in zip(batch.episodes, batch.rewards, strict=True)
    ]
    complete(batch, counts)
    cut = next(row for row, count in enumerate(counts) if count)
    with pytest.raises(RuntimeError, match=f"counts 0 of its {counts[cut]} sampled tokens"):
        complete(batch, [*counts[:cut], 0, *counts[cut + 1 :]])


def test_divergence_from_base_starts_at_zero_and_grows(nano_folder, lakes, tmp_path):
    recipe = replace(RECIPE, steps=4, learning_rate=3e-3, micro=3)
    curves, _ = training.train(
        study(lakes), recipe, nano_folder, tmp_path / "policy", tmp_path / "scratch", "kl"
    )
    found = [row["value"] for row in curves if row["name"] == "kl"]
    assert found[0] == pytest.approx(0, abs=1e-8)
    assert found[-1] > 1e-3


@pytest.mark.parametrize(
    ("spoil", "about"), [("loss", "the loss is nan"), ("gradient", "a gradient is not finite")]
)
def test_a_run_that_diverges_stops_says_so_and_keeps_its_checkpoints(
    nano_folder, lakes, tmp_path, spoil, about, monkeypatch
):
    usual = GRPOTrainer._compute_loss

    def spoilt(self: Any, model: Any, inputs: Any) -> torch.Tensor:
        loss = usual(self, model, inputs)
        if self.state.global_step < 4:
            return loss
        if spoil == "loss":
            return loss * float("nan")
        loss.register_hook(lambda slope: slope * float("inf"))
        return loss * 1.0

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", spoilt)
    with pytest.raises(FloatingPointError, match=f"step 4: {about}"):
        run(lakes, nano_folder, tmp_path)
    assert not (tmp_path / "policy").exists()
    folder = tmp_path / "scratch" / "broken-step-4"
    dumped = torch.load(folder / "batch.pt", weights_only=True)
    assert len(dumped["advantages"]) == len(json.loads((folder / "episodes.json").read_text()))
    monkeypatch.undo()
    again = run(lakes, nano_folder, tmp_path)
    assert [row["step"] for row in again if row["name"] == "success"] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_collapses_says_so_when_it_does_and_notes_it_at_each_step(
    nano_folder, lakes, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(monitor, "WINDOW", 1)  # so that a short run can be judged
    curves = run(lakes, nano_folder, tmp_path, replace(LONG, steps=12))
    found = {
        name: [row["value"] for row in curves if row["name"] == name]
        for name in (*monitor.WATCHED, "collapse")
    }
    past = [{name: found[name][:step] for name in monitor.WATCHED} for step in range(1, 13)]
    alarms = [float(monitor.collapse(one) is not None) for one in past]
    assert found["collapse"] == alarms
    assert {0.0, 1.0} == set(alarms)
    starts = [step for step in range(12) if alarms[step] and not any(alarms[step - 1 : step])]
    warned = [one.getMessage() for one in caplog.records if "collapsed" in one.getMessage()]
    assert [text.split(":")[0] for text in warned] == [f"step {step}" for step in starts]


def test_a_run_ends_with_the_step_in_which_enough_was_sampled(nano_folder, lakes, tmp_path):
    def totals(to: Path, tokens: int | None) -> list[float]:
        found = training.train(
            study(lakes), LONG, nano_folder, to / "policy", to / "s", "n", tokens=tokens
        )
        return [row["value"] for row in found.curves if row["name"] == "tokens_total"]

    every = totals(tmp_path / "whole", None)
    assert len(every) == 6
    assert all(one < two for one, two in itertools.pairwise(every))
    assert totals(tmp_path / "exact", int(every[3])) == every[:4]
    assert totals(tmp_path / "above", int(every[3]) + 1) == every[:5]
    assert totals(tmp_path / "above", int(every[3]) + 1) == every[:5]  # only its end was lost
    with pytest.raises(ValueError, match=r"training.steps = 6: .*give it more steps"):
        totals(tmp_path / "never", int(every[-1]) + 1)


def test_policies_are_examined_before_the_first_step_and_at_every_checkpoint(
    nano_folder, lakes, tmp_path
):
    states = progress.choose(
        frozen_lake.Environment, lakes[:5], BUDGET, Policy(nano_folder), 1, 12, {}
    )
    exam = Exam(lakes[:5], 2, 3, states, 1)
    what = study(lakes[5:], quality=frozen_lake.step_quality)
    arguments = (what, replace(LONG, steps=5), nano_folder)
    found = training.train(*arguments, tmp_path / "p", tmp_path / "s", "n", exam=exam)
    steps = sorted({row["step"] for row in found.progress})
    assert steps == [0, 3, 5]
    for step, folder in ((0, nano_folder), (5, tmp_path / "p")):
        expected = progress.examine(what, exam, Policy(folder))
        rows = [row for row in found.progress if row["step"] == step]
        assert rows == [{"step": step, **row} for row in expected]
    plain = training.train(*arguments, tmp_path / "p2", tmp_path / "s2", "n")
    assert content(tmp_path / "p2") == content(tmp_path / "p")  # to look does not disturb
    assert comparable(plain.curves) == comparable(found.curves)


@pytest.mark.parametrize("level", ["token", "turn"])
def test_a_policy_with_a_critic_is_saved_without_it(nano_folder, lakes, tmp_path, level):
    curves = run(lakes, nano_folder, tmp_path, algorithm=ppo.make(level=level, warmup=2))
    weights = [load_file(at / "model.safetensors") for at in (nano_folder, tmp_path / "policy")]
    assert weights[0].keys() == weights[1].keys()
    assert content(tmp_path / "policy").keys() == content(nano_folder).keys()
    assert (tmp_path / "scratch" / "checkpoint-6" / "critic.pt").exists()
    values = {(row["step"], row["name"]): row["value"] for row in curves}
    assert values[1, "zero_advantage_share"] == values[2, "zero_advantage_share"] == 1
    assert values[2, "gradient_norm"] == 0 < values[3, "gradient_norm"]  # the critic learns alone
    assert values[6, "critic_loss"] > 0


def test_a_critic_that_diverges_stops_the_run_and_spoils_no_checkpoint(
    nano_folder, lakes, tmp_path
):
    def rewards(played: Any, moment: Moment) -> list[float]:
        return [1e30 if moment.step == 2 else turn.reward for turn in played.turns]

    arm = replace(ppo.make(warmup=6), rewards=rewards)
    recipe = replace(LONG, checkpoint_steps=1)
    with pytest.raises(
        FloatingPointError, match=r"step 2: the critic's loss.*options learning_rate"
    ):
        run(lakes, nano_folder, tmp_path, recipe, algorithm=arm)
    kept = sorted(path.name for path in (tmp_path / "scratch").iterdir() if path.is_dir())
    assert kept == ["broken-step-2", "checkpoint-1", "checkpoint-2"]
    network = torch.load(tmp_path / "scratch" / "checkpoint-2" / "critic.pt")["network"]
    assert all(torch.isfinite(weight).all() for weight in network.values())


def test_without_a_reference_no_divergence_is_logged(nano_folder, lakes, tmp_path):
    curves = run(lakes, nano_folder, tmp_path, replace(LONG, reference=False))
    found = {row["step"]: row["value"] for row in curves if row["name"] == "kl"}
    assert all(value is None for value in found.values())
