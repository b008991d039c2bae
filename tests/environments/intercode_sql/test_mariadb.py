import subprocess
import sys
from pathlib import Path

import pymysql
import pytest

from tests.environments.intercode_sql.conftest import needed, running
from turnscope.environments.intercode_sql import mariadb, server
from turnscope.environments.intercode_sql.backends import Limits

pytestmark = pytest.mark.slow


def test_the_private_server(tmp_path: Path, small_dump: Path):
    with running(small_dump) as address:
        backend = server.Backend(server.address_of(address), Limits())
        session = backend.begin("shop")
        folder = Path(server.address_of(address).socket).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        pid = (folder / "pid").read_text()
        # What is there is used again.
        assert mariadb.start(folder, small_dump) == address
        assert (folder / "pid").read_text() == pid
        other = tmp_path / "other.sql"
        other.write_text("CREATE DATABASE x;")
        with pytest.raises(ValueError, match="holds another dump"):
            mariadb.start(folder, other)
        # The account of the dump is gone, and that which is left may only read what was loaded.
        with pytest.raises(pymysql.MySQLError, match="Access denied"):
            pymysql.connect(
                unix_socket=str(folder / "mariadb.sock"), user="admin", password="admin"
            )
        grants = mariadb._ask(folder, "SHOW GRANTS FOR reader@localhost")
        assert sorted(grant.split(" TO ")[0] for (grant,) in grants) == [
            r"GRANT SELECT, SHOW VIEW ON `club\_1`.*",
            "GRANT SELECT, SHOW VIEW ON `shop`.*",
            "GRANT USAGE ON *.*",
        ]
        assert command(folder, "--stop") == ""
        with pytest.raises(OSError, match="no server at"):
            session.run("SELECT 1")
        assert command(folder, "--stop") == ""
        assert command(folder, "--dump", str(small_dump)) == f"{address}\n"
        assert session.run("SELECT COUNT(*) FROM t").rows == ((3,),)


def command(folder: Path, *options: str) -> str:
    module = "turnscope.environments.intercode_sql.mariadb"
    return subprocess.run(
        [sys.executable, "-m", module, str(folder), *options],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, small_dump: Path):
    needed()
    kept = tmp_path / "data" / "kept"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(ValueError, match="holds other things"):
        mariadb.start(tmp_path, small_dump)
    assert kept.read_text() == "mine"


def test_a_path_that_is_too_long_for_a_socket_is_refused(tmp_path: Path, small_dump: Path):
    needed()
    with pytest.raises(ValueError, match="too long"):
        mariadb.start(tmp_path / ("x" * 100), small_dump)


def test_a_server_that_does_not_start_says_why(tmp_path: Path, small_dump: Path):
    with running(small_dump) as address:
        folder = Path(server.address_of(address).socket).parent
        mariadb.stop(folder)
        (folder / "data" / "ibdata1").write_text("nothing")
        with pytest.raises(RuntimeError, match=r"mariadbd did not start: .*\[ERROR\]"):
            mariadb.start(folder, small_dump)


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mariadb, "WHERE", ())
    with pytest.raises(RuntimeError, match="there is no mariadbd here; it is in mariadb-server"):
        mariadb.find()


def test_a_dump_that_cannot_be_loaded_is_told(tmp_path: Path):
    path = tmp_path / "x.sql"
    path.write_text("CREATE DATABASE x; CREATE NOTHING;")
    with pytest.raises(RuntimeError, match="mariadb failed: ERROR 1064"), running(path):
        pass
