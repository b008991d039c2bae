"""Start a MariaDB server that is private to one user, with the databases of a dump in it.

    python -m turnscope.environments.intercode_sql.mariadb FOLDER [--dump FILE]
    python -m turnscope.environments.intercode_sql.mariadb FOLDER --stop

The first prints the address of the server. It can be run again: what is there is used again. The
server needs no rights and listens only to a socket in the folder, which only its user can enter.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pymysql

from turnscope import atomic, wheels
from turnscope.environments.intercode_sql import spider
from turnscope.environments.intercode_sql.server import OWN, USER

PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb")
WHERE = ("/usr/sbin", "/usr/local/sbin")
"""Where programs may be beside PATH: that of a plain user lacks them."""
PACKAGES = "mariadb-server-core and mariadb-client-core of Debian or Ubuntu"
PATIENCE = 60.0
"""Seconds until a server has started or stopped."""
LINE = 1 << 28
"""Bytes of a statement of a dump."""
LONGEST = 107
"""Bytes of the path of a socket, as Linux has it."""
LAX = (
    *("--loose-innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"),
    *("--loose-debug-no-sync", "--skip-sync-frm", "--skip-innodb-doublewrite"),
)
"""Waits for no disk, which is ten times as fast: what is in it can be loaded again."""
SERVER = (
    *("--skip-networking", "--skip-name-resolve", "--skip-log-bin", "--skip-symbolic-links"),
    *("--lower-case-table-names=1", "--sysdate-is-now", "--max-connections=1000"),
    *("--performance-schema=OFF", "--local-infile=OFF"),
    *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M"),
    # No text that a statement makes is longer.
    f"--max-allowed-packet={1 << 20}",
    # Plans, and with them the order of rows that tie, are the same in all servers with one dump.
    *("--innodb-stats-auto-recalc=OFF", "--innodb-stats-persistent-sample-pages=1000"),
)
"""How the server runs; names of tables are read in any case, as InterCode has it."""


def find() -> dict[str, str]:
    """Return where the programs are.

    Raises:
        RuntimeError: One is missing.
    """
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *WHERE])
    found = {name: shutil.which(name, path=places) for name in PROGRAMS}
    if missing := [name for name, place in found.items() if place is None]:
        raise RuntimeError(f"there is no {missing[0]} here; it is in {PACKAGES}")
    return {name: str(place) for name, place in found.items()}


def start(folder: Path, dump: Path) -> str:
    """Start a server with the databases of a dump, unless it runs already.

    Args:
        folder: Where its files are, and all that it writes; on a disk of this machine.
        dump: SQL as `mysqldump --databases` writes it; it is loaded as it is.

    Returns:
        Its address, for `server.address_of`.

    Raises:
        ValueError: The folder cannot be used, or holds another dump.
        RuntimeError: A program is missing or fails.
    """
    programs = find()
    folder = folder.absolute()
    digest = hashlib.sha256(dump.read_bytes()).hexdigest()
    with _locked(folder):
        loaded = folder / "dump.sha256"
        if loaded.exists() and loaded.read_text() != digest:
            raise ValueError(f"{folder} holds another dump; legal is {dump}, or another folder")
        if not loaded.exists():
            _shut_down(folder)
            _install(programs, folder)
        if not _answers(folder):
            _launch(programs, folder)
        if not loaded.exists():
            _load(programs, folder, dump)
            _shut_down(folder)
            _launch(programs, folder)
            atomic.write_text(digest, loaded)
    return f"{USER}@{_socket(folder)}"


def stop(folder: Path) -> None:
    """Stop the server of a folder, if it runs; its databases stay.

    Raises:
        RuntimeError: It does not end.
    """
    folder = folder.absolute()
    if folder.is_dir():
        with _locked(folder):
            _shut_down(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make a folder private and let nobody else start or stop its server for a while."""
    if len(os.fsencode(_socket(folder))) > LONGEST:
        raise ValueError(f"path {_socket(folder)} is too long; legal are {LONGEST} bytes")
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "turnscope.lock"
    if not lock.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds other things; legal is an empty folder, or a new one")
    # The server lets everybody use its socket, so nobody else may reach it.
    folder.chmod(0o700)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _socket(folder: Path) -> Path:
    return folder / "mariadb.sock"


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _as_root() -> list[str]:
    """Say that root is meant, where it is root who asks: the server would not have it otherwise."""
    return ["--user=root"] if os.geteuid() == 0 else []


