import hashlib
import sqlite3
import time
from pathlib import Path

import pytest

from tests.environments.intercode_sql import hostile, real
from turnscope.environments.intercode_sql import _locked, sqlite
from turnscope.environments.intercode_sql.backends import Limits, Result

SCRIPTS = {
    "Shop": hostile.SCRIPT,
    "other": """
        CREATE TABLE `Person` (
          `id` int AUTO_INCREMENT NOT NULL,
          `name` varchar(20) DEFAULT 'it''s',
          `mail` text UNIQUE,
          `of` int,
          PRIMARY KEY (`id`),
          FOREIGN KEY (`of`) REFERENCES `Person` (`id`)
        );
    """,
}


HARMLESS = {
    "update in a comment of versions",  # to SQLite a comment
    "query with a comment of versions",
}


@pytest.fixture(scope="module")
def shop() -> sqlite.Backend:
    return sqlite.Backend(SCRIPTS, Limits())


def digest(backend: sqlite.Backend) -> str:
    """Name the content of all databases."""
    found = []
    for database in backend.databases():
        session = backend.begin(database)
        for (table,) in session.run("SHOW TABLES").rows:
            found.append(session.run(f"SHOW CREATE TABLE `{table}`"))
            # With a blank, so that the rows are read anew and not what is remembered of them.
            found.append(session.run(f"SELECT * FROM `{table}`{' ' * len(found)}-- {len(found)}"))
    assert not any(result.error for result in found)
    return hashlib.sha256(repr([result.rows for result in found]).encode()).hexdigest()


def test_a_query_gives_its_columns_and_rows(shop):
    session = shop.begin("shop")
    assert session.database == "Shop"
    assert session.run("SELECT name, price AS cost FROM t WHERE id > 1 ORDER BY id") == Result(
        ("name", "cost"), (("chair", 20.0), ("O'Brien", None))
    )
    assert session.run('select NAME from shop.T where name = "lamp";;  ').rows == (("lamp",),)
    assert session.run("/* a */ -- b\n# c\nVALUES (x'ff')").rows == ((b"\xff",),)
    session.close()
    session.close()


def test_databases_and_tables_are_shown_as_in_mysql(shop):
    session = shop.begin("SHOP")
    assert shop.databases() == ["Shop", "other"]
    assert session.run("SHOW DATABASES") == Result(("Database",), (("Shop",), ("other",)))
    assert session.run("show schemas like '%O_';").rows == (("Shop",),)
    assert session.run("SHOW TABLES") == Result(("Tables_in_Shop",), (("t",), ("u",)))
    assert session.run("SHOW  FULL\nTABLES IN `other`") == Result(
        ("Tables_in_other", "Table_type"), (("Person", "BASE TABLE"),)
    )
    assert session.run("SHOW TABLES FROM other LIKE 'p%'").columns == ("Tables_in_other (p%)",)
    assert session.run("SHOW TABLES LIKE 'x%'").rows == ()


@pytest.mark.parametrize(
    "statement",
    [
        "DESCRIBE other.person",
        "desc `other`.`PERSON` ;",
        "EXPLAIN other . Person",
        "SHOW COLUMNS FROM Person FROM other",
        "show fields in other.person",
    ],
)
def test_a_table_is_described_as_in_mysql(shop, statement):
    assert shop.begin("shop").run(statement) == Result(
        ("Field", "Type", "Null", "Key", "Default", "Extra"),
        (
            ("id", "int", "NO", "PRI", None, "auto_increment"),
            ("name", "varchar(20)", "YES", "", "it's", ""),
            ("mail", "text", "YES", "UNI", None, ""),
            ("of", "int", "YES", "MUL", None, ""),
        ),
    )


def test_columns_can_be_chosen_and_told_in_full(shop):
    session = shop.begin("other")
    assert [row[0] for row in session.run("DESCRIBE person mail").rows] == ["mail"]
    assert [row[0] for row in session.run("SHOW COLUMNS FROM person LIKE '%m%'").rows] == [
        "name",
        "mail",
    ]
    full = session.run("SHOW FULL COLUMNS FROM person LIKE 'id'")
    assert dict(zip(full.columns, full.rows[0], strict=True)) == {
        "Field": "id",
        "Type": "int",
        "Collation": None,
        "Null": "NO",
        "Key": "PRI",
        "Default": None,
        "Extra": "auto_increment",
        "Privileges": "select",
        "Comment": "",
    }
    created = session.run("SHOW CREATE TABLE person")
    assert created.columns == ("Table", "Create Table")
    assert created.rows[0][0] == "Person"
    assert created.rows[0][1].startswith("CREATE TABLE `Person` (")


