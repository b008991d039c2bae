import csv
import math

import pytest

from turnscope.plan import show
from turnscope.plan.forecast import Cost, Line
from turnscope.plan.show import Prices
from turnscope.plan.spans import NOTHING, UNKNOWN, Span, exactly

TRAIN = Line(
    *("train", "lake", "big", 3),
    Cost(NOTHING, Span(120.0, 60.0, 1200.0), exactly(3.2e9), exactly(31e9)),
    "derived",
)
TASKS = Line(
    *("tasks", "lake", "*", 1),
    Cost(exactly(0.5), NOTHING, NOTHING, exactly(12_600)),
    "measured",
)


PRINTED = """
rule   jobs  core min   low-high  GPU h   low-high  tokens   disk  cost   low-high              from
-----  ----  --------  ---------  -----  ---------  ------  -----  ----  ---------  ----------------
train     6                         240  120-2,400   6.4 G  62 GB   480  240-4,800           derived
tasks     1      30.0  30.0-30.0                            13 kB     ?                     measured
total     7      30.0  30.0-30.0    240  120-2,400   6.4 G  62 GB     ?             derived+measured

on a cluster: 3,607 jobs, 0.25 for each minute of work
"""


def test_a_plan_is_a_line_for_each_rule():
    lines = show.text([TRAIN, TRAIN._replace(env="shop"), TASKS], Prices(None, 2.0), 3607)
    assert lines == PRINTED.strip().splitlines()


def test_columns_of_nothing_are_left_out():
    head, *_ = show.text([TASKS], Prices(None, None), 1)
    assert head.split() == ["rule", "jobs", "core", "min", "low-high", "disk", "from"]


def test_what_is_not_known_is_marked():
    unknown = TRAIN._replace(cost=Cost(*[UNKNOWN] * 4), source="unknown")
    _, _, row, _, _, load = show.text([unknown], Prices(None, None), 3)
    assert row.split() == ["train", "3", "?", "?", "?", "?", "unknown"]
    assert load == "on a cluster: 3 jobs, ? for each minute of work"


def test_rows_of_a_table_are_for_programs(tmp_path):
    show.write([TRAIN, TASKS], Prices(None, 2.0), tmp_path / "new" / "plan.csv")
    with (tmp_path / "new" / "plan.csv").open(newline="") as file:
        train, tasks = csv.DictReader(file)
    assert (train["rule"], train["env"], train["model"]) == ("train", "lake", "big")
    assert (train["gpu"], train["gpu_low"], train["money_high"]) == ("120", "60", "2400")
    assert tasks["money"] == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, ""), (7, "7"), (1234, "1.2 k"), (999_600, "1.0 M"), (31e6, "31 M"), (5e15, "5,000 T")],
)
def test_amounts_are_short(value, text):
    assert show.scaled(value, "") == text


def test_numbers_are_rounded_and_never_to_nothing():
    assert show.number(0.0, 1) == ""
    assert show.number(0.001, 1) == "<0.1"
    assert show.number(0.06, 1) == "0.1"
    assert show.number(1234.5, 0) == "1,234"
    assert show.number(math.nan, 0) == "?"
