from turnscope.audits.freshness import differences


def test_differing_keys_are_named_by_path_with_both_values():
    then = {"budget": {"turns": 8, "told": False}, "seed": 1, "old": "x"}
    now = {"budget": {"turns": 10, "told": False}, "seed": 1, "new": None}
    assert differences(then, now) == [
        "budget.turns was 8, now 10",
        "new was nothing, now None",
        "old was x, now nothing",
    ]


def test_long_values_are_cut():
    (line,) = differences({"a": "x" * 100}, {"a": 1})
    assert line == f"a was {'x' * 37}..., now 1"
