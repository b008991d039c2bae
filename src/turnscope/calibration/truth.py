"""What is true in a synthetic study of all lakes: no sampling, no estimates.

Shapes end in W (worlds), K, T.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from turnscope.calibration import players, scenarios
from turnscope.calibration.scenarios import Boost
from turnscope.calibration.worlds import Worlds

Floats = npt.NDArray[np.float64]

NODES = 5
"""Skills of base at which each lake is looked at."""


def pass_at_k(worlds: Worlds, boost: Boost, ks: Sequence[int]) -> Floats:
    """Compute Pass@(k,T) of a policy, shape (K, T).

    The mean over skills is that of a Gauss-Hermite rule, over lakes it is exact.

    Args:
        worlds: The lakes that tasks are drawn from.
        boost: What the policy adds to base's skill.
        ks: Values of k.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    total_KT = np.zeros((len(ks), worlds.t_max))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        known = np.clip(scenarios.MEAN + scenarios.SPREAD * node, scenarios.LEAST, scenarios.MOST)
        base_W = np.full(len(worlds.start_W), known)
        solved_WT = players.solved(worlds, scenarios.skill(base_W, boost, worlds.t_max))
        missed_KT = [((1 - solved_WT) ** k).mean(axis=0) for k in ks]
        total_KT += weight * (1 - np.stack(missed_KT))
    return total_KT


def boost_that_loses(worlds: Worlds, loss: float, k: int) -> float:
    """Return the boost, below 0, with which Pass@(k,T_max) is lower than base's by so much."""
    tried = -np.array([0.0, 1.0, 2.0, 3.0]) * loss
    reached = [float(pass_at_k(worlds, Boost(one), [k])[0, -1]) for one in tried]
    lost = reached[0] - np.array(reached)
    return float(np.polyval(np.polyfit(lost, tried, 3), loss))