def test_use_changes_the_database_of_one_session(shop):
    one, two = shop.begin("shop"), shop.begin("shop")
    assert one.run("SELECT count(*) FROM person").error == "no such table: person"
    assert one.run("-- there\nUSE `OTHER`;") == Result()
    assert (one.database, two.database) == ("other", "Shop")
    assert one.run("SELECT count(*) FROM person").rows == ((0,),)
    assert one.run("SHOW TABLES").columns == ("Tables_in_other",)
    assert two.run("SHOW TABLES").columns == ("Tables_in_Shop",)
    assert one.run("USE nowhere").error == "Unknown database 'nowhere'"
    assert one.database == "other"


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("SELEC 1", "only a query, SHOW, DESCRIBE and USE can be run, not SELEC"),
        ("SELECT nope FROM t", "no such column: nope"),
        ("SELECT FROM", 'near "FROM": syntax error'),
        ("DESCRIBE nope", "Table 'Shop.nope' doesn't exist"),
        ("SHOW CREATE TABLE other.t", "Table 'other.t' doesn't exist"),
        ("SHOW TABLES FROM nope", "Unknown database 'nope'"),
        ("USE", "USE is understood only as USE and a database"),
        ("EXPLAIN SELECT 1", "EXPLAIN is understood only as EXPLAIN and a table"),
        ("SELECT 1; SELECT 2", "only one statement can be run at a time"),
        ("SELECT now()", "no such function: now"),
        ("SELECT random()", "not authorized to use function: random"),
        (" ; ", "the statement is empty"),
        ("SELECT '\0'", "the statement holds a character NUL"),
        ("SELECT '\udcff'", "the statement holds half a character"),
        ("SELECT " + "1" * 9994, "the statement has 10001 characters; legal are at most 10000"),
        (f"{hostile.COUNT}) SELECT count(*) FROM c", "the statement takes too long"),
        (f"{hostile.COUNT}) SELECT x FROM c", "the result has more than 10000 rows"),
    ],
)
def test_errors_say_what_is_wrong(shop, statement, error):
    assert shop.begin("shop").run(statement) == Result(error=error)


