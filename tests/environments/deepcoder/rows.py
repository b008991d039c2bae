"""Rows of each config of the dataset, and problems like them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def stdin_tests(word: str, number: int = 6) -> list[dict[str, str]]:
    return [
        {"input": f"{word} {i}\n", "output": f"{i}\n", "testtype": "stdin"} for i in range(number)
    ]


CODEFORCES = {"problem": "Echo the number.", "tests": json.dumps(stdin_tests("echo"))}
LCB = {
    "problem": "Return the sum of nums and k.\n\nExample: nums = [1, 2], k = 1",
    "starter_code": "class Solution:\n    def total(self, nums, k):\n        ",
    "metadata": json.dumps({"func_name": "total"}),
    "tests": json.dumps(
        [
            {"input": f"[{i}, 2]\n{i}", "output": str(2 * i + 2), "testtype": "functional"}
            for i in range(5)
        ]
    ),
}
TACO = {
    "problem": "Double it.",
    "solutions": ["def twice(x):\n    return 2 * x\n", "def twice(x): return x + x"],
    "tests": json.dumps(
        {
            "inputs": [[i] for i in range(5)],
            "outputs": [[2 * i] for i in range(5)],
            "fn_name": "twice",
        }
    ),
}
TACO_SCRIPT = {
    "problem": "Join the lines.",
    "solutions": ["print(input() + input())"],
    "tests": json.dumps(
        {"inputs": [["a", str(i)] for i in range(5)], "outputs": [f"a{i}" for i in range(5)]}
    ),
}
PRIME = {
    "problem": "Reverse the list.",
    "solutions": ["```python\ndef back(x):\n    return x[::-1]\n```"],
    "tests": json.dumps(
        [
            {"type": "function_call", "fn_name": "back", "input": [[i, 1]], "output": [1, i]}
            for i in range(5)
        ]
    ),
}
PRIME_SCRIPT = {
    "problem": "Upper case.",
    "solutions": [],
    "tests": json.dumps(
        [
            {"type": "stdin_stdout", "fn_name": "main", "input": f"a{i}", "output": f"A{i}"}
            for i in range(5)
        ]
    ),
}


def parquet(rows: list[dict[str, Any]], path: Path) -> bytes:
    columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path.read_bytes()


def numbered(row: dict[str, Any], number: int) -> dict[str, Any]:
    """Another problem of the same form."""
    tests = json.loads(row["tests"])
    for i, test in enumerate(tests):
        test["input"] = f"{number} {i}"
    return row | {"problem": f"{row['problem']} Number {number}.", "tests": json.dumps(tests)}
