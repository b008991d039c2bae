"""Sampling with vLLM: the backend for models that need a GPU.

A turn is one request: the tokens of the episode so far in, the tokens of the action out. vLLM keeps
keys and values of what it has seen, so the history of an episode is looked up and not computed
again, and so are prompts that several episodes share.

Each request has a seed of its own, named by the episode and by how much the policy has said in it.
So an action depends neither on the batch nor on where a run was resumed, as far as rounding goes:
vLLM adds up in another order in another batch, and where two tokens were about to tie, the other
one may win.
"""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer

from turnscope import draws
from turnscope.chat import Renderer
from turnscope.policies import _seats
from turnscope.policies._served import Request, Said, Served
from turnscope.types import Action, Seat

VERSION = "0.31.0"
"""Of vLLM. Other versions draw other tokens from equal seeds, so it is part of the code."""
MISSING = (
    f"backend 'vllm' needs vLLM {VERSION}, which is not installed here: "
    f"pip install vllm=={VERSION}, or without a GPU make vllm"
)
SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # requests are scheduled alike in each run
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
}
"""Environment variables of vLLM, where they are not set."""
SHARE = 0.45
"""Of a GPU's memory for one policy: stages that compare two policies hold both."""
CACHE = 512 << 20
"""Bytes of keys and values on a CPU, unless VLLM_CPU_KVCACHE_SPACE says how many GiB."""
BLOCK = 32
"""Tokens that are looked up together on a CPU; vLLM's 128 are longer than many an episode."""
KEPT: list[Any] = []
"""Engines of this process: one that is collected takes down what vLLM shares between all."""
COLDEST, HOTTEST = 0.01, 2.0
"""Temperatures that vLLM samples at: it raises lower ones and refuses higher ones."""


class Policy:
    """A causal language model that talks to environments through vLLM.

    Args:
        model: A `vllm.LLM`, see `engine`, or a server that runs elsewhere, or the folder or hub
            name to load from.
        tokenizer: Its tokenizer; loaded from the same place by default.
        temperature: Divides the logits before sampling; stored log-probabilities ignore it.
        dtype: Number format of the weights when they are loaded here; None is as they are stored.
        revision: Commit of the hub repository when the model is loaded from a hub.
        chat: Keyword arguments of the chat template.

    Raises:
        ValueError: vLLM is not installed or has no such temperature, the chat template cannot be
            used, or a model comes without its tokenizer.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        temperature: float = 1.0,
        dtype: str | None = None,
        revision: str | None = None,
        chat: dict[str, Any] | None = None,
    ):
        if not COLDEST <= temperature <= HOTTEST:
            raise ValueError(
                f"temperature = {temperature}: must be from {COLDEST} to {HOTTEST} with vLLM"
            )
        if isinstance(model, str | Path):
            library()  # says what is missing before anything is loaded
            tokenizer = tokenizer or AutoTokenizer.from_pretrained(model, revision=revision)
            self.renderer = Renderer(tokenizer, **(chat or {}))
            self.model = engine(model, dtype=dtype, revision=revision)
        elif tokenizer is None:
            raise ValueError("tokenizer is None; an engine that is running needs the model's")
        else:
            self.renderer = Renderer(tokenizer, **(chat or {}))
            self.model = model
        self.temperature = temperature
        served = isinstance(self.model, Served)
        self.longest = self.model.longest if served else self.model.model_config.max_model_len

    def say(self, requests: Sequence[Request]) -> list[Said]:
        """Sample turns; nothing but the end of a turn or its limit ends one."""
        if isinstance(self.model, Served):
            return self.model.say(requests, self.temperature, self.renderer.end_id)
        params = [
            library().SamplingParams(
                temperature=self.temperature,
                seed=request.seed,
                max_tokens=request.limit,
                stop_token_ids=[self.renderer.end_id],
                ignore_eos=True,
                logprobs=0,
                detokenize=False,
            )
            for request in requests
        ]
        prompts = [{"prompt_token_ids": request.tokens} for request in requests]
        with torch.random.fork_rng(devices=[]):  # on a CPU, vLLM draws from there to no end
            answers = self.model.generate(prompts, params, use_tqdm=False)
        return [_said(answer.outputs[0]) for answer in answers]

    def begin(self, seats: Sequence[Seat]) -> "Conversation":
        """Start one conversation at each seat."""
        return Conversation(self, seats)


class Conversation:
    """One batch of running episodes."""

    def __init__(self, policy: Policy, seats: Sequence[Seat]):
        self._policy = policy
        self._seeds = [seat.policy_seed for seat in seats]
        self._counts = [_seats.said(seat) for seat in seats]
        self._tools = [_seats.tools(seat) for seat in seats]
        self._tokens = [_seats.tokens(seat) for seat in seats]

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action | None]:
        """Answer one observation at each of some seats; see `turnscope.types.Conversation`."""
        asked: dict[int, tuple[list[int], Request]] = {}
        limit_of = dict(zip(rows, limits, strict=True))
        for row, text in zip(rows, observations, strict=True):
            context = self._render(row, text)
            self._tokens[row] += context
            room = self._policy.longest - len(self._tokens[row])
            if room > 0:
                # seeds of vLLM are signed
                seed = draws.mix(self._seeds[row], self._counts[row]) >> 1
                asked[row] = context, Request(self._tokens[row], seed, min(limit_of[row], room))
        answers = self._policy.say([request for _, request in asked.values()]) if asked else []
        actions = {
            row: self._take(row, context, said, limit_of[row])
            for (row, (context, _)), said in zip(asked.items(), answers, strict=True)
        }
        return [actions.get(row) for row in rows]

    def _render(self, row: int, observation: str) -> list[int]:
        renderer, before = self._policy.renderer, self._tokens[row]
        if not before:
            return list(renderer.first(observation, self._tools[row]))
        return list(renderer.reply(observation, before[-1] == renderer.end_id))

    def _take(self, row: int, context: list[int], said: Said, limit: int) -> Action | None:
        """Note what was said; a turn that the context's end cut is none."""
        ids, scores = said
        if not all(map(math.isfinite, scores)):
            raise ValueError("the model's log-probabilities are not finite: its weights diverged")
        self._tokens[row] += ids
        self._counts[row] += len(ids)
        if len(ids) < limit and ids[-1] != self._policy.renderer.end_id:
            return None
        return Action(self._policy.renderer.text(ids), context, ids, scores)


