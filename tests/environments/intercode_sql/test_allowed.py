import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope.environments.intercode_sql.allowed import refusal, words
from turnscope.environments.intercode_sql.backends import Limits


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("", "only SELECT"),
        (";", "only SELECT"),
        ("DROP TABLE t", "not DROP"),
        ("SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(60)", "not SET"),
        ("BEGIN NOT ATOMIC SELECT 1; END", "not BEGIN"),
        ("/* SELECT */ SET @x = 1", "not SET"),
        ("-- SELECT\nSET @x = 1", "not SET"),
        ("#SELECT\nSET @x = 1", "not SET"),
        ("/*!50000 SET */ @x = 1", "only SELECT"),
        ("SELECT /*m!100000 SLEEP(60) */", "/*m! may not be used"),
        ("SELECT @@hostname", "@@ may not be used"),
        ("SELECT * FROM information_schema.`ProcessList`", "ProcessList may not be used"),
        ("SELECT * FROM information_schema.GLOBAL_VARIABLES", "GLOBAL_VARIABLES may not be used"),
        ("SELECT GET_LOCK('x', 60)", "GET_LOCK may not be used"),
        ("SELECT UUID()", "UUID may not be used"),
        ("EXPLAIN FORMAT=JSON FOR /**/ CONNECTION 5", "CONNECTION may not be used"),
        ("SHOW/* */CREATE USER CURRENT_USER", "can be shown"),
        ("SHOW GRANTS", "can be shown"),
        ("SHOW FULL PROCESSLIST", "can be shown"),
        ("SHOW", "can be shown"),
        ("SELECT '\udfff'", "half a character"),
        ("SELECT '" + "x" * 9993 + "'", "has 10002 characters; legal are at most 10000"),
    ],
)
def test_what_could_lift_limits_or_look_elsewhere_is_not_sent(statement: str, said: str):
    assert said in refusal(statement, Limits())


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1;",
        " (\t( select 1))",
        "-- why\n# where\n/* how */WITH x AS (SELECT 1) SELECT * FROM x",
        "VALUES (1)",
        "SHOW TABLES",
        "show full columns from t",
        "SHOW CREATE TABLE t",
        "DESC t",
        "EXPLAIN SELECT * FROM t",
        "USE shop",
        "SELECT connection FROM t WHERE x = 'é 🤖'",
    ],
)
def test_what_reads_is_sent(statement: str):
    assert refusal(statement, Limits()) == ""


def test_the_first_words_are_read_past_comments():
    assert words("/* a */ show -- b\n (FULL # c\n extended columns") == ["SHOW", "COLUMNS", ""]
    assert words("select1") == ["SELECT", "", ""]


@given(st.text(st.characters(), max_size=60), st.sampled_from(["", "SHOW ", "SELECT ", "/*", "--"]))
def test_any_text_gets_one_line(text: str, start: str):
    assert len(refusal(start + text, Limits()).splitlines()) <= 1
