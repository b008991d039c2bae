"""GRPO's machinery with our episodes and our credit: where TRL is touched."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is pinned and tested here

import numpy as np
import torch
from datasets import Dataset
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from turnscope import checkpoints, monitor, practice, progress
from turnscope.crew import ALONE, Crew
from turnscope.critic import Critic, Tokens
from turnscope.policies.transformers import Policy
from turnscope.practice import Batch, Recipe, Study, tokens
from turnscope.progress import Exam
from turnscope.training import _sampler, _shards
from turnscope.training._broken import dump
from turnscope.training._history import OURS, Enough, Opening, Pooled, curve, sampled
from turnscope.training._layout import complete, places, scored, spread, whole
from turnscope.training._reference import Reference, divergence
from turnscope.tuning import Tuning, adapter

log = logging.getLogger(__name__)

PROGRESS = "progress.json"
"""File in a checkpoint with the evaluations so far."""
SPARSE = 16
"""One in so many episodes of a process is scored by the base policy, to watch the divergence."""


class Trainer(GRPOTrainer):
    """Plays, credits, watches and evaluates; TRL optimises.

    Args:
        study: What is trained on.
        recipe: How.
        base: Folder of the base policy, from which a critic starts.
        model: The policy.
        words: Its tokenizer.
        config: TRL's words for the recipe.
        exam: What is played at checkpoints; None is nothing.
        enough: Stop once so many tokens were sampled; None stops after all steps.
        crew: The processes that train the policy, each with its share of the groups of a step.
        tuning: Which weights are trained; None is all, in one pass.
    """

    def __init__(
        self,
        study: Study,
        recipe: Recipe,
        base: Path,
        model: Any,
        words: Any,
        config: GRPOConfig,
        exam: Exam | None = None,
        enough: int | None = None,
        crew: Crew = ALONE,
        tuning: Tuning | None = None,
    ):
        way = tuning or Tuning()
        self._in_passes, self._entropy = tuning is not None, Pooled()
        self.study, self.recipe, self.exam, self.crew = study, recipe, exam, crew
        self.progress: list[dict[str, Any]] = []
        self._rows: list[dict[str, Any]] = []
        self._batch: Batch | None = None
        with _sampler.engines():
            super().__init__(
                model=model,
                reward_funcs=[paid],
                args=config,
                train_dataset=Dataset.from_list(places(study, recipe)),
                processing_class=words,
                rollout_func=_play,
                callbacks=[Enough(enough), Opening(self.examine)],
                peft_config=adapter(way) if way.method == "lora" else None,
            )
        if self.mask_truncated_completions:
            raise ValueError("episodes that use up their budget must stay in the loss")
        if self.accelerator.num_processes != crew.size:
            raise ValueError(
                f"{self.accelerator.num_processes} processes train one policy that know of "
                f"{crew.size}; each would draw its own episodes and its own critic"
            )
        if self.is_fsdp_enabled:
            _shards.precise(self.accelerator)
        plain: Any = self.accelerator.unwrap_model(self.model)
        self.policy = _sampler.policy(self, words) if self.use_vllm else Policy(plain, words)
        self.reference = Reference(plain, self.ref_model, recipe.reference, way, self.accelerator)
        credit = study.algorithm.credit
        self.value: Any = None
        if isinstance(credit, Critic):
            device = self.accelerator.device
            self.value = credit.start(credit, base, recipe.micro, device, crew, way)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Let TRL score the batch, then replace its advantages by ours."""
        self._rows = inputs
        output = super()._generate_and_score_completions(inputs)
        batch = self._batch
        assert batch is not None, "TRL calls rollout_func in the method above"
        said_BC = (output["completion_mask"] * output["tool_mask"]).bool()
        complete(batch, said_BC.sum(1).tolist())
        if self.value is None:
            spread_BC = spread(batch, output["completion_ids"].size(1))
        else:
            spread_BC = self._criticise(output, batch)
        credit_BC = torch.from_numpy(spread_BC.astype(np.float32)).to(said_BC.device)
        output["advantages"] = credit_BC
        unmoved = (
            self._all(credit_BC[said_BC] == 0).float().mean().item()
        )  # NaN if nothing was said
        self._note({"zero_advantage_share": unmoved, "kl": self._divergence(output, said_BC)})
        if self.use_vllm:
            self._note(_sampler.agreement(output, said_BC, self._all))
        return output

    def _all(self, tensor: Any) -> Any:
        """Join the vectors of all processes."""
        return torch.from_numpy(np.concatenate(self.crew.gather([tensor.cpu().numpy()])))

    def _criticise(self, output: dict[str, Any], batch: Batch) -> Any:
        """Let the critic give the credit and learn; at first it learns alone."""
        seen = Tokens(*whole(output), output["completion_ids"].size(1))
        try:
            spread_BC, curves = self.value.credit(seen, batch.episodes, batch.rewards)
        except FloatingPointError as error:
            self._dump(output, f"{error}. Lower the options learning_rate or clip of the arm")
        self._note(curves)
        if self.state.global_step < self.value.settings.warmup:
            return np.zeros_like(spread_BC)
        return spread_BC

    @torch.no_grad()
    def _divergence(self, output: dict[str, Any], said_BC: Any) -> float:
        """Estimate the divergence from base on some episodes, nats per sampled token."""
        if not self.reference.kept:
            return float("nan")
        ids, mask = (each[::SPARSE] for each in whole(output))
        keep, said = output["completion_ids"].size(1), said_BC[::SPARSE]

        def score(model: Any) -> Any:
            return self._get_per_token_logps_and_entropies(model, ids, mask, keep)[0][said].double()

        # both by one path, so that its rounding does not look like a divergence
        with self.reference.of(self.model) as model:
            base = score(model)
        return float(self._all(divergence(base, score(self.model))).mean())

    def play(self) -> dict[str, Any]:
        """Play one episode for each stashed row and hand it to TRL as tokens."""
        batch, step = self._played()
        self._batch = batch
        curves = monitor.measure(step, self.recipe.group)
        said = sum(episode.tokens for episode in step.episodes)
        self._note(curves | {"tokens_total": float(sampled(self.state.log_history) + said)})
        self._alarm(curves)
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
            "logprobs": _sampler.scores(batch, rows) if self.use_vllm else None,
            "payment": [None if paid is None else float(sum(paid)) for paid in batch.rewards],
        }

    def _played(self) -> tuple[Batch, Batch]:
        """Play the share of this process; return it, and with it what all others played."""
        tasks = [self.study.tasks[row["place"]] for row in self._rows]
        done = self.state.global_step
        with self._playing():
            own = practice.play(self.study, self.policy, tasks, done, self.recipe)
        if self.crew.size == 1:
            return own, own
        step = practice.join(self.study, self.crew.gather([own]), self.recipe.group)
        return replace(own, advantages=[*self.crew.share(step.advantages)]), step

    @contextmanager
    def _playing(self) -> Iterator[None]:
        """Let the policy play as the weights are now, in the number format of the training."""
        if self.use_vllm:
            _sampler.refresh(self)
            yield
            return
        with self.accelerator.autocast(), _shards.gathered(self.policy.model):
            yield

    def _alarm(self, curves: dict[str, float]) -> None:
        """Note whether the run has collapsed, and warn of it when it does."""
        history = self.state.log_history
        why = monitor.collapse(
            {name: [*curve(history, name), curves[name]] for name in monitor.WATCHED}
        )
        if why and not any(curve(history, "collapse")[-1:]) and self.crew.rank == 0:
            log.warning("step %d: this run has collapsed: %s", self.state.global_step, why)
        self._note({"collapse": float(why is not None)})

    def _note(self, curves: dict[str, float]) -> None:
        for name, value in curves.items():
            self._metrics["train"][OURS + name].append(value)

    def _get_per_token_logps_and_entropies(  # type: ignore[override]
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, **options: Any
    ) -> tuple[Any, Any, Any]:
        """Score episodes of similar length together, see `scored`."""
        micro, usual = self.recipe.micro, super()._get_per_token_logps_and_entropies
        few = micro is None or len(input_ids) <= micro
        if micro is None or (few and not self._in_passes):
            return usual(model, input_ids, attention_mask, logits_to_keep, **options)
        options.pop("batch_size", None)
        options = {name: value for name, value in options.items() if value is not None}

        def score(ids: Any, mask: Any, keep: int) -> tuple[Any, Any]:
            return usual(model, ids, mask, keep, **options)[:2]

        return *scored(score, input_ids, attention_mask, logits_to_keep, micro), None

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        """Let TRL compute the loss of a pass, and average the entropy over tokens, not passes."""
        loss = super()._compute_loss(model, inputs)
        if self._in_passes:
            said = int((inputs["completion_mask"] * inputs["tool_mask"]).sum())
            self._entropy.pool(self._metrics["train"]["entropy"], sum(self.crew.gather([said])))
        return loss

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """Take a step, unless its loss or a gradient is not finite: then say so and stop."""
        loss = super().training_step(model, inputs, num_items_in_batch)
        if torch.isfinite(torch.stack([loss, *_shards.norms(model)])).all():
            return loss
        what = "a gradient is not finite" if torch.isfinite(loss) else f"the loss is {float(loss)}"
        advice = "Lower training.learning_rate or training.gradient_norm"
        batches: Any = self._buffered_inputs
        self._dump(batches[(self._step - 1) % len(batches)], f"{what}. {advice}")

    def _dump(self, tensors: dict[str, Any], what: str) -> NoReturn:
        """Write down the batch that broke the training, and stop."""
        step, rank = self.state.global_step, self.crew.rank if self.crew.size > 1 else None
        folder = Path(self.args.output_dir or ".") / f"broken-step-{step}"
        dump(folder, tensors, self._batch.episodes if self._batch else [], rank)
        raise FloatingPointError(
            f"step {step}: {what}. The batch is in {folder}; under the same options, checkpoints "
            "before it are gone on from"
        )

    def examine(self) -> None:
        """Evaluate the policy as it is now, if there is an exam."""
        if self.exam is not None:
            with self._playing():
                rows = progress.examine(self.study, self.exam, self.policy, self.crew)
            self.progress += [{"step": self.state.global_step, **row} for row in rows]

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Keep all that a resumed run needs, and mark the checkpoint as complete last."""
        self.examine()
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()  # each writes a part
        if self.crew.rank:
            return
        folder = Path(self.args.output_dir or ".") / f"checkpoint-{self.state.global_step}"
        (folder / PROGRESS).write_text(json.dumps(self.progress))
        if self.value is not None:
            self.value.save(folder)
        checkpoints.finish(folder)

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self.progress = json.loads((Path(checkpoint) / PROGRESS).read_text())
            if self.value is not None:
                self.value.load(Path(checkpoint))


def _play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """Answer TRL's call for a batch of rollouts."""
    if len(prompts) != len(trainer._rows):
        raise ValueError(f"TRL asked for {len(prompts)} rollouts of {len(trainer._rows)} rows")
    return trainer.play()


def paid(payment: list[float | None], **_: Any) -> list[float | None]:
    """Report to TRL what was paid; it is logged, while the loss uses our advantages."""
    return payment