def _said(output: Any) -> Said:
    """Read what vLLM returns of one turn."""
    ids = list(output.token_ids)
    return Said(ids, [at[one].logprob for at, one in zip(output.logprobs, ids, strict=True)])


def engine(
    model: str | Path, *, dtype: str | None = None, revision: str | None = None, **more: Any
) -> Any:
    """Load a model into vLLM, in this process.

    Args:
        model: A folder or hub name.
        dtype: Number format; None is that of the weights, which vLLM itself would round.
        revision: Commit of the hub repository.
        more: Further keyword arguments of `vllm.LLM`.

    Raises:
        ValueError: vLLM is not installed.
    """
    LLM = library().LLM
    from vllm.platforms import current_platform  # pyright: ignore[reportMissingImports]

    if current_platform.is_cpu():
        # A prompt in two parts is fatal there: a token is drawn after the first part as well, and
        # vLLM winds its seeded generator back, which only those of GPUs can do.
        here: dict[str, Any] = {"enable_chunked_prefill": False}
        here |= {"enforce_eager": True, "block_size": BLOCK}
        torch.compiler.set_stance("force_eager")  # no small function is worth a C++ compiler
        if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            here["kv_cache_memory_bytes"] = CACHE
    else:
        here = {"gpu_memory_utilization": SHARE}
    if dtype is None:
        stored = getattr(AutoConfig.from_pretrained(model, revision=revision), "dtype", None)
        dtype = str(stored).removeprefix("torch.") if stored else "auto"
    fixed = {
        "dtype": dtype,
        "revision": revision,
        "skip_tokenizer_init": True,
        "enable_prefix_caching": True,
        "logprobs_mode": "raw_logprobs",
        "generation_config": "vllm",  # nothing but what a request says
    }
    with torch.random.fork_rng(devices=[]):  # vLLM seeds it when it starts
        KEPT.append(LLM(model=str(model), **(fixed | here | more)))
    return KEPT[-1]


def library() -> ModuleType:
    """Import vLLM, which takes seconds.

    Raises:
        ValueError: It is not installed.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import vllm as module  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as missing:
        if missing.name != "vllm":
            raise
        raise ValueError(MISSING) from None
    return module