def _install(programs: dict[str, str], folder: Path) -> None:
    """Make the files of a server without databases, whose administrator is the present user."""
    for name in ("data", "scratch", "nothing"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    _run(
        [
            *(programs["mariadb-install-db"], "--no-defaults", f"--datadir={folder / 'data'}"),
            *("--auth-root-authentication-method=socket", f"--auth-root-socket-user={_user()}"),
            *("--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=8M", *LAX),
            *(f"--tmpdir={folder / 'scratch'}", *_as_root()),
        ]
    )


def _launch(programs: dict[str, str], folder: Path) -> None:
    """Start the server and wait until it answers; it goes on when this process ends."""
    log = folder / "log"
    command = [
        *(programs["mariadbd"], "--no-defaults", *SERVER, *LAX, *_as_root()),
        *(f"--datadir={folder / 'data'}", f"--tmpdir={folder / 'scratch'}"),
        *(f"--socket={_socket(folder)}", f"--pid-file={folder / 'pid'}"),
        f"--secure-file-priv={folder / 'nothing'}",
    ]
    with log.open("wb") as said:
        subprocess.run(
            # The shell leaves at once, so the server is no child of this process.
            ["sh", "-c", '"$@" &', "sh", *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
            check=True,
        )
    end = time.monotonic() + PATIENCE
    while not _answers(folder):
        lines = log.read_text(errors="replace").splitlines() or ["nothing"]
        if time.monotonic() > end or lines[-1].endswith("Aborting"):
            faults = [line for line in lines[:-1] if "[ERROR]" in line] or lines
            raise RuntimeError(f"mariadbd did not start: {faults[-1]}; see {log}")
        time.sleep(0.05)


def _load(programs: dict[str, str], folder: Path, dump: Path) -> None:
    """Load a dump, and leave one account beside the administrator, which may only read."""
    before = _ask(folder, "SELECT user, host FROM mysql.user")
    usual = _ask(folder, "SELECT @@global.max_allowed_packet")[0]
    _ask(folder, f"SET GLOBAL max_allowed_packet = {LINE}")
    with dump.open("rb") as script:
        _run(
            [
                *(programs["mariadb"], "--no-defaults", f"--socket={_socket(folder)}"),
                *(f"--user={_user()}", "--default-character-set=utf8mb4"),
                f"--max-allowed-packet={LINE}",
            ],
            stdin=script,
        )
    _ask(folder, f"SET GLOBAL max_allowed_packet = {usual[0]}")
    databases = [name for (name,) in _ask(folder, "SHOW DATABASES") if name.lower() not in OWN]
    if not databases:
        raise RuntimeError(f"{dump} holds no database; legal is what mysqldump --databases writes")
    for user, host in _ask(folder, "SELECT user, host FROM mysql.user"):
        if (user, host) not in before:
            _ask(folder, "DROP USER %s@%s", user, host)
    _ask(folder, "CREATE USER %s@localhost", USER)
    for name in databases:
        # An underscore would stand for any character.
        pattern = name.replace("_", r"\_").replace("%", r"\%").replace("`", "``")
        _ask(folder, f"GRANT SELECT, SHOW VIEW ON `{pattern}`.* TO %s@localhost", USER)
    tables = "SELECT table_schema, table_name FROM information_schema.tables"
    for place in _ask(folder, f"{tables} WHERE table_type = 'BASE TABLE'"):
        if place[0] in databases:
            table = ".".join("`{}`".format(name.replace("`", "``")) for name in place)
            _ask(folder, f"ANALYZE TABLE {table}")


def _ask(folder: Path, statement: str, *values: str) -> Sequence[tuple[Any, ...]]:
    """Run a statement as the administrator."""
    with pymysql.connect(
        unix_socket=str(_socket(folder)), user=_user(), autocommit=True, ssl_disabled=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(statement, values or None)
        return cursor.fetchall()


def _answers(folder: Path) -> bool:
    """Whether the server runs."""
    try:
        return bool(_ask(folder, "SELECT 1"))
    except pymysql.MySQLError:
        return False


def _shut_down(folder: Path) -> None:
    if not _answers(folder):
        return
    _ask(folder, "SHUTDOWN")
    end = time.monotonic() + PATIENCE
    while (folder / "pid").exists():
        if time.monotonic() > end:
            raise RuntimeError(f"mariadbd of {folder} does not end; see {folder / 'log'}")
        time.sleep(0.05)


def _run(command: Sequence[str], stdin: Any = subprocess.DEVNULL) -> None:
    """Run a program.

    Raises:
        RuntimeError: It fails; says how it ended.
    """
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise RuntimeError(f"{Path(command[0]).name} failed: {said}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Start or stop a server, as the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m turnscope.environments.intercode_sql.mariadb",
        description="Start a private MariaDB server with a dump in it, and print its address.",
    )
    parser.add_argument("folder", type=Path, help="where its files are; made if need be")
    parser.add_argument(
        "--dump", type=Path, help="SQL file; without it, Spider as InterCode has it"
    )
    parser.add_argument("--stop", action="store_true", help="stop it instead")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.stop:
            stop(chosen.folder)
        else:
            dump = chosen.dump or wheels.folder([spider.WHEEL]) / spider.DUMP
            sys.stdout.write(f"{start(chosen.folder, dump)}\n")
    except (OSError, RuntimeError, ValueError, pymysql.MySQLError) as failure:
        parser.exit(1, f"{parser.prog}: {failure}\n")


if __name__ == "__main__":
    main()
