import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from turnscope.environments.intercode_sql import _functions, sqlite
from turnscope.environments.intercode_sql.backends import Limits


def test_some_functions_of_mysql_are_there():
    session = sqlite.Backend({"d": ""}, Limits()).begin("d")
    row = session.run(
        "SELECT IF(2 > 1, 'y', 'n'), IF('0x', 1, 2), IF(NULL, 1, 2), CONCAT('a', 1, 2.0),"
        " CONCAT('a', NULL), CONCAT_WS('-', 'a', NULL, 'b'), CHAR_LENGTH('héé'), LOCATE('b', 'ab'),"
        " YEAR('2010-02-03 04:05:06'), MONTH('2010-02-03'), DAY('2010-02-03'), DAY('tomorrow')"
    ).rows[0]
    assert row == ("y", 2, 2, "a12.0", None, "a-b", 3, 2, 2010, 2, 3, None)
    assert session.run("SELECT replace('aXbX', 'X', '--'), trim('xxaxx', 'x'), instr('abc', 'c'),"
                       " ltrim('xa', 'x'), rtrim('ax', 'x'), trim('  a ')").rows == (
        ("a--b--", "a", 3, "a", "a", "a"),
    )  # fmt: skip


TEXT = st.text("aAbB%_\\.*K\u212a\u0130é\n ", max_size=12)


@given(TEXT, TEXT)
def test_like_is_that_of_sqlite(pattern: str, text: str):
    with closing(sqlite3.connect(":memory:")) as connection:
        (own,) = connection.execute("SELECT ? LIKE ?", (text, pattern)).fetchone()
        found = _functions.matcher(pattern).fullmatch(text) is not None
        assert found == bool(own)
        if not pattern.endswith("\\"):
            (own,) = connection.execute("SELECT ? LIKE ? ESCAPE '\\'", (text, pattern)).fetchone()
            assert (_functions.matcher(pattern, "\\").fullmatch(text) is not None) == bool(own)


@given(
    st.integers(-(10**12), 10**12).map(lambda number: number / 1000)
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([1e20, -2.5e-7, 1e15, 123456789012345680.0, -0.0, float("-inf")])
    | TEXT
)
def test_values_are_written_as_by_sqlite(value):
    with closing(sqlite3.connect(":memory:")) as connection:
        (own,) = connection.execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()
        assert _functions.text_of(value) == own


def test_long_texts_and_much_work_are_refused():
    session = sqlite.Backend({"d": ""}, Limits()).begin("d")
    long = "(WITH RECURSIVE c(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM c LIMIT 14) "
    text = f"{long} SELECT max(s) FROM c)"
    assert session.run(f"SELECT length(concat({text}, {text}))").rows == ((16384,),)
    assert session.run(f"SELECT concat({text}, {text}, {text})").error == (
        "a text has 24576 characters; legal are at most 20000"
    )
    assert session.run(f"SELECT replace({text}, 'a', 'bcd')").error.startswith("a text has 24576")
    assert session.run(f"SELECT 'a' LIKE {text}").error == (
        "a pattern has 8192 characters; legal are at most 1000"
    )
    assert session.run("SELECT 'a' LIKE 'a' ESCAPE 'xx'").error.startswith("an escape has 2")
    assert session.run(f"SELECT trim({text}, {text})").error == "the statement takes too long"
    assert session.run("SELECT 'a' LIKE 'A'").rows == ((1,),)
