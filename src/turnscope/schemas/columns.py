"""How a column is declared, and the columns that several tables share."""

import pyarrow as pa


def column(name: str, kind: pa.DataType, about: str, *, null: bool = False) -> pa.Field:
    """Declare a column; `about` goes to the documentation, with unit and range."""
    return pa.field(name, kind, nullable=null, metadata={"about": about})


INTS, FLOATS = pa.list_(pa.int32()), pa.list_(pa.float32())
WHO = [
    column("env", pa.string(), "environment"),
    column("model", pa.string(), "model that all policies of the comparison start from"),
    column("policy", pa.string(), "`base`, or arm and training seed as `grpo-s0`"),
]
EPISODE = [
    *WHO,
    column("task_id", pa.string(), "task, see tasks"),
    column("sample", pa.int32(), "number of the attempt at this task, from 0"),
]
NESTED = pa.list_(INTS)
PAIR = [
    *WHO[:2],
    column("policy", pa.string(), "trained policy that is compared with base, as `grpo-s0`"),
]
PREFIX = [
    column("task_id", pa.string(), "test task, see tasks"),
    column("source", pa.string(), "whose episode led to the state: `base` or `trained`"),
    column("turn", pa.int32(), "turns before the state, all of which are replayed to reach it"),
    column("left", pa.int32(), "turns left in the budget, turns"),
    column(
        "errors",
        pa.string(),
        "definitions of an error that the last action meets, separated by blanks; empty if none",
    ),
    column(
        "injected", pa.bool_(), "whether the last action was put in place of what the policy said"
    ),
    column("best", pa.float64(), "quality of the best action; null if none", null=True),
    column("before", pa.float64(), "that before the last action; null if there is none", null=True),
]
ACTOR = column("actor", pa.string(), "who acts: `base` or `trained`")
