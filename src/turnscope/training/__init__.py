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
from transformers import AutoTokenizer, PrinterCallback, TrainerState
from trl.trainer.grpo_config import GRPOConfig

from turnscope import draws
from turnscope.practice import Recipe, Study, check
from turnscope.progress import Exam
from turnscope.training import _layout, _ranks, _sampler, _weights
from turnscope.training._history import OURS, sampled
from turnscope.training._trainer import PROGRESS, Trainer
from turnscope.tuning import Tuning

log = logging.getLogger(__name__)

first = _ranks.first

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
    tuning: Tuning | None = None,
) -> Outcome:
    """Train one arm from a base policy, going on from the last complete checkpoint if there is one.

    Several processes call this at a time, see `Tuning.processes`; `first` of them writes the
    policy, all return the same.

    Args:
        study: What is trained on.
        recipe: How.
        base: Folder of the base policy.
        folder: Where the trained policy goes, an ordinary Hugging Face folder.
        scratch: Where checkpoints go; kept when the job dies, to be removed once it is done.
        name: What the checkpoints belong to; checkpoints under another name are not used.
        exam: What is played before the first step and at every checkpoint; None is nothing.
        tokens: Stop after the step in which so many tokens have been sampled in all.
        tuning: Which weights are trained, and by how many processes; None, for a model that is
            built here, is all of them by this one, in one pass backwards.

    Raises:
        ValueError: The recipe cannot be run, or has too few steps to sample so many tokens.
        FloatingPointError: A loss or a gradient is not finite.
    """
    check(recipe, len(study.tasks))
    way = tuning or Tuning()
    crew = _ranks.join(way.processes)
    words = AutoTokenizer.from_pretrained(base)
    checkpoint = _ranks.last(crew, scratch, name)
    if checkpoint:
        log.info("going on from %s", checkpoint.name)
    model = None
    if checkpoint and _done(checkpoint, recipe, tokens):
        # only the end of the job was lost; transformers would take one step too many
        state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
        progress = json.loads((checkpoint / PROGRESS).read_text())
    else:
        settings = config(recipe, study, scratch, tuning)
        loaded = _weights.load(base, way)
        trainer = Trainer(study, recipe, base, loaded, words, settings, exam, tokens, crew, tuning)
        trainer.remove_callback(PrinterCallback)
        log.info("training on %d tasks, %s, %s", len(study.tasks), asdict(recipe), asdict(way))
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        state, progress = trainer.state, trainer.progress
        if way.method == "full" and way.sharding == "none":
            model = trainer.model
        else:  # where it is divided, or has what TRL does to an adapter's model
            checkpoint = _ranks.last(crew, scratch, name)
    if tokens is not None and sampled(state.log_history) < tokens:
        raise ValueError(
            f"training.steps = {recipe.steps}: the arm sampled {sampled(state.log_history)} tokens "
            f"in them, and was to sample {tokens}; give it more steps"
        )
    if _ranks.first():
        if model is None:
            assert checkpoint is not None, "a training ends with a checkpoint"
            model = _weights.resumed(base, checkpoint, way)
        _weights.save(model, words, base, folder, way)
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


def config(recipe: Recipe, study: Study, scratch: Path, tuning: Tuning | None = None) -> GRPOConfig:
    """Translate a recipe to TRL's words.

    Raises:
        ValueError: The tasks of a step cannot be divided among the processes.
    """
    way = tuning or Tuning()
    tasks, rest = divmod(recipe.tasks, way.processes)
    if rest:
        raise ValueError(
            f"tuning.processes = {way.processes}: must divide training.tasks = {recipe.tasks}"
        )
    episodes = tasks * recipe.group
    passes = 1 if tuning is None else _layout.passes(episodes, recipe.micro)
    divided: Any = way.sharding == "fsdp"  # True is its newest form, its type an older one
    # With one update a batch both average over its tokens, but bnpo over those of each pass.
    loss = recipe.loss if tuning is None or recipe.loss != "bnpo" else "dapo"
    return GRPOConfig(
        output_dir=str(scratch),
        max_steps=recipe.steps,
        per_device_train_batch_size=episodes // passes,
        num_generations=recipe.group,
        gradient_accumulation_steps=passes,
        steps_per_generation=passes,  # with num_iterations 1, checkpoints fall between batches
        num_iterations=1,
        shuffle_dataset=False,  # its order after the first pass is lost when a run is resumed
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=recipe.warmup,
        max_grad_norm=recipe.gradient_norm,
        loss_type=loss,
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
        save_total_limit=None,  # it goes by the clock, see `turnscope.checkpoints.finish`
        logging_steps=1,
        ddp_broadcast_buffers=False,  # none of them changes
        ddp_find_unused_parameters=False,
        fsdp=divided,
        report_to=[],
        disable_tqdm=True,
        **_sampler.options(way.sampler, way.server),
    )
