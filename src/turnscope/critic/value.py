"""The value function of an actor-critic arm: a network and an optimiser of its own.

It starts from the base policy and shares nothing with the policy that is trained, so the folder of
a trained policy, which samplers load, holds no value head.

Source:
    Separate critic of the policy's architecture, values before each token: verl's and RAGEN's PPO.
    Differs: the head starts at 0, so that the first advantages are Monte-Carlo returns; the value
    loss is averaged over predicted steps of the whole batch.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoModel

from turnscope import padding
from turnscope.advantages import Float, Int
from turnscope.advantages.gae import gae, spread, token_rewards, whiten
from turnscope.crew import ALONE, Crew
from turnscope.critic import Critic, Tokens
from turnscope.tuning import Tuning, adapter
from turnscope.types import Episode

FILE = "critic.pt"


class Steps(NamedTuple):
    """Where values are predicted: the steps of all episodes, in order."""

    row_M: Int
    column_M: Int
    """Column of the completion, from 0, before whose token the value stands."""
    reward_M: Float
    tokens_M: Int
    """Tokens that get the advantage of the step; they follow each other."""


class Value:
    """Predicts what an episode will still earn.

    Args:
        settings: See `turnscope.critic.Critic`.
        base: Folder of the base policy.
        micro: Episodes in a forward pass; None is all.
        device: Where to compute.
        crew: The processes that learn together; each holds a copy of the network.
        tuning: Where the policy learns through an adapter, so does the critic, through one of its
            own at a frozen body of its own.
    """

    def __init__(
        self,
        settings: Critic,
        base: Path,
        micro: int | None,
        device: Any,
        crew: Crew = ALONE,
        tuning: Tuning | None = None,
    ):
        self.settings, self.micro, self.crew = settings, micro, crew
        body = _body(base, tuning)
        head = torch.nn.Linear(body.config.hidden_size, 1)
        torch.nn.init.zeros_(head.weight)
        torch.nn.init.zeros_(head.bias)
        self.network = torch.nn.ModuleDict({"body": body, "head": head}).to(device)
        self._learning = [one for one in self.network.parameters() if one.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self._learning, lr=settings.learning_rate, weight_decay=0.0
        )

    def credit(
        self, tokens: Tokens, episodes: Sequence[Episode], rewards: Sequence[list[float] | None]
    ) -> tuple[Float, dict[str, float]]:
        """Value a batch, compute its advantages, and learn from its returns.

        Args:
            tokens: The batch, or this process's share of it.
            episodes: Its episodes, one a row.
            rewards: Payment of each turn of each episode; None where the environment failed.

        Returns:
            Advantages of the completions' tokens, shape (B, keep), 0 where nothing is credited;
            and `critic_loss` and `explained_variance`.
        """
        steps = lay(episodes, rewards, self.settings.level)
        credit_BC = np.zeros((len(episodes), tokens.keep))
        if not sum(self.crew.gather([len(steps.reward_M)])):
            return credit_BC, {"critic_loss": float("nan"), "explained_variance": float("nan")}
        with torch.no_grad():
            value_M = self._values(tokens, steps).double().cpu().numpy()
        advantage_M, target_M = gae(
            steps.reward_M,
            value_M,
            steps.row_M,
            discount=self.settings.discount,
            trace=self.settings.trace,
        )
        loss = self._learn(tokens, steps, value_M, target_M)
        places = spread(steps.row_M, steps.tokens_M), _columns(steps.column_M, steps.tokens_M)
        credit_BC[places] = self._white(spread(advantage_M, steps.tokens_M))
        target_all, value_all = (
            np.concatenate(self.crew.gather([one])) for one in (target_M, value_M)
        )
        spread_of_returns = target_all.var()
        explained = (
            1 - (target_all - value_all).var() / spread_of_returns
            if spread_of_returns > 0
            else float("nan")
        )
        return credit_BC, {"critic_loss": loss, "explained_variance": float(explained)}

    def _white(self, advantage_M: Float) -> Float:
        """Whiten the advantages of this process among those of all."""
        parts = self.crew.gather([advantage_M])
        start = sum(map(len, parts[: self.crew.rank]))
        return whiten(np.concatenate(parts))[start : start + len(advantage_M)]

    def _values(self, tokens: Tokens, steps: Steps) -> Any:
        """Predict the value of each step, shape (M,)."""
        value_BC = torch.zeros((len(tokens.ids_BL), tokens.keep), device=tokens.ids_BL.device)
        for part in padding.parts(tokens.mask_BL, self.micro):
            value_BC[part.rows] = self._part(tokens, part)
        return value_BC[steps.row_M, steps.column_M]

    def _part(self, tokens: Tokens, part: padding.Part) -> Any:
        """Predict a value before each token of some completions, shape (rows, keep)."""
        cut = slice(part.left, part.right)
        device = tokens.ids_BL.device.type
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            hidden_RLD = self.network["body"](
                input_ids=tokens.ids_BL[part.rows, cut],
                attention_mask=tokens.mask_BL[part.rows, cut],
                use_cache=False,
            ).last_hidden_state
        value_RL = self.network["head"](hidden_RLD.float()).squeeze(-1)
        shown = part.right - (tokens.ids_BL.size(1) - tokens.keep)
        before_RC = value_RL[:, -shown - 1 : -1]  # the state before a token ends with the last one
        return torch.nn.functional.pad(before_RC, (0, tokens.keep - shown))

    def _learn(self, tokens: Tokens, steps: Steps, value_M: Float, target_M: Float) -> float:
        """Move the values towards the returns; return the loss before the first update.

        Raises:
            FloatingPointError: The loss or a gradient is not finite; no weight was changed by it.
        """
        device = tokens.ids_BL.device
        old_M = torch.tensor(value_M, dtype=torch.float32, device=device)
        goal_M = torch.tensor(target_M, dtype=torch.float32, device=device)
        row_M = torch.as_tensor(steps.row_M, device=device)
        column_M = torch.as_tensor(steps.column_M, device=device)
        count = sum(self.crew.gather([len(goal_M)]))
        losses = []
        for _ in range(self.settings.epochs):
            self.optimiser.zero_grad()
            total = 0.0
            for part in padding.parts(tokens.mask_BL, self.micro):
                chosen = torch.isin(row_M, part.rows)
                place = torch.zeros(len(tokens.ids_BL), dtype=torch.long, device=device)
                place[part.rows] = torch.arange(len(part.rows), device=device)
                new = self._part(tokens, part)[place[row_M[chosen]], column_M[chosen]]
                old, goal = old_M[chosen], goal_M[chosen]
                near = old + (new - old).clamp(-self.settings.clip, self.settings.clip)
                worst = torch.maximum((new - goal) ** 2, (near - goal) ** 2)
                loss = 0.5 * worst.sum() / count
                if len(goal):
                    loss.backward()
                total += float(loss.detach())
            total = sum(self.crew.gather([total]))
            self._add_up()
            slope = torch.nn.utils.clip_grad_norm_(self._learning, 1.0)
            if not (np.isfinite(total) and torch.isfinite(slope)):
                raise FloatingPointError(f"the critic's loss is {total}, its gradient {slope}")
            self.optimiser.step()
            losses.append(total)
        return losses[0]

    def _add_up(self) -> None:
        """Add the gradients of all processes, so that all take the same step."""
        if self.crew.size == 1:
            return
        for weight in self._learning:
            if weight.grad is None:  # this process had no step to learn from
                weight.grad = torch.zeros_like(weight)
            self.crew.add(weight.grad)

    def save(self, folder: Path) -> None:
        """Write the optimiser and what learns of the network beside a checkpoint of the policy."""
        frozen = {name for name, one in self.network.named_parameters() if not one.requires_grad}
        network = self.network.state_dict()
        content = {
            "network": {name: network[name] for name in network if name not in frozen},
            "optimiser": self.optimiser.state_dict(),
        }
        torch.save(content, folder / FILE)

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
        content = torch.load(folder / FILE, weights_only=True)
        self.network.load_state_dict(content["network"], strict=False)  # the rest never changed
        self.optimiser.load_state_dict(content["optimiser"])


def _body(base: Path, tuning: Tuning | None) -> Any:
    """Load the network of a policy without its last layer, with an adapter if one is to learn.

    On a GPU what its layers computed is not kept for the gradient but computed again.
    """
    lora = tuning is not None and tuning.method == "lora"
    body: Any = AutoModel.from_pretrained(base, dtype="auto" if lora else torch.float32)
    if torch.cuda.is_available():
        body.gradient_checkpointing_enable({"use_reentrant": False})
        body.train()  # in which alone it is done; there is no dropout
    if tuning is None or not lora:
        return body
    from peft import get_peft_model

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # the adapter starts as nothing whatever is drawn, but equal in all
        return get_peft_model(body, adapter(tuning))


def lay(episodes: Sequence[Episode], rewards: Sequence[list[float] | None], level: str) -> Steps:
    """List the steps of a batch: every sampled token, or every turn.

    Only what the policy said is a step; text of the environment lies between steps and takes no
    part in discounting.

    Args:
        episodes: One a row.
        rewards: Payment of each turn; None where the environment failed.
        level: `token` pays a turn at its last token; `turn` makes a turn one step.
    """
    pairs = zip(episodes, rewards, strict=True)
    scored = [(row, one, paid) for row, (one, paid) in enumerate(pairs) if paid is not None]
    spans = [(row, *span) for row, one, _ in scored for span in one.spans()]
    row_N, column_N, stop_N = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    tokens_N = stop_N - column_N
    reward_N = np.array([payment for _, _, paid in scored for payment in paid], dtype=np.float64)
    if level == "turn":
        return Steps(row_N, column_N, reward_N, tokens_N)
    return Steps(
        spread(row_N, tokens_N),
        _columns(column_N, tokens_N),
        token_rewards(reward_N, tokens_N),
        np.ones(int(tokens_N.sum()), dtype=np.int64),
    )


def _columns(column_N: Int, tokens_N: Int) -> Int:
    """Number the columns of all tokens of each step, given its first one."""
    first_N = np.cumsum(tokens_N) - tokens_N
    return spread(column_N - first_N, tokens_N) + np.arange(int(tokens_N.sum()))
