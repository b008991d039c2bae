"""GRPO's machinery with our episodes and our credit: where TRL is touched."""

import copy
import json
import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is pinned and tested here

import numpy as np
import torch
from datasets import Dataset
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from turnscope import checkpoints, critic, monitor, padding, progress
from turnscope.algorithms._arm import Critic
from turnscope.policies.transformers import Policy
from turnscope.practice import Batch, Recipe, Study, order, play, tokens
from turnscope.progress import Exam
from turnscope.training._layout import complete, spread, whole
from turnscope.training._watch import OURS, Watch, sampled

log = logging.getLogger(__name__)

PROGRESS = "progress.json"
"""File in a checkpoint with the evaluations so far."""
SPARSE = 8
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
            callbacks=[Watch(enough)],
        )
        if self.mask_truncated_completions:
            raise ValueError("episodes that use up their budget must stay in the loss")
        plain: Any = self.accelerator.unwrap_model(self.model)
        self.policy = Policy(plain, words)
        copied: Any = self.ref_model or copy.deepcopy(plain)
        self.reference: Any = copied.eval().requires_grad_(False)
        self.value = (
            critic.Value(study.algorithm.credit, base, recipe.micro, plain.device)
            if isinstance(study.algorithm.credit, Critic)
            else None
        )

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
        self._note({"zero_advantage_share": unmoved, "kl": self._divergence(output, batch)})
        return output

    def _criticise(self, output: dict[str, Any], batch: Batch) -> Any:
        """Let the critic give the credit and learn; at first it learns alone."""
        assert self.value is not None
        seen = critic.Tokens(*whole(output), output["completion_ids"].size(1))
        spread_BC, curves = self.value.credit(seen, batch.episodes, batch.rewards)
        self._note(curves)
        if self.state.global_step < self.value.settings.warmup:
            return np.zeros_like(spread_BC)
        return spread_BC

    @torch.no_grad()
    def _divergence(self, output: dict[str, Any], batch: Batch) -> float:
        """Estimate the divergence from base on some episodes, nats per sampled token.

        Source:
            Schulman 2020, "Approximating KL divergence", the estimator k3.
        """
        ids, mask = whole(output)
        keep = output["completion_ids"].size(1)
        rows = range(0, len(ids), SPARSE)
        scores, _, _ = self._get_per_token_logps_and_entropies(
            self.reference, ids[::SPARSE], mask[::SPARSE], keep
        )
        ratios = []
        for place, row in enumerate(rows):
            if batch.rewards[row] is None:
                continue
            own = [score for turn in batch.episodes[row].turns for score in turn.logprobs]
            said = (output["completion_mask"][row] * output["tool_mask"][row]).bool()
            ratios += (scores[place][said].double().cpu().numpy() - np.array(own)).tolist()
        ratio = np.array(ratios)
        return float(np.mean(np.exp(ratio) - ratio - 1)) if ratios else float("nan")

    def play(self) -> dict[str, Any]:
        """Play one episode for each stashed row and hand it to TRL as tokens."""
        tasks = [self.study.tasks[row["place"]] for row in self._rows]
        batch = play(self.study, self.policy, tasks, self.state.global_step, self.recipe)
        self._batch = batch
        curves = monitor.measure(batch, self.recipe.group)
        said = sum(len(turn.action_ids) for one in batch.episodes for turn in one.turns)
        self._note(curves | {"tokens_total": float(sampled(self.state.log_history) + said)})
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
        if not (torch.isfinite(loss) and torch.isfinite(torch.stack(slopes)).all()):
            self._dump(float(loss))
        return loss

    def _dump(self, loss: float) -> None:
        """Write down the batch that broke the training.

        Raises:
            FloatingPointError: Always.
        """
        step = self.state.global_step
        folder = Path(self.args.output_dir or ".") / f"broken-step-{step}"
        folder.mkdir(parents=True, exist_ok=True)
        batch: Any = self._buffered_inputs
        torch.save([dict(part) for part in batch], folder / "batch.pt")
        episodes = [asdict(one) for one in self._batch.episodes] if self._batch else []
        (folder / "episodes.json").write_text(json.dumps(episodes))
        what = "a gradient" if np.isfinite(loss) else f"the loss is {loss}, which"
        raise FloatingPointError(
            f"step {step}: {what} is not finite; its batch is in {folder}, and earlier checkpoints "
            "are kept. Lower training.learning_rate or training.gradient_norm"
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
