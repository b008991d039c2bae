import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope.environments.intercode_sql import results

VALUES = st.none() | st.integers(-3, 3) | st.sampled_from(["a", "b", "10", "2"])
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=6)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        ("Alton ", "Alton "),
        ("37", "37"),
        (True, 1),
        (37, 37),
        (37.0, 37),
        # As many digits as a whole number has, also where they were added up.
        (1234567891.0, 1234567891),
        (1234567891.0000002, 1234567891),
        (Decimal("1234567891234"), 1234567891234),
        (1234567891.4, 1234567890),
        (Decimal("37.0000"), 37),
        (Decimal("0.3333333333"), 0.333333333),
        (1 / 3, 0.333333333),
        (0.1 + 0.2, 0.3),
        (2**63, 2**63),
        (b"\xc3\xa9t\xc3\xa9", "été"),
        (b"\xff", "\\xff"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (datetime.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05"),
    ],
)
def test_a_value_has_one_form_in_every_database(value, plain):
    found = results.plain(value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), Decimal("Infinity")])
def test_numbers_without_end_stay_numbers(value):
    assert results.plain(value) == float(value)


def test_what_is_no_number_is_equal_to_itself():
    assert results.plain(float("nan")) == results.plain(Decimal("NaN")) == "nan"


@pytest.mark.parametrize(
    ("statement", "ordered"),
    [
        ("SELECT a FROM t ORDER BY b", True),
        ("select a from t order  by b limit 1", True),
        ("SELECT a FROM t", False),
        ("SELECT a FROM t WHERE b IN (SELECT b FROM u ORDER BY c LIMIT 1)", False),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) x ORDER BY a", True),
        ("SELECT 'order by' FROM t", False),
        ('SELECT "(" FROM t ORDER BY a', True),
        ("SELECT a FROM t WHERE b = 'it''s ( here' ORDER BY a", True),
        ("SELECT border, by FROM t", False),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True),
        ("SELECT a, rank() OVER (ORDER BY b) FROM t", False),
        ("WITH c AS (SELECT a FROM t ORDER BY a) SELECT a FROM c", False),
        ("SELECT a FROM t -- ORDER BY a", False),
        ("SELECT a FROM t /* ORDER BY a */", False),
        ("SELECT a FROM t -- it's (\nORDER BY a", True),
        ("SELECT a FROM t ORDER/**/BY a", True),
    ],
)
def test_an_order_counts_where_the_outermost_query_asks_for_one(statement, ordered):
    assert results.is_ordered(statement) == ordered


@pytest.mark.parametrize(
    ("found", "gold", "free", "ordered"),
    [
        ([], [], 1.0, 1.0),
        ([(1,)], [], 0.0, 0.0),
        ([], [(1,)], 0.0, 0.0),
        ([(1,), (2,)], [(1,), (2,)], 1.0, 1.0),
        ([(2,), (1,)], [(1,), (2,)], 1.0, 0.0),
        ([(1,), (3,), (2,)], [(1,), (2,), (3,)], 1.0, 1 / 3),
        # One of two distinct rows; one of two like ones.
        ([(1,)], [(1,), (2,)], 0.5, 0.25),
        ([(1,), (1,)], [(1,)], 0.5, 0.25),
        # Columns in another order are other rows.
        ([(1, 2)], [(2, 1)], 0.0, 0.0),
    ],
)
def test_overlap_of_rows(found, gold, free, ordered):
    assert results.overlap(found, gold, False) == free
    assert results.overlap(found, gold, True) == pytest.approx(ordered)


@given(ROWS, ROWS)
def test_only_the_same_rows_are_worth_1(found, gold):
    for ordered in (False, True):
        worth = results.overlap(found, gold, ordered)
        assert 0 <= worth <= 1
        same = found == gold if ordered else sorted(map(repr, found)) == sorted(map(repr, gold))
        assert (worth == 1) == same
        assert worth <= results.overlap(found, gold, False)


@pytest.mark.parametrize(
    ("found", "gold", "reward"),
    [
        (None, [(1,)], 0.0),
        ([], [], 1.0),
        ([], [(1,)], 0.0),
        ([(1,)], [(1,)], 1.0),
        # A single row in common has no order, so nothing is rounded.
        ([(1,)], [(1,), (2,), (3,)], 1 / 3),
        # A right answer in the other order is punished, whether an order was asked for or not.
        ([(2,), (1,)], [(1,), (2,)], -1.0),
        ([(1,), (3,), (2,)], [(1,), (2,), (3,)], 0.33),
        # Numbers of another type are other rows, and are compared as text.
        ([(37.0,)], [(37,)], 0.0),
        ([(10,), (2,)], [(10,), (2,)], 1.0),
    ],
)
def test_the_published_reward(found, gold, reward):
    assert results.intercode_reward(found, gold) == pytest.approx(reward)


def test_the_published_reward_rounds_a_wrong_answer_up():
    gold = [(number,) for number in range(300)]
    assert results.intercode_reward(gold[:-1], gold) == 1.0
    assert results.overlap(gold[:-1], gold, False) < 1
