"""MariaDB servers for tests: each is started once, in a folder of its own, and stopped."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.environments.intercode_sql import real
from turnscope import wheels
from turnscope.environments.intercode_sql import mariadb, spider

SMALL = """
CREATE USER 'admin'@'%' IDENTIFIED BY 'admin';
GRANT ALL PRIVILEGES ON *.* TO 'admin'@'%';
CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci */;
USE `shop`;
CREATE TABLE `t` (
  `id` int NOT NULL,
  `name` text,
  `price` double DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB;
LOCK TABLES `t` WRITE;
INSERT INTO `t` VALUES (1,'lamp',9.5),(2,'chair',20),(3,'O\\'Brien',NULL);
UNLOCK TABLES;
CREATE TABLE `u` (
  `id` int DEFAULT NULL,
  `t_id` int DEFAULT NULL,
  KEY `t_id` (`t_id`),
  CONSTRAINT `u_1` FOREIGN KEY (`t_id`) REFERENCES `t` (`id`)
) ENGINE=InnoDB;
INSERT INTO `u` VALUES (1,1),(2,1),(3,2);
CREATE DATABASE `club_1` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci */;
USE `club_1`;
CREATE TABLE `member` (
  `id` int NOT NULL,
  `joined` datetime DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB;
INSERT INTO `member` VALUES (7,'2020-01-31 00:00:00');
"""
"""A dump by hand, with the account that InterCode's dump makes."""


def needed() -> None:
    """Skip the test where there is no MariaDB, but not in CI."""
    try:
        mariadb.find()
    except RuntimeError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@contextmanager
def running(dump: Path) -> Iterator[str]:
    """Start a server with a dump, and yield its address."""
    needed()
    # Paths of sockets must be short, which those of pytest need not be.
    folder = Path(tempfile.mkdtemp(prefix="turnscope-"))
    try:
        yield mariadb.start(folder, dump)
    finally:
        mariadb.stop(folder)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def small_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "small.sql"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def small_server(small_dump: Path) -> Iterator[str]:
    with running(small_dump) as address:
        yield address


@pytest.fixture(scope="session")
def spider_server() -> Iterator[str]:
    real.questions()
    real.scripts()  # so that the wheel is there, or else the test is skipped
    with running(wheels.folder([spider.WHEEL]) / spider.DUMP) as address:
        yield address
