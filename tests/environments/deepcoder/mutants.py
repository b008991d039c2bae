"""Wrong variants of programs: one operator, constant or bound changed."""

import ast
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from turnscope import draws
from turnscope.environments.deepcoder.problems import Problem, agrees
from turnscope.sandbox import Pool, Program

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitXor: ast.BitOr,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,  # codespell:ignore notin
    ast.NotIn: ast.In,  # codespell:ignore notin
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
}
KINDS = ("operator", "constant", "bound", "bound of a loop", "bound of a parameter")
WITNESSES = 24
"""Inputs on which a mutant is compared with the solution."""


class Mutant(NamedTuple):
    """A program that differs from a solution in one place."""

    kind: str
    """One of `KINDS`."""
    text: str


class Killed(NamedTuple):
    """A mutant that is not equivalent to the solution."""

    mutant: Mutant
    witness: list[Any]
    """Arguments for which the two differ."""
    tried: int
    """Mutants looked at until this one was found."""


def mutants(source: str, seed: int) -> Iterator[Mutant]:
    """Change one place of a program after the other, in an order that the seed names.

    Bounds come last, those of parameters after those of slices, ranges and loops.
    """
    number = len(_places(ast.parse(source)))
    order = sorted(range(number), key=lambda place: draws.mix(seed, place))
    found = []
    for place in order:
        tree = ast.parse(source)
        kind, change = _places(tree)[place]
        change()
        found.append(Mutant(kind, ast.unparse(ast.fix_missing_locations(tree))))
    yield from sorted(found, key=lambda mutant: KINDS.index(mutant.kind) // 2)


def _places(tree: ast.Module) -> list[tuple[str, Callable[[], None]]]:
    """List what can be changed in a tree, and how."""
    quiet = {id(node) for part in ast.walk(tree) for node in _untouched(part)}
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    found: list[tuple[str, Callable[[], None]]] = []
    for node in ast.walk(tree):
        if id(node) in quiet:
            continue
        if isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.AugAssign):
            if type(node.op) in SWAPS:
                found.append(("operator", _setter(node, "op", SWAPS[type(node.op)]())))
        elif isinstance(node, ast.Compare):
            found.append(("operator", _first_of(node.ops, SWAPS[type(node.ops[0])]())))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
            found.append(("constant", _setter(node, "value", _other(node.value))))
        elif isinstance(node, ast.Slice) and node.upper is not None:
            found.append(("bound", _setter(node, "upper", _next(node.upper))))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
            found.append(("bound", _last_of(node.args, _next(node.args[-1]))))
        elif isinstance(node, ast.For | ast.comprehension):
            found.append(("bound of a loop", _setter(node, "iter", _cut(node.iter))))
        elif isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            # A name is spelled as it is, so this one is spelled as a slice.
            change = _setter(node, "id", f"{node.id}[:-1]")
            found.append(("bound of a parameter", change))
    return found


