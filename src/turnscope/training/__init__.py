"""Train a policy: our episodes and our credit, TRL's optimisation.

The only package that imports trl. Its GRPOTrainer is touched where tests hold it, see
`turnscope.training._trainer`. One step is one batch of fresh episodes and one update, so a run
that was killed and resumed from a checkpoint ends with the same weights, bit for bit on a CPU.
"""

import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerState
from trl.trainer.grpo_config import GRPOConfig

from turnscope import checkpoints, draws
from turnscope.practice import Recipe, Study, check
from turnscope.progress import Exam
from turnscope.training._history import OURS, sampled
from turnscope.training._trainer import PROGRESS, Trainer

log = logging.getLogger(__name__)

CURVES = {
    "reward": "reward",
    "entropy": "entropy",
    "grad_norm": "gradient_norm",
    "loss": "loss",
    "learning_rate": "learning_rate",
}
"""TRL's name of each of its curves that is kept, and ours."""


class Outcome(NamedTuple):
    """What a training leaves beside the policy."""

    curves: list[dict[str, Any]]
    """Records of `step`, `name` and `value`."""
    progress: list[dict[str, Any]]
    """Records of table `progress` without `env`, `model` and `policy`."""


def train(
    study: Study,
    recipe: Recipe,
    base: Path,
    folder: Path,
    scratch: Path,
    name: str,
    *,
    exam: Exam | None = None,
    tokens: int | None = None,
) -> Outcome:
    """Train one arm from a base policy, going on from the last complete checkpoint if there is one.

    Args:
        study: What is trained on.
        recipe: How.
        base: Folder of the base policy.
        folder: Where the trained policy goes, an ordinary Hugging Face folder.
        scratch: Where checkpoints go; kept when the job dies, to be removed once it is done.
        name: What the checkpoints belong to; checkpoints under another name are not used.
        exam: What is played before the first step and at every checkpoint; None is nothing.
        tokens: Stop after the step in which so many tokens have been sampled in all.

    Raises:
        ValueError: The recipe cannot be run, or has too few steps to sample so many tokens.
        FloatingPointError: A loss or a gradient is not finite.
    """
    check(recipe, len(study.tasks))
    words = AutoTokenizer.from_pretrained(base)
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    checkpoint = checkpoints.last(scratch, name)
    if checkpoint:
        log.info("going on from %s", checkpoint.name)
    if checkpoint and _done(checkpoint, recipe, tokens):
        # only the end of the job was lost; transformers would take one step too many
        model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
        state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
        progress = json.loads((checkpoint / PROGRESS).read_text())
    else:
        settings = config(recipe, study, scratch)
        trainer = Trainer(study, recipe, base, model, words, settings, exam, tokens)
        trainer.remove_callback(PrinterCallback)
        log.info("training on %d tasks, %s", len(study.tasks), asdict(recipe))
        if checkpoint is None:
            trainer.examine()
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        model, state, progress = trainer.model, trainer.state, trainer.progress
    if tokens is not None and sampled(state.log_history) < tokens:
        raise ValueError(
            f"training.steps = {recipe.steps}: the arm sampled {sampled(state.log_history)} tokens "
            f"in them, and was to sample {tokens}; give it more steps"
        )
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return Outcome(_curves(state.log_history), progress)


def _done(checkpoint: Path, recipe: Recipe, tokens: int | None) -> bool:
    """Say whether a checkpoint is the last one of its run."""
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    enough = tokens is not None and sampled(state.log_history) >= tokens
    return enough or state.global_step == recipe.steps


def _curves(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lay out what was logged at each step."""
    rows = []
    for entry in history:
        # sorted, for a resumed run has read its history from a file in another order
        ours = {key: key.removeprefix(OURS) for key in sorted(entry) if key.startswith(OURS)}
        names = {**CURVES, **ours} if ours else {}  # the last entry is about the whole run
        rows += [
            {"step": entry["step"], "name": name, "value": entry[key]}
            for key, name in names.items()
            if key in entry
        ]
    return rows


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
