"""Train a policy: our episodes and our credit, TRL's optimisation.

The only module that imports trl. Its GRPOTrainer is touched at two seams, both held by tests:
`rollout_func` plays the episodes of a batch with `turnscope.rollout`, and one overridden method
replaces the advantages that TRL computed by one number for each token. One step is one batch of
fresh episodes and one update, and every draw is a function of (seed, step, task, member), so a run
that was killed and resumed from a checkpoint ends with the same weights, bit for bit on a CPU.
"""

import json
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is pinned and tested here

import numpy as np
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerState
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from turnscope import draws
from turnscope.advantages import Float, TurnBatch
from turnscope.algorithms._arm import Algorithm, Moment
from turnscope.policies.transformers import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Environment, Episode, StopReason, Task

log = logging.getLogger(__name__)

LOSSES = ("grpo", "dapo", "dr_grpo", "bnpo")
"""Those of TRL's losses that take one advantage for each token."""
COMPLETE = "complete"
"""File that is written into a checkpoint last; a checkpoint without it was cut short."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How long and how fast an arm learns."""

    steps: int
    """Optimiser steps."""
    tasks: int
    """Tasks in a step."""
    group: int
    """Episodes of each task in a step, G >= 2."""
    learning_rate: float
    checkpoint_steps: int
    """Steps between checkpoints."""
    loss: str = "dapo"
    """How TRL averages over tokens and episodes, its `loss_type`."""
    kl: float = 0.0
    """Weight of the divergence from the base policy, TRL's `beta`."""
    clip: float = 0.2
    """Clipping of the probability ratio."""
    warmup: int = 0
    """Steps in which the learning rate rises; it is constant afterwards."""
    gradient_norm: float = 1.0
    """Longest gradient."""
    micro: int | None = 64
    """Episodes in a forward pass of the update; None is the whole batch."""


@dataclass(frozen=True, slots=True)
class Study:
    """What an arm is trained on."""

    environment: Callable[[], Environment]
    tasks: Sequence[Task]
    budget: Budget
    """Limits at T_max; the arm's schedule may lower the turns."""
    algorithm: Algorithm
    seed: int
    """Training seed."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The episodes of one step and the credit of their turns."""

    episodes: list[Episode]
    budgets: list[int]
    """Turns that each episode was allowed."""
    advantages: list[Float]
    """One number for each turn of each episode; zeros where the environment failed."""


def play(study: Study, policy: Any, tasks: Sequence[Task], step: int, recipe: Recipe) -> Batch:
    """Play the episodes of one step and pay them.

    Args:
        study: What is trained on.
        policy: Acts.
        tasks: One for each episode, the members of a group next to each other.
        step: Optimiser steps done.
        recipe: Group size and number of steps.
    """
    starts, budgets = [], []
    for row, task in enumerate(tasks):
        moment = Moment(study.seed, step, recipe.steps, task.task_id, study.budget.turns)
        turns = study.algorithm.turns(moment)
        if not 1 <= turns <= study.budget.turns:
            raise ValueError(
                f"step {step}: the schedule gives task {task.task_id} {turns} turns; "
                f"legal is 1 to {study.budget.turns}"
            )
        budget = replace(study.budget, turns=turns, told=study.algorithm.told)
        noise = draws.seed("train", study.seed, step, task.task_id, row % recipe.group)
        starts.append(Start(task, row % recipe.group, noise, budget))
        budgets.append(turns)
    episodes = rollout(study.environment, starts, policy)
    return Batch(episodes, budgets, credit(study.algorithm, episodes, budgets, recipe.group))