def _untouched(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of docstrings and annotations below a node."""
    if isinstance(node, ast.FunctionDef):
        notes = [node.returns, *(argument.annotation for argument in node.args.args)]
        for note in notes:
            if note is not None:
                yield from ast.walk(note)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield from ast.walk(node)


def _setter(node: ast.AST, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(node, name, value)


def _first_of(items: list[Any], value: Any) -> Callable[[], None]:
    return lambda: items.__setitem__(0, value)


def _last_of(items: list[Any], value: Any) -> Callable[[], None]:
    return lambda: items.__setitem__(-1, value)


def _other(value: bool | int | float | str) -> bool | int | float | str:
    """Return another constant of the same type."""
    if isinstance(value, bool):
        return not value
    return value + "x" if isinstance(value, str) else value + 1


def _next(node: ast.expr) -> ast.expr:
    return ast.BinOp(copy.deepcopy(node), ast.Add(), ast.Constant(1))


def _cut(node: ast.expr) -> ast.expr:
    """Leave the last item of what is gone through out."""
    items = ast.Call(ast.Name("list", ast.Load()), [copy.deepcopy(node)], [])
    return ast.Subscript(items, ast.Slice(upper=ast.Constant(-1)), ast.Load())


def perturbed(inputs: list[list[Any]], seed: int, number: int) -> list[list[Any]]:
    """Make new argument lists: each has one part of a known one changed, and differs from all."""
    known = {json.dumps(arguments) for arguments in inputs}
    found: list[list[Any]] = []
    for i in range(8 * number):
        key = draws.seed(seed, "perturbed", i)
        arguments = copy.deepcopy(inputs[int(draws.uniform(key, 0) * len(inputs))])
        if not arguments:
            continue
        which = int(draws.uniform(key, 1) * len(arguments))
        arguments[which] = _changed(arguments[which], key, 2)
        if (text := json.dumps(arguments)) not in known:
            known.add(text)
            found.append(arguments)
        if len(found) == number:
            break
    return found


def _changed(value: Any, key: int, depth: int) -> Any:
    """Change a value a little, without changing its type."""
    draw = draws.uniform(key, depth)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + (-1 if draw < 0.3 and value > 0 else 1)
    if isinstance(value, dict):
        items = _changed([list(item) for item in value.items()], key, depth + 1)
        return {item[0]: item[-1] for item in items if item}
    if not isinstance(value, str | list) or not value:
        return value
    if isinstance(value, str) and " " in value and draws.uniform(key, depth + 300) < 0.7:
        return " ".join(_changed(value.split(" "), key, depth + 200))
    return _resized(value, int(draw * len(value)), key, depth)


def _resized(value: Any, place: int, key: int, depth: int) -> Any:
    """Change, drop or double one item of a list, or one character of a text."""
    if isinstance(value, list) and draws.uniform(key, depth + 100) < 0.5:
        return [*value[:place], _changed(value[place], key, depth + 1), *value[place + 1 :]]
    if draws.uniform(key, depth + 400) < 0.5 and len(value) > 1:
        return value[:place] + value[place + 1 :]
    return value[:place] + value[place : place + 1] + value[place:]


def passes(pool: Pool, problem: Problem, text: str) -> bool:
    """Say whether a program passes all tests of a problem."""
    cases = [*problem.public, *problem.private]
    results = pool.run(Program(text, problem.entry), [[case.input for case in cases]])[0]
    return all(
        result.status == "ok" and agrees(case.output, result.value, script=False)
        for case, result in zip(cases, results, strict=True)
    )


def killed(pool: Pool, problem: Problem, seed: int) -> Iterator[Killed]:
    """Yield the mutants of a problem's solution that differ from it on an input of no test.

    An input on which the solution fails shows nothing.
    """
    assert problem.solution is not None
    cases = [*problem.public, *problem.private]
    inputs = perturbed([case.input for case in cases], seed, WITNESSES)
    wanted = _answers(pool, problem, inputs)
    for tried, mutant in enumerate(mutants(problem.solution, seed), start=1):
        program = Program(mutant.text, problem.entry)
        given = pool.run(program, [[arguments for arguments, _ in wanted]])[0]
        for (arguments, value), result in zip(wanted, given, strict=True):
            if result.status != "ok" or not agrees(value, result.value, script=False):
                yield Killed(mutant, arguments, tried)
                break


def _answers(pool: Pool, problem: Problem, inputs: list[list[Any]]) -> list[tuple[list[Any], Any]]:
    """Return the inputs that the solution takes, and what it returns."""
    found: list[tuple[list[Any], Any]] = []
    for _ in range(4):
        program = Program(str(problem.solution), problem.entry)
        results = pool.run(program, [inputs])[0] if inputs else []
        ends = [i for i, result in enumerate(results) if result.status not in ("ok", "error")]
        end = ends[0] if ends else len(results)
        found += [(inputs[i], results[i].value) for i in range(end) if results[i].status == "ok"]
        inputs = inputs[end + 1 :]  # without the one that ended the run
    return found
