"""Act well now and then: the teacher from which base policies are trained."""

from collections.abc import Sequence

from turnscope import draws, registry
from turnscope.policies._rule import Rule
from turnscope.types import Seat


class Policy:
    """Act with a skill that is drawn for each episode.

    Args:
        env: Environment that is played; its module must give `expert`.
        skill: That skill, or its lowest and highest value, see `turnscope.environments`.
    """

    def __init__(self, *, env: str, skill: float | Sequence[float]):
        module = registry.load("environments", env)
        if not hasattr(module, "expert"):
            raise ValueError(f"environment {env!r} gives no `expert`")
        ends = [skill, skill] if isinstance(skill, int | float) else list(skill)
        if len(ends) != 2 or not 0 <= ends[0] <= ends[1] <= 1:
            raise ValueError(f"skill is {skill}; legal is a number or [low, high] within 0 to 1")
        self._expert = module.expert
        self._low, self._high = ends

    def begin(self, seats: Sequence[Seat]) -> Rule:
        """Start at each seat; the draws are named by its `policy_seed` and the turn."""
        keys = [draws.seed("expert", seat.policy_seed) for seat in seats]
        width = self._high - self._low
        skills = [
            self._low + width * draws.uniform(draws.seed("skill", seat.policy_seed), 0)
            for seat in seats
        ]

        def choose(row: int, turn: int) -> str:
            seat = seats[row]
            return self._expert(seat.environment, keys[row], turn, skills[row], seat.turns_left)

        return Rule(seats, choose)
