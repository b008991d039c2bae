import threading
import time
from collections.abc import Callable
from pathlib import Path

import pymysql
import pytest

from tests.environments.intercode_sql import hostile
from tests.environments.intercode_sql.conftest import SMALL
from turnscope.environments import intercode_sql
from turnscope.environments.intercode_sql import dump, server, sqlite
from turnscope.environments.intercode_sql.backends import Backend, Limits, Session
from turnscope.environments.intercode_sql.server import Address
from turnscope.types import Task

FAST = Limits(seconds=0.3, rows=100)
LOOP = "SELECT " + ", ".join(["REPEAT('a', 400000) RLIKE '^(a|aa)+$b'"] * 10)
"""Patterns that go back, of which MariaDB finishes all before it looks at the clock."""


@pytest.fixture(params=["sqlite", "server"])
def make(request: pytest.FixtureRequest) -> Callable[[Limits], Backend]:
    """Make a backend with the databases of the small dump."""
    if request.param == "sqlite":
        return lambda limits: sqlite.Backend(dump.scripts(SMALL), limits)
    address = server.address_of(request.getfixturevalue("small_server"))
    return lambda limits: server.Backend(address, limits)


@pytest.fixture
def session(make: Callable[[Limits], Backend]) -> Session:
    return make(Limits()).begin("shop")


@pytest.fixture
def there(small_server: str) -> Session:
    return server.Backend(server.address_of(small_server), FAST).begin("shop")


def test_a_query_finds_rows(session: Session):
    result = session.run("SELECT id, name FROM t WHERE price > 9 ORDER BY id;")
    assert result.columns == ("id", "name")
    assert result.rows == ((1, "lamp"), (2, "chair"))
    assert session.run("SELECT COUNT (*) FROM u").rows == ((3,),)
    assert session.run("SELECT price FROM t WHERE name = 'O''Brien'").rows == ((None,),)


def test_a_column_may_stand_beside_what_is_counted(session: Session):
    rows = session.run("SELECT name, COUNT(*) FROM t JOIN u ON t.id = t_id GROUP BY t.id").rows
    assert sorted(rows) == [("chair", 1), ("lamp", 2)]


@pytest.mark.parametrize(
    "statement", ["SELECT nothing FROM t", "SELECT * FROM nothing", "SELECT FROM", "hello", ""]
)
def test_a_statement_that_does_not_run_says_why_in_one_line(session: Session, statement: str):
    result = session.run(statement)
    assert result.error
    assert "\n" not in result.error
    assert result.columns == result.rows == ()


def test_the_catalogue_is_told_in_one_shape(session: Session):
    assert session.run("SHOW TABLES").columns == ("Tables_in_shop",)
    assert session.run("show tables").rows == (("t",), ("u",))
    assert {("shop",), ("club_1",)} <= set(session.run("SHOW DATABASES").rows)
    described = session.run("DESCRIBE t")
    assert described.columns == ("Field", "Type", "Null", "Key", "Default", "Extra")
    assert [row[0] for row in described.rows] == ["id", "name", "price"]
    assert [row[2:4] for row in described.rows] == [("NO", "PRI"), ("YES", ""), ("YES", "")]
    for statement in ("DESC t", "EXPLAIN t", "SHOW COLUMNS FROM t", "SHOW FIELDS FROM t"):
        assert session.run(statement) == described
    assert len(session.run("SHOW FULL COLUMNS FROM t").columns) == 9
    assert session.run("SHOW CREATE TABLE t").columns == ("Table", "Create Table")
    assert session.run("DESCRIBE nothing").error == "Table 'shop.nothing' doesn't exist"


def test_use_changes_the_current_database(session: Session):
    assert session.database == "shop"
    assert session.run("USE club_1").error == ""
    assert session.database == "club_1"
    assert session.run("SELECT id FROM member").rows == ((7,),)
    assert session.run("use nothing").error
    assert session.database == "club_1"
    assert session.run("USE `shop`;").error == ""
    assert session.run("SELECT COUNT(*) FROM t").rows == ((3,),)


def test_an_episode_begins_as_if_it_were_the_first(make: Callable[[Limits], Backend]):
    backend = make(Limits())
    one, other = backend.begin("shop"), backend.begin("SHOP")
    one.run("USE club_1")
    assert other.database == backend.begin("shop").database == "shop"
    assert other.run("SELECT COUNT(*) FROM t").rows == ((3,),)
    one.close()
    one.close()


