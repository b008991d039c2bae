"""GRPO's machinery with our episodes and our credit: where TRL is touched."""

import copy
import json
import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is pinned and tested here

import numpy as np
import torch
from datasets import Dataset
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from turnscope import checkpoints, monitor, padding, progress
from turnscope.critic import Critic, Tokens
from turnscope.policies.transformers import Policy
from turnscope.practice import Batch, Recipe, Study, order, play, tokens
from turnscope.progress import Exam
from turnscope.training._history import OURS, Enough, curve, sampled
from turnscope.training._layout import complete, spread, whole

log = logging.getLogger(__name__)

PROGRESS = "progress.json"
"""File in a checkpoint with the evaluations so far."""
SPARSE = 16
"""One in so many episodes is scored by the base policy, to watch the divergence from it."""


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
    ):
        self.study, self.recipe, self.exam = study, recipe, exam
        self.progress: list[dict[str, Any]] = []
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
            callbacks=[Enough(enough)],
        )
        if self.mask_truncated_completions:
            raise ValueError("episodes that use up their budget must stay in the loss")
        if self.accelerator.num_processes > 1:
            raise ValueError(
                f"{self.accelerator.num_processes} processes train one policy; legal is 1: each "
                "would draw its own episodes and its own critic"
            )
        plain: Any = self.accelerator.unwrap_model(self.model)
        self.policy = Policy(plain, words)
        self.reference: Any = self.ref_model
        if recipe.reference and self.reference is None:
            self.reference = copy.deepcopy(plain).eval().requires_grad_(False)
        credit = study.algorithm.credit
        self.value: Any = None
        if isinstance(credit, Critic):
            self.value = credit.start(credit, base, recipe.micro, plain.device)

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
        unmoved = (credit_BC[said_BC] == 0).float().mean().item()  # NaN if nothing was said
        self._note({"zero_advantage_share": unmoved, "kl": self._divergence(output, said_BC)})
        return output

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
        """Estimate the divergence from base on some episodes, nats per sampled token.

        Source:
            Schulman 2020, "Approximating KL divergence", the estimator k3.
        """
        if self.reference is None:
            return float("nan")
        ids, mask = (each[::SPARSE] for each in whole(output))
        keep, said = output["completion_ids"].size(1), said_BC[::SPARSE]
        # both by one path, so that its rounding does not look like a divergence
        base, own = (
            self._get_per_token_logps_and_entropies(model, ids, mask, keep)[0][said].double()
            for model in (self.reference, self.model)
        )
        ratio = base - own
        return float((ratio.exp() - ratio - 1).mean())

    def play(self) -> dict[str, Any]:
        """Play one episode for each stashed row and hand it to TRL as tokens."""
        tasks = [self.study.tasks[row["place"]] for row in self._rows]
        batch = play(self.study, self.policy, tasks, self.state.global_step, self.recipe)
        self._batch = batch
        curves = monitor.measure(batch, self.recipe.group)
        said = sum(episode.tokens for episode in batch.episodes)
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
            "logprobs": None,
            "payment": [None if paid is None else float(sum(paid)) for paid in batch.rewards],
        }

    def _alarm(self, curves: dict[str, float]) -> None:
        """Note whether the run has collapsed, and warn of it when it does."""
        history = self.state.log_history
        why = monitor.collapse(
            {name: [*curve(history, name), curves[name]] for name in monitor.WATCHED}
        )
        if why and not any(curve(history, "collapse")[-1:]):
            log.warning("step %d: this run has collapsed: %s", self.state.global_step, why)
        self._note({"collapse": float(why is not None)})

    def _note(self, curves: dict[str, float]) -> None:
        for name, value in curves.items():
            self._metrics["train"][OURS + name].append(value)

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
        found, places = [], []
        for rows, left, right in padding.parts(attention_mask, self.recipe.micro):
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
            found.append((pad(scores, fill), None if entropies is None else pad(entropies, fill)))
            places.append(rows)
        back = torch.argsort(torch.cat(places))
        scores = torch.cat([part[0] for part in found])[back]
        if found[0][1] is None:
            return scores, None, None
        return scores, torch.cat([part[1] for part in found])[back], None

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """Take a step, unless its loss or a gradient is not finite: then say so and stop."""
        loss = super().training_step(model, inputs, num_items_in_batch)
        slopes = [one.grad.norm() for one in model.parameters() if one.grad is not None]
        if torch.isfinite(torch.stack([loss, *slopes])).all():
            return loss
        what = "a gradient is not finite" if torch.isfinite(loss) else f"the loss is {float(loss)}"
        advice = "Lower training.learning_rate or training.gradient_norm"
        batch: Any = self._buffered_inputs
        self._dump(batch[0], f"{what}. {advice}")

    def _dump(self, tensors: dict[str, Any], what: str) -> NoReturn:
        """Write down the batch that broke the training.

        Raises:
            FloatingPointError: Always.
        """
        step = self.state.global_step
        folder = Path(self.args.output_dir or ".") / f"broken-step-{step}"
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(dict(tensors), folder / "batch.pt")
        episodes = [asdict(one) for one in self._batch.episodes] if self._batch else []
        (folder / "episodes.json").write_text(json.dumps(episodes))
        raise FloatingPointError(
            f"step {step}: {what}. The batch is in {folder}; under the same options, checkpoints "
            "before it are gone on from"
        )

    def examine(self) -> None:
        """Evaluate the policy as it is now, if there is an exam."""
        if self.exam is not None:
            rows = progress.examine(self.study, self.exam, self.policy)
            self.progress += [{"step": self.state.global_step, **row} for row in rows]

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Keep all that a resumed run needs, and mark the checkpoint as complete last."""
        self.examine()
        super()._save_checkpoint(model, trial)
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
