"""The base policy beside the one that is trained, to watch how far that has gone."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trl.models.utils import prepare_fsdp

from turnscope.tuning import Tuning


class Reference:
    """The base policy, as long as it is wanted.

    Args:
        model: The policy before its first step.
        given: A base policy that TRL keeps for its loss; None where it keeps none.
        wanted: Whether the divergence is to be logged.
        tuning: How the policy is trained; with an adapter, base is the policy without it, and
            costs no memory.
        accelerator: Divides base among processes as the policy is divided.
    """

    def __init__(self, model: Any, given: Any, wanted: bool, tuning: Tuning, accelerator: Any):
        self._adapted = tuning.method == "lora"
        self._model = given
        if wanted and given is None and not self._adapted:
            self._model = copy.deepcopy(model).eval().requires_grad_(False)
            if tuning.sharding != "none":
                self._model = prepare_fsdp(self._model, accelerator)
        self.kept = wanted or given is not None

    @contextmanager
    def of(self, model: Any) -> Iterator[Any]:
        """Yield the base policy of a policy, which must not be used meanwhile."""
        if not self._adapted:
            yield self._model
            return
        with model.disable_adapter():
            yield model


def divergence(base_N: Any, own_N: Any) -> Any:
    """Estimate the divergence from base at each token, nats.

    Args:
        base_N: Log-probabilities of N sampled tokens under the base policy.
        own_N: The same under the policy.

    Source:
        Schulman 2020, "Approximating KL divergence", the estimator k3.
    """
    ratio_N = base_N - own_N
    return ratio_N.exp() - ratio_N - 1