def test_an_unknown_database_is_refused(make: Callable[[Limits], Backend]):
    backend = make(Limits())
    assert backend.databases() == ["club_1", "shop"]
    with pytest.raises(ValueError, match="unknown database 'nothing'; known: club_1, shop"):
        backend.begin("nothing")


def test_a_result_and_a_statement_are_only_so_long(make: Callable[[Limits], Backend]):
    session = make(Limits(rows=8, length=60)).begin("shop")
    assert len(session.run("SELECT t.id FROM t, u WHERE u.id < 3").rows) == 6
    assert session.run("SELECT t.id FROM t, u").error.startswith("the result has more than 8 rows")
    said = session.run("SELECT 1 -- " + "-" * 60).error
    assert said == "the statement has 72 characters; legal are at most 60"
    assert session.run("SELECT COUNT(*) FROM t").rows == ((3,),)


def test_a_statement_takes_only_so_long(make: Callable[[Limits], Backend]):
    session = make(FAST).begin("shop")
    tables = ", ".join(f"t a{number}" for number in range(25))
    assert session.run(f"SELECT COUNT(*) FROM {tables}").error == "the statement takes too long"
    assert session.run("SELECT COUNT(*) FROM t").rows == ((3,),)


def test_nothing_hostile_succeeds(small_server: str):
    backend = server.Backend(server.address_of(small_server), FAST)
    before = contents(backend)
    session = backend.begin("shop")
    for name, statement in hostile.STATEMENTS:
        result = session.run(statement)
        assert "\n" not in result.error, name
        assert "root:" not in str(result.rows), name
        assert not (result.error and result.rows), name
        assert session.database == "shop", name
    for name, statement in [*hostile.WRITES, *hostile.STACKED]:
        assert session.run(statement).error, name
    assert contents(backend) == before
    assert not Path("/tmp/evil.txt").exists()


def contents(backend: Backend) -> list[object]:
    """Read all there is."""
    found: list[object] = [backend.databases()]
    for database in backend.databases():
        session = backend.begin(database)
        for (table,) in session.run("SHOW TABLES").rows:
            found += [table, session.run(f"SELECT * FROM {table}"), session.run(f"DESC {table}")]
    return found


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT 1; SELECT 2", "You have an error in your SQL syntax"),
        ("SELECT * FROM mysql.user", "SELECT command denied"),
        ("SELECT 'x' INTO OUTFILE '/tmp/evil.txt'", "Access denied"),
        ("SELECT * FROM t FOR UPDATE", "READ ONLY transaction"),
        ("EXPLAIN DELETE FROM t", "DELETE command denied"),
        ("USE mysql", "Access denied"),
        ("SELECT REPEAT('a', 1000000), REPEAT('b', 1000000), 'c'", "more than 2000000 characters"),
        ("SELECT BENCHMARK(10000000000, MD5('a'))", "takes too long"),
        ("SELECT SLEEP(60)", "takes too long"),
        ("SELECT * FROM seq_1_to_100000000000", "more than 100 rows"),
    ],
)
def test_the_server_refuses(there: Session, statement: str, said: str):
    assert said in there.run(statement).error


def test_memory_is_limited(small_server: str):
    session = server.Backend(server.address_of(small_server), Limits(20.0)).begin("shop")
    doubled = "WITH c0 AS (SELECT 1 AS x FROM t), " + ", ".join(
        f"c{i + 1} AS (SELECT a.x FROM c{i} a, c{i} b)" for i in range(40)
    )
    assert session.run(f"{doubled} SELECT COUNT(*) FROM c40").error == server.TOO_MUCH
    rows = "SELECT DISTINCT seq, REPEAT('x', 50000) FROM seq_1_to_10000000"
    assert session.run(f"SELECT COUNT(*) FROM ({rows}) AS r").error == server.TOO_MUCH


def test_a_file_cannot_be_read(there: Session):
    assert there.run("SELECT LOAD_FILE('/etc/passwd')").rows == ((None,),)


def test_values_have_plain_types(there: Session):
    (row,) = there.run("SELECT 1, 0.5, 1e0, 'é', x'ff', CAST('10:20:30' AS TIME), NULL").rows
    assert [type(value).__name__ for value in row] == [
        *("int", "Decimal", "float", "str", "bytes", "str", "NoneType"),
    ]
    (row,) = there.run("SELECT joined, DATE(joined) FROM club_1.member").rows
    assert [str(value) for value in row] == ["2020-01-31 00:00:00", "2020-01-31"]


