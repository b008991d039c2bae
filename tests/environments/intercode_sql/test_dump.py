import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.intercode_sql import real
from turnscope.environments.intercode_sql import dump

DUMP = r"""
-- a comment; with a semicolon
CREATE USER 'admin'@'%' IDENTIFIED BY 'admin';
CREATE DATABASE  IF NOT EXISTS `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE `shop`;
--
-- Table
--
/*!40101 SET @saved = @@character_set_client; */;
DROP TABLE IF EXISTS `thing`;
CREATE TABLE `thing` (
  `id` int NOT NULL AUTO_INCREMENT,
  `name, of (it)` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT 'a,b',
  `price` decimal(6,2) NOT NULL DEFAULT '0.00' COMMENT 'in (coins)',
  `of` int DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `named` (`name, of (it)`(10)),
  KEY `i` (`of`),
  CONSTRAINT `fk` FOREIGN KEY (`of`) REFERENCES `thing` (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=utf8mb4;
LOCK TABLES `thing` WRITE;
/*!40000 ALTER TABLE `thing` DISABLE KEYS */;
INSERT INTO `thing` VALUES (1,'it\'s; a \"pen\"\\\n',-2.50,NULL),(2,'it''s',1e-3,1);
INSERT INTO `thing` VALUES (3,'AUTO_INCREMENT',0,2);
UNLOCK TABLES;
CREATE DATABASE `other`;
USE `other`;
CREATE TABLE `t` (`a` blob, `b` text);
INSERT INTO `t` VALUES (0xFF00,'a\0b'),(_binary 'xy','a\%b\_c\d');
USE `shop`;
CREATE TABLE `last` (`a` int);
"""


def made(script: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    return connection


def test_a_script_makes_the_tables_of_its_database():
    assert [*dump.scripts(DUMP)] == ["shop", "other"]
    with closing(made(dump.scripts(DUMP)["shop"])) as shop:
        assert shop.execute("SELECT * FROM thing").fetchall() == [
            (1, 'it\'s; a "pen"\\\n', -2.5, None),
            (2, "it's", 0.001, 1),
            (3, "AUTO_INCREMENT", 0, 2),
        ]
        assert shop.execute("SELECT * FROM last").fetchall() == []


def test_a_table_keeps_its_types_and_constraints():
    assert dump.scripts(DUMP)["shop"].startswith(
        "CREATE TABLE `thing` (\n"
        "  `id` int AUTO_INCREMENT NOT NULL,\n"
        "  `name, of (it)` varchar(20) DEFAULT 'a,b',\n"
        "  `price` decimal(6, 2) NOT NULL DEFAULT '0.00',\n"
        "  `of` int DEFAULT NULL,\n"
        "  PRIMARY KEY (`id`),\n"
        "  CONSTRAINT `named` UNIQUE (`name, of (it)`),\n"
        "  CONSTRAINT `fk` FOREIGN KEY (`of`) REFERENCES `thing` (`id`)\n"
        ");\n"
    )


def test_bytes_and_rare_escapes_are_kept():
    with closing(made(dump.scripts(DUMP)["other"])) as other:
        assert other.execute("SELECT * FROM t").fetchall() == [
            (b"\xff\x00", "a\0b"),
            (b"xy", r"a\%b\_cd"),
        ]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back(text: str):
    spelt = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\0", "\\0")
    written = f"USE `d`;\nCREATE TABLE `t` (`a` text);\nINSERT INTO `t` VALUES ('{spelt}');"
    with closing(made(dump.scripts(written)["d"])) as database:
        assert database.execute("SELECT a FROM t").fetchall() == [(text,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE `t` (`a` int);", "belongs to no database"),
        ("USE `d`; CREATE VIEW `v` AS SELECT 1;", "'CREATE VIEW `v` AS' is no part of a dump"),
        ("USE `d`; DELETE FROM `t`;", "is no part of a dump"),
        ("CREATE DATABASE d;", "'CREATE DATABASE d' has no name in backquotes"),
        ("USE `d`; CREATE TABLE `t`;", "'CREATE TABLE `t`' has another form than in a dump"),
        ("USE `d`; CREATE TABLE `t` ( `a` int, );", "has another form than in a dump"),
        ("USE `d`; INSERT INTO `t` VALUES ('a);", "has no end"),
        ("USE `d`; INSERT INTO `t` VALUES (1)", "legal is a semicolon"),
    ],
)
def test_what_is_no_dump_is_refused(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        dump.scripts(text)


def test_the_real_dump_has_all_of_its_rows():
    scripts = real.scripts()
    assert len(scripts) == 20
    tables = rows = 0
    for script in scripts.values():
        with closing(made(script)) as database:
            found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (name,) in found.fetchall():
                tables += 1
                rows += database.execute(f"SELECT count(*) FROM `{name}`").fetchone()[0]
    assert (tables, rows) == (81, 6952)
