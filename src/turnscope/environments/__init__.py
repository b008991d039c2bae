"""Text worlds, one module or package each; its name is the name of the environment.

Its docstring has the headings Observation, Action, Reward, Termination, Randomness and Graded. What
a module gives, beside the `Environment` protocol of `turnscope.types`:

`tasks(seed, *, train, test, ...) -> list[Task]`
    All tasks, train first, then test; the same every time. The splits share no payload. Unknown
    options are a TypeError, as Python makes them.
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
    Options of `tasks` that quickly make 100 to 1000 tasks, for tests; saying random words must
    solve some of them within 40 turns.

And where they can be computed:

`values(environment, turns_left) -> dict[str, float]`
    For each word, the success probability of saying it in the present state and acting optimally
    in the `turns_left - 1` turns after it.
`expert(environment, seed, turn, skill, turns_left) -> str`
    An imperfect action: with probability `skill` one of the best, else any of the words. Its
    draws are named by (seed, turn). A model that is built here, such as `nano`, learns from it.
`step_quality(task, state_key, action, turns_left) -> Quality | None`
    How good it was to say `action` in the state of that key: where `values` exist, the same
    numbers, and for an invalid action that of a wasted turn. None where a turn has no quality of
    its own. R_single, matched states and arms with process rewards rest on it.
`ERRORS: dict[str, str]`
    Definitions of an error: a name, of letters alone, and what it means in words. At least two.
`errors(task, turn, state_key, turns_left) -> list[str]`
    Names of the definitions that the action of `turn` meets; `state_key` and `turns_left` are
    those after it. Error states rest on it.
`mistakes(task, state_key, turns_left) -> list[str]`
    Actions that are worse than the best in the state of that key; empty if all are alike, so
    that nothing is decided there. Injected errors and structural ties rest on it.
`bound(task, turns) -> list[float]`
    Highest success probability of any policy, also of one that sees what is hidden, within
    T = 1, ..., `turns` turns.
"""