def test_nothing_is_left_of_a_statement(there: Session):
    assert there.run("SELECT @x := 5").rows == ((5,),)
    assert there.run("SELECT @x").rows == ((None,),)
    assert there.run("SELECT LAST_INSERT_ID(7)").rows == ((7,),)
    assert there.run("SELECT LAST_INSERT_ID()").rows == ((0,),)
    assert "denied" in there.run("WITH x AS (SELECT 1) SELECT * FROM x INTO OUTFILE '/y'").error


@pytest.mark.parametrize(
    "statement", ["SELECT NOW(6), SYSDATE(), CURRENT_DATE", "SELECT RAND(), RAND()"]
)
def test_a_statement_that_is_played_again_finds_the_same(there: Session, statement: str):
    assert there.run(statement).rows
    assert there.run(statement) == there.run(statement)


def test_what_the_server_does_not_stop_is_killed(small_server: str, there: Session):
    start = time.monotonic()
    assert there.run(LOOP).error == server.TOO_LONG
    assert time.monotonic() - start >= FAST.seconds + server.GRACE
    assert there.run("SELECT COUNT(*) FROM t").rows == ((3,),)
    assert [state for state, text in busy(small_server) if text == LOOP and state != "Killed"] == []


def busy(address: str) -> list[tuple[str, str]]:
    """List what the account runs."""
    with pymysql.connect(unix_socket=server.address_of(address).socket, user="reader") as asking:
        cursor = asking.cursor()
        cursor.execute("SELECT command, info FROM information_schema.processlist")
        return list(cursor.fetchall())


def test_episodes_are_played_side_by_side(small_server: str):
    backend = server.Backend(server.address_of(small_server), Limits())
    sessions = [backend.begin(name) for name in ("shop", "club_1") * 20]
    found: dict[int, str] = {}

    def play(number: int) -> None:
        rows = [sessions[number].run("SELECT DATABASE()").rows for _ in range(5)]
        found[number] = str(set(rows))

    threads = [threading.Thread(target=play, args=(number,)) for number in range(len(sessions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(2)] == ["{(('shop',),)}", "{(('club_1',),)}"]
    assert all(found[number] == found[number % 2] for number in found)
    assert len(found) == 40


def test_an_address_is_read():
    assert server.address_of("/run/x.sock") == Address("reader", "/run/x.sock", "", 3306)
    assert server.address_of("me@/run/a@b:1") == Address("me", "/run/a@b:1", "", 3306)
    assert server.address_of("example.org") == Address("reader", "", "example.org", 3306)
    assert server.address_of("me@example.org:33") == Address("me", "", "example.org", 33)


@pytest.mark.parametrize("text", ["", "a@", "x.sock/", "host:port", "a b", "me@you@host"])
def test_what_is_no_address_is_refused(text: str):
    with pytest.raises(ValueError, match="legal is"):
        server.address_of(text)


def test_a_server_that_is_not_there_is_no_fault_of_a_statement(tmp_path: Path):
    backend = server.Backend(server.address_of(str(tmp_path / "x.sock")), Limits())
    with pytest.raises(OSError, match="no server at"):
        backend.begin("shop")


def test_a_state_within_the_servers_own_databases_can_be_graded(small_server: str):
    payload = {
        "question": "Which names are there?",
        "database": "shop",
        "gold": "SELECT name FROM t",
        "source": "spider",
        "protocol": "submit",
        "backend": "server",
        "limits": Limits()._asdict(),
        "dump": None,
        "sha256": None,
        "address": small_server,
    }
    about = Task("one", "test", "easy", "one", payload, 2)
    environment = intercode_sql.Environment()
    environment.reset(about, 0)
    assert environment.step("USE information_schema").valid
    key = environment.state_key()
    assert key.endswith(" information_schema")
    assert intercode_sql.step_quality(about, key, "SELECT 1", 3) == (0.0, 1.0)
    assert intercode_sql.step_quality(about, key, "SELECT name FROM shop.t", 3) == (1.0, 1.0)
    assert "SELECT 1" in intercode_sql.mistakes(about, key, 3)
    assert (
        "information_schema"
        not in server.Backend(server.address_of(small_server), Limits()).databases()
    )
