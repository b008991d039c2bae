"""A vLLM that runs in a process of its own, perhaps on another machine: turns over HTTP."""

import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request as Call
from urllib.request import urlopen

SIDE_BY_SIDE = 256
"""Turns that are asked for at once; the server lets others wait."""
PATIENCE = 3600.0
"""Seconds until a turn that does not come is a failure."""


class Request(NamedTuple):
    """One turn to be said."""

    tokens: list[int]
    """The episode so far."""
    seed: int
    limit: int
    """Most tokens."""


class Said(NamedTuple):
    """What was said in one turn."""

    ids: list[int]
    logprobs: list[float]
    """Of each token at temperature 1."""


class Served:
    """A server that `vllm serve` started.

    Each turn is a call of its own, because a call has one seed for all its prompts.

    Args:
        url: Where it listens, such as `http://node3:8000`.

    Raises:
        ValueError: Nothing answers there.
    """

    def __init__(self, url: str):
        self.url = url.rstrip("/")
        model = self._call("/v1/models")["data"][0]
        self.name, self.longest = model["id"], model["max_model_len"]

    def say(self, requests: Sequence[Request], temperature: float, end: int) -> list[Said]:
        """Sample turns; nothing but token `end` or its limit ends one.

        Raises:
            ValueError: The server refused one, or is gone.
        """
        # what the server would take from a model's own generation config is spelt out
        common: dict[str, Any] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
        common |= {"model": self.name, "temperature": temperature, "stop_token_ids": [end]}
        common |= {"ignore_eos": True, "logprobs": 0, "return_token_ids": True}

        def one(request: Request) -> Said:
            tokens, seed, limit = request
            asked = {"prompt": tokens, "seed": seed, "max_tokens": limit}
            (choice,) = self._call("/v1/completions", common | asked)["choices"]
            return Said(choice["token_ids"], _finite(choice["logprobs"]["token_logprobs"]))

        with ThreadPoolExecutor(min(SIDE_BY_SIDE, len(requests))) as pool:
            return list(pool.map(one, requests))

    def _call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        call = Call(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urlopen(call, timeout=PATIENCE) as answer:
                return json.load(answer)
        except HTTPError as error:
            what = f"answers {error.code}: {error.read().decode(errors='replace')[:300]}"
        except (URLError, OSError) as error:
            what = f"does not answer: {error}"
        raise ValueError(f"the vLLM server at {self.url} {what}")


def _finite(logprobs: list[float | None]) -> list[float]:
    """Read log-probabilities; JSON has no NaN and no infinity, and -9999 stands for minus that."""
    return [math.nan if one is None or one <= -9999 else one for one in logprobs]
