"""Answer questions about databases by SQL, over several turns (InterCode-SQL).

Source:
    Yang et al. 2023, "InterCode: Standardizing and Benchmarking Interactive Coding with Execution
    Feedback", arXiv:2306.14898; the questions and databases are those of Spider, Yu et al. 2018,
    arXiv:1809.08887, or small shops that are made here, see `shop_queries`. Differs: nothing that a
    policy says changes a database, a result is right if it holds the rows that are asked for (the
    published reward is an option), and there is no `skip`.

Observation:
    First the question, then the result of each statement. View `terse` has blanks between values
    and no instructions, for small models; `full` is for large ones.

Action:
    One SQL statement, in the last block of three backticks or as all of the text; or, under
    protocol `submit`, the word `submit`.

Reward:
    1 at the turn of success; or, with `reward: intercode`, the published reward of what is
    submitted.

Termination:
    Protocol `submit`: at `submit`, which submits the last result. Protocol `auto`: at the first
    right result, for each is judged as if it were submitted, and the reply tells its reward.

Randomness:
    None.

Graded:
    At the turn that ends the episode.

Options:
    See `tasks` and `Environment`.
"""

from typing import Any

from turnscope import legal
from turnscope.environments.intercode_sql import expert as novice
from turnscope.environments.intercode_sql import (
    grading,
    results,
    shop_queries,
    shops,
    sources,
    views,
)
from turnscope.environments.intercode_sql.backends import Result
from turnscope.environments.intercode_sql.exercise import ERROR, Verdict, exercise, judge
from turnscope.environments.intercode_sql.grading import (
    ERRORS,
    IMMEDIATE,
    errors,
    mistakes,
    step_quality,
)
from turnscope.environments.intercode_sql.sources import downloads, tasks
from turnscope.types import Step, Task

__all__ = [
    "ERRORS",
    "EXAMPLE",
    "FETCHED",
    "IMMEDIATE",
    "Environment",
    "bound",
    "downloads",
    "errors",
    "expert",
    "facts",
    "gold",
    "least_turns",
    "mistakes",
    "step_quality",
    "tasks",
    "words",
]

FETCHED = ("spider",)
"""Sources of tasks for which `downloads` may name something."""

EXAMPLE: dict[str, Any] = {"train": 30, "test": 90, "names": 1}
REWARDS = ("success", "intercode")


class Environment:
    """A question and its database, see the module.

    Args:
        view: `terse` or `full`.
        reward: `success` or `intercode`.
        schema: Whether tables and columns are told with the question.
        rows: Most rows of a result that are shown, >= 1.
        cut: Most characters of a reply, >= 1.
        penalty: Taken off at a turn whose statement does not run, >= 0.
    """

    def __init__(
        self,
        *,
        view: str = "terse",
        reward: str = "success",
        schema: bool = False,
        rows: int = 10,
        cut: int = 1000,
        penalty: float = 0.0,
    ):
        for name, value, known in (("view", view, views.VIEWS), ("reward", reward, REWARDS)):
            legal.one_of(name, value, known)
        for name, least, value in (("rows", 1, rows), ("cut", 1, cut), ("penalty", 0, penalty)):
            legal.at_least(name, value, least)
        self._view, self._reward, self._schema = view, reward, schema
        self._rows, self._cut, self._penalty = rows, cut, penalty
        self._session: Any = None

    def reset(self, task: Task, seed: int) -> str:
        """Ask the question."""
        self.close()
        self.asked = exercise(task)
        self.tried: list[tuple[str, Verdict]] = []
        self._last: Verdict | None = None
        self._found = Result()
        self._session = self.asked.backend.begin(self.asked.database)
        self._database = self.asked.database
        told = sources.schema(self._session) if self._schema else ()
        return views.first(self.asked.question, self._view, self.asked.protocol, told)

    def step(self, action: str) -> Step:
        """Run a statement, or submit the last result.

        Raises:
            RuntimeError: No episode is running.
            OSError: The server is gone.
        """
        if self._session is None:
            raise RuntimeError("no question is asked; call reset first")
        by_hand = self.asked.protocol == views.SUBMIT
        if by_hand and views.is_submit(action):
            return self._end()
        text = views.statement_in(action)
        self._found = self._session.run(text)
        self._last = judge(self.asked, self._found)
        self._database = self._session.database
        self.tried.append((text, self._last))
        if not by_hand and self._last.right:
            return self._end()
        valid = self._last.kind != ERROR
        said = views.reply(self._found, self._view, self._rows, self._cut)
        if not by_hand:
            said += f"{views.BREAK[self._view]}reward {self._published():g}"
        return Step(said, 0.0 if valid else 0.0 - self._penalty, False, valid=valid)

    def _published(self) -> float:
        # There are columns where there is a result, even if it has no row.
        rows = self._found.rows if self._found.columns else None
        return results.intercode_reward(rows, self.asked.found.rows)

    def _end(self) -> Step:
        right = self._last is not None and self._last.right
        paid = float(right) if self._reward == "success" else self._published()
        said = views.RIGHT if right else views.WRONG if self._last else views.NOTHING
        self.close()
        return Step(said, paid, True, right)

    def state_key(self) -> str:
        """Name the last result; within a task all else is always the same."""
        return grading.key_of(self._last, self._database)

    def reseed(self, seed: int) -> None:
        """Do nothing: there is no noise."""

    def close(self) -> None:
        """End the episode."""
        if self._session is not None:
            self._session.close()
            self._session = None


def least_turns(*, train: int, test: int, **options: Any) -> int:
    """Return 2, a query and `submit`, or 1 where results are judged without.

    Raises:
        ValueError: An option of `tasks` is out of range.
    """
    return sources.least(sources.Options(train=train, test=test, **options).protocol)


def words() -> list[str]:
    """List simple statements for shops whose names are the first of each list."""
    table, called = shops.TABLES[0], {holds: holds for holds in shops.COLUMNS}
    asked = [
        query
        for query in shop_queries.queries()
        if query.check == "kind" and (query.form, query.of) in (("names", ""), ("lowest", "price"))
    ]
    return [novice.LOOK, *(shop_queries.render(one, table, called) for one in asked), views.SUBMIT]


def gold(task: Task, seed: int) -> list[str]:
    """Return the query, and `submit` where it is needed."""
    asked = exercise(task)
    return [asked.gold, views.SUBMIT][: sources.least(asked.protocol)]


def expert(environment: Environment, seed: int, turn: int, skill: float, turns_left: int) -> str:
    """Look up names or guess them, ask near the right query, and submit, see `expert.say`.

    Args:
        environment: A running episode about a shop.
        seed: Names the expert's draws, together with `turn`.
        turn: Number of the turn, from 0.
        skill: Probability of the right query by who knows the names, and a measure of care.
        turns_left: Turns of the budget not yet used; in the last one something is submitted.

    Raises:
        ValueError: The question is not about a shop.
    """
    return novice.say(environment.asked, environment.tried, seed, turn, skill, turns_left)


def bound(task: Task, turns: int) -> list[float]:
    """Return 1 from the fewest turns on that a query and its submission take."""
    least = sources.least(exercise(task).protocol)
    return [float(number >= least) for number in range(1, turns + 1)]


def facts() -> dict[str, Any]:
    """Say which databases answered in this process."""
    return {"databases": sources.in_use()}
