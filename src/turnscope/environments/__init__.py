"""Text worlds, one module or package each; its name is the name of the environment.

What a module gives, beside the `Environment` protocol of `turnscope.types`:

`tasks(seed, *, train, test, ...) -> list[Task]`
    All tasks, train first, then test; the same every time. The splits share no payload.
`class Environment(*, ...)`
    The world itself.
`gold(task, seed) -> list[str]`
    Actions that succeed from `reset(task, seed)`.
`words() -> list[str]`
    Actions of which each is valid in every state that is not terminal.
`least_turns(**options) -> int`
    Fewest turns that any task made with these options of `tasks` can need. Refuses, with a
    ValueError, options that `tasks` would refuse.
`EXAMPLE: dict[str, Any]`
    Options of `tasks` that make a few hundred tasks quickly, for tests.

And where they can be computed:

`values(environment, turns_left) -> dict[str, float]`
    For each word, the success probability of saying it in the present state and acting optimally
    in the `turns_left - 1` turns after it.
`expert(environment, seed, turn, skill, turns_left) -> str`
    An imperfect action: with probability `skill` one of the best, else any of the words. Its
    draws are named by (seed, turn).
`bound(task, turns) -> list[float]`
    Highest success probability of any policy within T = 1, ..., `turns` turns.
"""
