"""Train a policy: our episodes and our credit, TRL's optimisation.

The only module that imports trl. Its GRPOTrainer is touched where tests hold it: `rollout_func`
plays the episodes of a batch (`turnscope.practice`), and overridden methods replace the advantages
that TRL computed by one number for each token, score without padding, and mark checkpoints as
complete. One step is one batch of fresh episodes and one update, so a run that was killed and
resumed from a checkpoint ends with the same weights, bit for bit on a CPU.
"""

import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is pinned and tested here

import numpy as np
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerState
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from turnscope import checkpoints, draws
from turnscope.policies.transformers import Policy
from turnscope.practice import Batch, Recipe, Study, check, measure, order, play, tokens

log = logging.getLogger(__name__)


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
                [
                    {"prompt": study.tasks[place].task_id, "place": place}
                    for place in order(study, recipe)
                ]
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
            "payment": [None if paid is None else float(sum(paid)) for paid in batch.rewards],
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
        """Mark a checkpoint as complete, which is the last thing that happens to it."""
        super()._save_checkpoint(model, trial)
        folder = Path(self.args.output_dir or ".") / f"checkpoint-{self.state.global_step}"
        checkpoints.finish(folder)


def _play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """Answer TRL's call for a batch of rollouts."""
    if len(prompts) != len(trainer._rows):
        raise ValueError(f"TRL asked for {len(prompts)} rollouts of {len(trainer._rows)} rows")
    return trainer.play()


def paid(payment: list[float | None], **_: Any) -> list[float | None]:
    """Report to TRL what was paid; it is logged, while the loss uses our advantages."""
    return payment


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
    checkpoint = checkpoints.last(scratch, name)
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
        shuffle_dataset=False,  # its order after the first pass is lost when a run is resumed
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
