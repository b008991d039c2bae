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
    Actions of which each is valid in every state, that is not terminal, of the tasks of `EXAMPLE`.
`least_turns(**options) -> int`
    Fewest turns that any task made with these options of `tasks` can need. Refuses, with a
    ValueError, options that `tasks` would refuse.
`EXAMPLE: dict[str, Any]`
    Options of `tasks` that quickly make 100 to 1000 tasks, for tests; saying random words must
    solve some of them within 40 turns.

Whatever an environment raises or answers, and if it does not answer for ten minutes, the episode is
data, see `turnscope.game`. It must not change its task.

And where they can be computed:

`values(environment, turns_left) -> dict[str, float]`
    For each word, the success probability of saying it in the present state and acting optimally
    in the `turns_left - 1` turns after it.
`expert(environment, seed, turn, skill, turns_left) -> str`
    An imperfect action, the better the greater `skill` in [0, 1]: one of the best, or else a
    mistake. Its draws are named by (seed, turn). A model that is built here, such as `nano`, learns
    from it, so at train tasks it must say nothing that solves a test task.
`step_quality(task, state_key, action, turns_left) -> Quality | None`
    How good it was to say `action` in the state of that key: where `values` exist, the same
    numbers, and for an invalid action that of a wasted turn. None where a turn has no quality of
    its own. R_single, matched states and arms with process rewards rest on it.
`IMMEDIATE: bool`
    Whether a quality is of an action by itself (the share of tests that a program passes) and not
    of what can be reached after it; then the best action has the same one in every state, and an
    error is recovered from by an action that is none. False if it is not given.
`ERRORS: dict[str, str]`
    Definitions of an error: a name, of letters alone, and what it means in words. At least two.
`errors(task, turn, state_key, turns_left) -> list[str]`
    Names of the definitions that the action of `turn` meets; `state_key` and `turns_left` are
    those after it. Error states rest on it.
`mistakes(task, state_key, turns_left) -> list[str]`
    Actions that are worse than the best in the state of that key; empty if all are alike, so
    that nothing is decided there. Injected errors and structural ties rest on it.
`Environment.untrusted: bool`
    Whether actions are programs that nobody can trust to answer alike when they are played again.
    A replay that does not lead to the recorded states is then an episode whose environment failed,
    and no fault that ends the job.
`Environment.ahead(asked: Sequence[tuple[Environment, str]]) -> None`
    A static method: is shown the actions of many running episodes before each of them gets its own
    by `step`, so that the environment may do side by side what takes time. What it says about an
    action, and what `step` does, must not depend on it.
`Environment.tools: list[dict[str, Any]]`
    After `reset`, the functions that a policy may call, in the form that chat templates take. A
    policy with a model lets its template show them before the first observation. Empty where the
    observation says all.
`downloads(**options) -> dict[str, Callable[[], list[Path]]]`
    What tasks made with these options need from elsewhere: its name, and what gets it unless it is
    there, and says in which files and folders it lies; nothing if all is made here. Rule `data`
    does that before any other job, where there is a network, and keeps checksums.
`facts() -> dict[str, Any]`
    What is worth keeping of how this process ran, such as the isolation of programs. It goes to
    `run.json`, beside the artifact.
`bound(task, turns) -> list[float]`
    Highest success probability of any policy, also of one that sees what is hidden, within
    T = 1, ..., `turns` turns.
"""