@pytest.mark.parametrize(
    ("name", "statement"), [pytest.param(*pair, id=pair[0]) for pair in hostile.STATEMENTS]
)
def test_hostile_statements_change_nothing(
    shop, name, statement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    before = digest(shop)
    session = shop.begin("shop")
    result = session.run(statement)
    assert session.database == "Shop"
    assert "\n" not in result.error
    assert len(result.error) <= 400
    assert not (result.error and (result.rows or result.columns))
    assert session.run("SELECT name FROM t WHERE id = 1").rows == (("lamp",),)
    assert digest(shop) == before
    assert [*tmp_path.iterdir()] == []


def test_hostile_statements_get_no_rows(shop):
    session = shop.begin("shop")
    for name, statement in [
        *hostile.WRITES,
        *hostile.FILES,
        *hostile.SETTINGS,
        *hostile.STACKED,
        *hostile.CHANCE,
    ]:
        assert session.run(statement).error or name in HARMLESS, name


def test_each_wall_holds_without_the_others():
    database = _locked.Database("shop", hostile.SCRIPT, Limits())
    tables = [database.query(f"SELECT * FROM {table}") for table in ("t", "u")]

    def unchanged() -> bool:
        return tables == [database.query(f"SELECT * FROM {table}") for table in ("t", "u")]

    # Past the first, which reads words: only the authorizer knows what a statement does.
    for name, statement in [*hostile.WRITES, *hostile.FILES, *hostile.SETTINGS]:
        result = database.query(statement)
        assert result.error or name in HARMLESS | {"reindex", "explain of a query plan"}, name
    assert unchanged()
    assert database.query("DELETE FROM t").error.startswith("not authorized: ")
    # Past both: the database is read-only.
    database._connection.set_authorizer(None)
    assert database.query("DELETE FROM t").error == "attempt to write a readonly database"
    assert database.query("CREATE TABLE v (a)").error == "attempt to write a readonly database"
    assert "too many attached databases" in database.query("ATTACH ':memory:' AS v").error
    assert unchanged()


def test_a_statement_gets_the_same_answer_again_and_in_another_process_of_the_same_kind(shop):
    fresh = sqlite.Backend(SCRIPTS, Limits())
    for _, statement in [*hostile.TEXTS, *hostile.CHANCE, *hostile.SETTINGS]:
        first = shop.begin("shop").run(statement)
        assert shop.begin("shop").run(statement) == first
        assert fresh.begin("shop").run(statement) == first


def test_steps_bound_a_statement_before_the_clock_does(monkeypatch):
    monkeypatch.setattr(_locked, "STEPS", 5_000)
    session = sqlite.Backend(SCRIPTS, Limits(seconds=1e9)).begin("shop")
    assert session.run(f"{hostile.COUNT} LIMIT 100) SELECT count(*) FROM c").rows == ((100,),)
    assert session.run(f"{hostile.COUNT} LIMIT 1000) SELECT count(*) FROM c").error == (
        _locked.TOO_LONG
    )


def test_the_clock_ends_what_steps_do_not():
    session = sqlite.Backend(SCRIPTS, Limits(seconds=0)).begin("shop")
    assert session.run("SELECT 1").rows == ((1,),)
    assert session.run(f"{hostile.COUNT} LIMIT 1000) SELECT count(*) FROM c").error == (
        _locked.TOO_LONG
    )


def test_memory_is_bounded(shop):
    session = shop.begin("shop")
    kept = f"{hostile.LONG}, k(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM k LIMIT 30000)"
    query = f"{kept} SELECT k.x FROM k, (SELECT max(s) AS m FROM c) ORDER BY m || m || k.x LIMIT 1"
    assert session.run(query).rows == ((1,),)
    assert session.run(f"{query} OFFSET 29999").error == _locked.TOO_MUCH
    assert session.run("SELECT 1").rows == ((1,),)


def test_large_results_are_refused(shop):
    wide = ", ".join(f"'{'a' * 90}'" for _ in range(90))
    rows = ", ".join(f"t a{i}" for i in range(6))
    assert shop.begin("shop").run(f"SELECT {wide} FROM {rows}").error == (
        "the result has more than 2000000 characters"
    )
    few = sqlite.Backend(SCRIPTS, Limits(rows=3)).begin("shop")
    assert len(few.run("SELECT * FROM t").rows) == 3
    assert few.run("SELECT * FROM t, u").error == "the result has more than 3 rows"


def test_results_are_forgotten_when_they_are_too_many(monkeypatch, shop):
    monkeypatch.setattr(sqlite, "KEPT", 3_000)
    backend = sqlite.Backend(SCRIPTS, Limits())
    session = backend.begin("shop")
    for number in range(50):
        assert session.run(f"SELECT id + {number} FROM t WHERE id = 1").rows == ((number + 1,),)
        assert len(backend._kept) <= 6
    assert len(session.run("SELECT * FROM t a, t b, t c").rows) == 27
    assert backend._size <= 3_000


def test_unknown_databases_and_scripts_that_fail_are_refused(shop):
    with pytest.raises(ValueError, match="unknown database 'nope'; known: Shop, other"):
        shop.begin("nope")
    with pytest.raises(ValueError, match="script of database 'a' does not run: incomplete"):
        sqlite.Backend({"a": "CREATE"}, Limits()).begin("a")
    for scripts in ({}, {"a": "", "A": ""}, {"main": ""}):
        with pytest.raises(ValueError, match="legal are one or more"):
            sqlite.Backend(scripts, Limits())


def test_all_gold_queries_run_and_give_what_sqlite_gives_without_walls():
    scripts = real.scripts()
    backend = sqlite.Backend(scripts, Limits())
    plain = {}
    for name, script in scripts.items():
        plain[name] = sqlite3.connect(":memory:")
        plain[name].executescript(script)
    empty = 0
    for problem in real.problems():
        result = backend.begin(problem.database).run(problem.gold)
        assert not result.error, problem.gold
        assert list(result.rows) == plain[problem.database].execute(problem.gold).fetchall()
        empty += not result.rows
    assert empty == 91
    for connection in plain.values():
        connection.close()


def test_few_databases_are_open_at_a_time(monkeypatch):
    monkeypatch.setattr(_locked, "OPEN", 2)
    monkeypatch.setattr(_locked, "_opened", _locked._Opened())
    databases = [_locked.Database(f"d{n}", hostile.SCRIPT, Limits()) for n in range(5)]
    for _ in range(2):
        for database in databases:
            assert database.query("SELECT count(*) FROM t").rows == ((3,),)
            assert database.query("DELETE FROM t").error.startswith("not authorized: ")
            assert sum(one._held is not None for one in databases) <= 2
    assert [one._held is not None for one in databases] == [False, False, False, True, True]


@pytest.mark.parametrize("what", ["year(a.s)", "if(a.s, 1, 2)", "'b' LIKE a.s || b.x || '{}'"])
def test_work_of_functions_ends_a_statement_long_before_the_clock(what):
    session = sqlite.Backend(SCRIPTS, Limits(seconds=1e9)).begin("shop")
    text = f"{hostile.COUNT} LIMIT 4000), s(s) AS (VALUES ('1')) SELECT sum({{}}) FROM s a, c, c b"
    start = time.process_time()
    assert session.run(text.format(what.format("%a" * 490))).error == _locked.TOO_LONG
    assert time.process_time() - start < 4


def test_patterns_of_names_are_short(shop):
    said = shop.begin("shop").run(f"SHOW TABLES LIKE '{'%a' * 501}'").error
    assert said == "a pattern is too long; legal are at most 1000 characters"