def credit(
    algorithm: Algorithm, episodes: Sequence[Episode], budgets: Sequence[int], group: int
) -> list[Float]:
    """Compute one advantage for each turn of each episode.

    Args:
        algorithm: Rewards and credit.
        episodes: The members of a group next to each other.
        budgets: Turns that each episode was allowed.
        group: Episodes in a group.
    """
    columns: dict[str, list[Any]] = {name: [] for name in TurnBatch.__slots__}
    names: dict[tuple[int, str], int] = {}
    scored = [row for row, episode in enumerate(episodes) if episode.success is not None]
    for row in scored:
        turns = episodes[row].turns
        columns["episode_N"] += [row] * len(turns)
        columns["group_N"] += [row // group] * len(turns)
        columns["turn_N"] += range(len(turns))
        columns["left_N"] += [budgets[row] - number for number in range(len(turns))]
        rewards = algorithm.rewards(episodes[row])
        if len(rewards) != len(turns):
            raise ValueError(f"{len(rewards)} rewards for an episode of {len(turns)} turns")
        columns["reward_N"] += rewards
        columns["state_N"] += [
            names.setdefault((row // group, turn.state_key), len(names)) for turn in turns
        ]
    reward_N = np.array(columns.pop("reward_N"), dtype=np.float64)
    batch = TurnBatch(
        reward_N=reward_N,
        **{name: np.array(column, dtype=np.int64) for name, column in columns.items()},
    )
    advantage_N = algorithm.credit(batch) if len(reward_N) else reward_N
    cuts = np.cumsum([len(episodes[row].turns) for row in scored])[:-1]
    parts = dict(zip(scored, np.split(advantage_N, cuts), strict=True)) if scored else {}
    return [parts.get(row, np.zeros(len(episode.turns))) for row, episode in enumerate(episodes)]


class Trainer(GRPOTrainer):
    """GRPO's machinery with our episodes and our credit."""

    def __init__(self, study: Study, recipe: Recipe, model: Any, words: Any, config: GRPOConfig):
        self.study, self.recipe = study, recipe
        self._rows: list[dict[str, Any]] = []
        self._batch: Batch | None = None
        super().__init__(
            model=model,
            reward_funcs=[paid],
            args=config,
            train_dataset=Dataset.from_list(
                [{"prompt": task.task_id, "place": place} for place, task in enumerate(study.tasks)]
            ),
            processing_class=words,
            rollout_func=_play,
        )
        if self.mask_truncated_completions:
            raise ValueError("episodes that use up their budget must stay in the loss")
        self.policy = Policy(self.accelerator.unwrap_model(self.model), words)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Let TRL score the batch, then replace its advantages by ours."""
        self._rows = inputs
        output = super()._generate_and_score_completions(inputs)
        assert self._batch is not None, "TRL calls rollout_func in the method above"
        width = output["completion_ids"].size(1)
        spread = np.zeros((len(inputs), width), dtype=np.float32)
        for row, (episode, advantage_T) in enumerate(
            zip(self._batch.episodes, self._batch.advantages, strict=True)
        ):
            place = 0
            for number, (turn, advantage) in enumerate(
                zip(episode.turns, advantage_T, strict=True)
            ):
                place += len(turn.context_ids) if number else 0
                spread[row, place : place + len(turn.action_ids)] = advantage
                place += len(turn.action_ids)
        output["advantages"] = torch.from_numpy(spread).to(output["completion_ids"].device)
        return output

    def play(self) -> dict[str, Any]:
        """Play one episode for each stashed row and hand it to TRL as tokens."""
        tasks = [self.study.tasks[row["place"]] for row in self._rows]
        batch = play(self.study, self.policy, tasks, self.state.global_step, self.recipe)
        self._batch = batch
        curves = measure(batch, self.recipe.group)
        for name, value in curves.items():
            self._metrics["train"][name].append(value)
        log.info(
            "step %d of %d: success %.3f",
            self.state.global_step,
            self.recipe.steps,
            curves["success"],
        )
        rows = [tokens(episode, self.policy.renderer.end_id) for episode in batch.episodes]
        return {
            "prompt_ids": [prompt for prompt, _, _ in rows],
            "completion_ids": [completion for _, completion, _ in rows],
            "env_mask": [mask for _, _, mask in rows],
            "logprobs": None,
            "payment": [
                None
                if episode.success is None
                else float(sum(self.study.algorithm.rewards(episode)))
                for episode in batch.episodes
            ],
        }

    def _get_per_token_logps_and_entropies(  # type: ignore[override]
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, **options: Any
    ) -> tuple[Any, Any, Any]:
        """Score episodes of similar length together, without the padding that they do not need."""
        if self.recipe.micro is None or len(input_ids) <= self.recipe.micro:
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, **options
            )
        options.pop("batch_size", None)
        options = {name: value for name, value in options.items() if value is not None}
        order = torch.argsort(attention_mask.sum(1), stable=True)
        parts = []
        for rows in order.split(self.recipe.micro):
            used = torch.nonzero(attention_mask[rows].any(0))
            left, right = int(used[0]), int(used[-1]) + 1
            keep = right - (input_ids.size(1) - logits_to_keep)
            scores, entropies, _ = super()._get_per_token_logps_and_entropies(
                model,
                input_ids[rows, left:right],
                attention_mask[rows, left:right],
                keep,
                **options,
            )
            fill = (0, logits_to_keep - keep)
            pad = torch.nn.functional.pad
            parts.append((pad(scores, fill), None if entropies is None else pad(entropies, fill)))
        back = torch.argsort(order)
        scores = torch.cat([part[0] for part in parts])[back]
        if parts[0][1] is None:
            return scores, None, None
        return scores, torch.cat([part[1] for part in parts])[back], None

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Mark a checkpoint as complete once all of it is on the disk."""
        super()._save_checkpoint(model, trial)
        folder = Path(self.args.output_dir or ".") / f"checkpoint-{self.state.global_step}"
        for path in folder.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        (folder / COMPLETE).touch()


def _play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """Answer TRL's call for a batch of rollouts."""
    if len(prompts) != len(trainer._rows):
        raise ValueError(f"TRL asked for {len(prompts)} rollouts of {len(trainer._rows)} rows")
    return trainer.play()


def paid(payment: list[float | None], **_: Any) -> list[float | None]:
    """Report to TRL what was paid; it is logged, while the loss uses our advantages."""
    return payment


def tokens(episode: Episode, end: int) -> tuple[list[int], list[int], list[int]]:
    """Lay an episode out as prompt, completion, and mask of the completion's policy tokens.

    An episode whose environment failed keeps its tokens and gets an empty mask.
    """
    scored = episode.stop is not StopReason.ERROR
    prompt, completion, mask = [end], [], []
    for number, turn in enumerate(episode.turns):
        if number:
            completion += turn.context_ids
            mask += [0] * len(turn.context_ids)
        else:
            prompt = turn.context_ids
        completion += turn.action_ids
        mask += [int(scored)] * len(turn.action_ids)
    return prompt, completion or [end], mask or [0]


def measure(batch: Batch, group: int) -> dict[str, float]:
    """Describe the episodes of a step; NaN where nothing was scored."""
    scored = [episode for episode in batch.episodes if episode.success is not None]
    turns = [turn for episode in scored for turn in episode.turns]
    spreads = [
        np.ptp(
            [
                advantage[0] if len(advantage) else 0.0
                for advantage in batch.advantages[at : at + group]
            ]
        )
        for at in range(0, len(batch.episodes), group)
    ]
    return {
        "success": _mean([float(bool(episode.success)) for episode in scored]),
        "turns": _mean([float(len(episode.turns)) for episode in scored]),
        "tokens": _mean([float(sum(len(turn.action_ids) for turn in e.turns)) for e in scored]),
        "budget": _mean([float(turns) for turns in batch.budgets]),
        "invalid_share": _mean([float(not turn.valid) for turn in turns]),
        "zero_variance_groups": _mean([float(spread == 0) for spread in spreads]),
        "environment_errors": float(len(batch.episodes) - len(scored)),
    }


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


CURVES = {
    "reward": "reward",
    "entropy": "entropy",
    "grad_norm": "gradient_norm",
    "loss": "loss",
    "learning_rate": "learning_rate",
    **{
        name: name
        for name in (
            "success",
            "turns",
            "tokens",
            "budget",
            "invalid_share",
            "zero_variance_groups",
            "environment_errors",
        )
    },
}
"""TRL's name of each curve that is kept, and ours."""


def train(
    study: Study, recipe: Recipe, base: Path, folder: Path, scratch: Path, name: str
) -> list[dict[str, Any]]:
    """Train one arm from a base policy, going on from the last complete checkpoint if there is one.

    Args:
        study: What is trained on.
        recipe: How.
        base: Folder of the base policy.
        folder: Where the trained policy goes, an ordinary Hugging Face folder.
        scratch: Where checkpoints go; kept when the job dies, to be removed once it is done.
        name: What the checkpoints belong to; checkpoints under another name are not used.

    Returns:
        Curves as records of `step`, `name` and `value`.

    Raises:
        ValueError: The recipe cannot be run.
    """
    check(recipe, len(study.tasks))
    words = AutoTokenizer.from_pretrained(base)
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    checkpoint = last_checkpoint(scratch, name)
    if checkpoint:
        log.info("going on from %s", checkpoint.name)
    if checkpoint and checkpoint.name == f"checkpoint-{recipe.steps}":
        # only the end of the job was lost; transformers would take one step too many
        model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
        state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    else:
        trainer = Trainer(study, recipe, model, words, config(recipe, study, scratch))
        trainer.remove_callback(PrinterCallback)
        log.info("training on %d tasks, %s", len(study.tasks), asdict(recipe))
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        model, state = trainer.model, trainer.state
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return [
        {"step": entry["step"], "name": ours, "value": entry[theirs]}
        for entry in state.log_history
        for theirs, ours in CURVES.items()
        if theirs in entry
    ]


def check(recipe: Recipe, tasks: int) -> None:
    """Refuse a recipe that cannot be run.

    Args:
        recipe: The recipe.
        tasks: Number of train tasks.

    Raises:
        ValueError: Names the entry, its value and what is legal.
    """
    if recipe.group < 2:
        raise ValueError(f"training.group = {recipe.group}: must be at least 2 to compare episodes")
    for name in ("steps", "tasks", "checkpoint_steps", "micro"):
        value = getattr(recipe, name)
        if value is not None and value < 1:
            raise ValueError(f"training.{name} = {value}: must be at least 1")
    if recipe.tasks > tasks:
        raise ValueError(f"training.tasks = {recipe.tasks}: there are {tasks} train tasks")
    if recipe.loss not in LOSSES:
        raise ValueError(f"training.loss = {recipe.loss!r}: known: {', '.join(LOSSES)}")


def last_checkpoint(scratch: Path, name: str) -> Path | None:
    """Return the last complete checkpoint of this very run, and remove all others.

    Args:
        scratch: Folder of the checkpoints.
        name: What the checkpoints must belong to.
    """
    label = scratch / "run.json"
    if not label.exists() or label.read_text() != json.dumps(name):
        shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    draft = scratch / "run.json.tmp"
    draft.write_text(json.dumps(name))
    draft.replace(label)
    found = sorted(scratch.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[-1]))
    complete = [path for path in found if (path / COMPLETE).exists()]
    for path in found:
        if path not in complete:
            shutil.rmtree(path)
    return complete[-1] if complete else None


def config(recipe: Recipe, study: Study, scratch: Path) -> GRPOConfig:
    """Translate a recipe to TRL's words."""
    return GRPOConfig(
        output_dir=str(scratch),
        max_steps=recipe.steps,
        per_device_train_batch_size=recipe.tasks * recipe.group,
        num_generations=recipe.group,
        gradient_accumulation_steps=1,
        steps_per_generation=1,  # with num_iterations 1, checkpoints fall between batches
        num_iterations=1,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=recipe.warmup,
        max_grad_norm=recipe.gradient_norm,
        loss_type=recipe.loss,
        beta=recipe.kl,
        epsilon=recipe.clip,
        temperature=1.0,
        max_completion_length=study.budget.turns * study.budget.turn_tokens,
        mask_truncated_completions=False,
        seed=draws.seed("trainer", study.seed) % (1 << 31),
        use_cpu=not torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
        gradient_checkpointing=torch.cuda.is_available(),
        save_strategy="steps",
        save_steps=recipe.checkpoint_steps,
        save_total_limit=2,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
    )
