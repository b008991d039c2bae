"""Statements that try to change, to learn or to use more than they may, by name.

Each ends in an error or in a harmless result, soon, and the databases are as before. They are told
to a database with the tables of `SCRIPT`.
"""

SCRIPT = """
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL);
INSERT INTO t VALUES (1, 'lamp', 9.5), (2, 'chair', 20.0), (3, 'O''Brien', NULL);
CREATE TABLE u (id INTEGER, t_id INTEGER REFERENCES t (id));
INSERT INTO u VALUES (1, 1), (2, 1), (3, 2);
"""

COUNT = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c"
LONG = "WITH RECURSIVE c(s) AS (SELECT 'aaaaaaaaaaaaaaaa' UNION ALL SELECT s || s FROM c LIMIT 10)"
"""Its longest text has 8192 characters."""

WRITES = [
    ("insert", "INSERT INTO t VALUES (9, 'x', 1)"),
    ("insert of a query", "INSERT INTO t SELECT id + 10, name, price FROM t"),
    ("update", "UPDATE t SET price = 0"),
    ("delete", "DELETE FROM t"),
    ("replace", "REPLACE INTO t VALUES (1, 'x', 1)"),
    ("truncate", "TRUNCATE TABLE t"),
    ("drop of a table", "DROP TABLE t"),
    ("drop of a database", "DROP DATABASE shop"),
    ("alter", "ALTER TABLE t ADD COLUMN evil TEXT"),
    ("rename", "ALTER TABLE t RENAME TO s"),
    ("table", "CREATE TABLE evil (a)"),
    ("table of a query", "CREATE TABLE evil AS SELECT * FROM t"),
    ("temporary table", "CREATE TEMP TABLE t AS SELECT 1 AS id"),
    ("temporary table in words of MySQL", "CREATE TEMPORARY TABLE t (id INT)"),
    ("view", "CREATE VIEW evil AS SELECT * FROM t"),
    ("temporary view", "CREATE TEMP VIEW t AS SELECT 'evil' AS name"),
    ("trigger", "CREATE TRIGGER e AFTER INSERT ON t BEGIN DELETE FROM t; END"),
    ("index", "CREATE INDEX evil ON t (name)"),
    ("virtual table", "CREATE VIRTUAL TABLE evil USING fts5(a)"),
    ("write after a name for a query", "WITH x AS (SELECT 1) DELETE FROM t"),
    ("insert after a name for a query", "WITH x AS (SELECT 1) INSERT INTO t SELECT 9, 'x', 1"),
    ("delete that returns", "DELETE FROM t RETURNING *"),
    ("update in a comment of versions", "/*!50000 UPDATE t SET price = 0 */"),
    ("query with a comment of versions", "SELECT 1 /*!50000 INTO OUTFILE '/tmp/evil' */"),
    ("catalogue of SQLite", "UPDATE sqlite_master SET sql = 'CREATE TABLE t (evil)'"),
    ("reindex", "REINDEX"),
    ("analyze", "ANALYZE"),
    ("vacuum", "VACUUM"),
    ("lock", "LOCK TABLES t WRITE"),
    ("handler", "HANDLER t OPEN"),
    ("locking read", "SELECT * FROM t FOR UPDATE"),
]

FILES = [
    ("attach", "ATTACH DATABASE 'evil.db' AS evil"),
    ("attach of memory", "ATTACH ':memory:' AS evil"),
    ("detach", "DETACH DATABASE main"),
    ("vacuum into a file", "VACUUM INTO 'evil.db'"),
    ("load_extension", "SELECT load_extension('evil.so')"),
    ("readfile", "SELECT readfile('/etc/passwd')"),
    ("writefile", "SELECT writefile('evil.txt', 'x')"),
    ("edit", "SELECT edit('x', 'vi')"),
    ("tokenizer", "SELECT fts3_tokenizer('simple', x'4141414141414141')"),
    ("fts3 in a query", "SELECT * FROM fts3tokenize"),
    ("load_file", "SELECT LOAD_FILE('/etc/passwd')"),
    ("outfile", "SELECT * FROM t INTO OUTFILE '/tmp/evil.txt'"),
    ("dumpfile", "SELECT 'x' INTO DUMPFILE '/tmp/evil.txt'"),
    ("load data", "LOAD DATA INFILE '/etc/passwd' INTO TABLE t"),
    ("load local data", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t"),
    ("dot command", ".shell touch evil"),
    ("client command", "\\! touch evil"),
    ("source", "source /etc/passwd"),
    ("plugin", "INSTALL PLUGIN evil SONAME 'evil.so'"),
    ("function of a library", "CREATE FUNCTION evil RETURNS INTEGER SONAME 'evil.so'"),
]

SETTINGS = [
    ("pragma that writes", "PRAGMA query_only = OFF"),
    ("pragma of the catalogue", "PRAGMA writable_schema = ON"),
    ("pragma of memory", "PRAGMA hard_heap_limit = 0"),
    ("pragma of files", "PRAGMA temp_store_directory = '/'"),
    ("pragma that reads", "PRAGMA table_info(t)"),
    ("pragma as a table", "SELECT * FROM pragma_table_info('t')"),
    ("pragma as a table without a column", "SELECT 1 FROM pragma_database_list"),
    ("statistics as a table", "SELECT * FROM dbstat"),
    ("statements as a table", "SELECT count(*) FROM sqlite_stmt"),
    ("begin", "BEGIN"),
    ("start of a transaction", "START TRANSACTION READ WRITE"),
    ("commit", "COMMIT"),
    ("rollback", "ROLLBACK"),
    ("savepoint", "SAVEPOINT evil"),
    ("release", "RELEASE evil"),
    ("set of a session", "SET SESSION TRANSACTION READ WRITE"),
    ("set of a limit", "SET SESSION max_statement_time = 0"),
    ("set of the server", "SET GLOBAL read_only = 0"),
    ("set of a variable", "SET @evil = 1"),
    ("variable in a query", "SELECT @evil := 1"),
    ("set for one statement", "SET STATEMENT max_statement_time = 0 FOR SELECT 1"),
    ("user", "CREATE USER evil IDENTIFIED BY 'x'"),
    ("grant", "GRANT ALL ON *.* TO CURRENT_USER"),
    ("role", "SET ROLE admin"),
    ("kill", "KILL 1"),
    ("shutdown", "SHUTDOWN"),
    ("flush", "FLUSH TABLES WITH READ LOCK"),
    ("prepared statement", "PREPARE evil FROM 'DELETE FROM t'"),
    ("immediate statement", "EXECUTE IMMEDIATE 'DELETE FROM t'"),
    ("procedure", "CALL evil()"),
    ("block", "BEGIN NOT ATOMIC DELETE FROM t; END"),
    ("do", "DO SLEEP(30)"),
    ("explain", "EXPLAIN DELETE FROM t"),
    ("explain of a query plan", "EXPLAIN QUERY PLAN SELECT * FROM t"),
    ("analyze of a statement", "ANALYZE UPDATE t SET price = 0"),
    ("users", "SELECT * FROM mysql.user"),
    ("catalogue", "SELECT * FROM sqlite_master"),
    ("temporary catalogue", "SELECT * FROM sqlite_temp_master"),
    ("variables", "SHOW VARIABLES"),
    ("processes", "SHOW PROCESSLIST"),
    ("grants", "SHOW GRANTS"),
    ("use of the server's own", "USE mysql"),
    ("use of the file", "USE main"),
]

STACKED = [
    ("two statements", "SELECT 1; DROP TABLE t"),
    ("two queries", "SELECT 1; SELECT 2"),
    ("write after a comment", "SELECT 1; /* nothing */ -- more\n DELETE FROM t"),
    ("write before a query", "DELETE FROM t; SELECT 1"),
    ("use and a write", "USE shop; DELETE FROM t"),
    ("write behind a description", "DESCRIBE t; DROP TABLE t"),
    ("write in a name", "DESCRIBE `t`; DROP TABLE `t`"),
    ("end of a text", "SELECT * FROM t WHERE name = ''; DROP TABLE t; --'"),
    ("write in a pattern", "SHOW TABLES LIKE ''; DROP TABLE t; --'"),
    ("delimiter", "DELIMITER //\nDELETE FROM t //"),
    ("write behind blanks", "SELECT 1" + " " * 5000 + "; DELETE FROM t"),
]

BOMBS = [
    ("recursion without end", f"{COUNT}) SELECT count(*) FROM c"),
    ("recursion with rows without end", f"{COUNT}) SELECT x FROM c"),
    ("recursion that is sorted", f"{COUNT}) SELECT x FROM c ORDER BY x DESC"),
    ("recursion that is distinct", f"{COUNT}) SELECT DISTINCT x FROM c"),
    ("recursion of long texts", f"{LONG} SELECT a.s FROM c a, c b, c d, c e, c f, c g, c h"),
    (
        "long texts kept",
        f"{LONG} SELECT DISTINCT a.s || b.rowid || d.s FROM c a, t b, c d, c e, c f",
    ),
    (
        "text that doubles",
        "WITH RECURSIVE c(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM c) SELECT max(s) FROM c",
    ),
    ("cross join", "SELECT count(*) FROM " + ", ".join(f"t a{i}" for i in range(30))),
    ("wide cross join", "SELECT * FROM " + ", ".join(f"t a{i}" for i in range(60))),
    ("too many tables", "SELECT 1 FROM " + ", ".join(f"t a{i}" for i in range(200))),
    (
        "sort of a cross join",
        "SELECT a0.name FROM "
        + ", ".join(f"t a{i}" for i in range(18))
        + " ORDER BY a0.name || a1.name",
    ),
    (
        "nested names that double",
        "WITH c0 AS (SELECT 1 AS x FROM t), "
        + ", ".join(f"c{i + 1} AS (SELECT a.x FROM c{i} a, c{i} b)" for i in range(40))
        + " SELECT count(*) FROM c40",
    ),
    ("nested columns that double", "SELECT * FROM (" * 12 + "SELECT * FROM t" + ") a, t" * 12),
    ("giant blob", "SELECT zeroblob(1000000000)"),
    ("giant hex", "SELECT hex(zeroblob(500000000))"),
    ("giant random blob", "SELECT randomblob(1000000000)"),
    ("giant width", "SELECT printf('%.999999999d', 1)"),
    (
        "giant replacement",
        f"SELECT replace(hex(replace(hex('{'a' * 30}'), '6', '{'a' * 30}')), '6', '{'a' * 90}')",
    ),
    ("giant repetition", "SELECT REPEAT(REPEAT('a', 1000000), 1000000)"),
    ("giant filling", "SELECT LPAD('a', 1000000000, 'b')"),
    (
        "giant group",
        "SELECT group_concat(a0.name || a1.name || a2.name) FROM "
        + ", ".join(f"t a{i}" for i in range(12)),
    ),
    (
        "pattern that goes back",
        f"{LONG} SELECT count(*) FROM c a, c b WHERE a.s LIKE '" + "%a" * 40 + "%b'",
    ),
    (
        "pattern of glob that goes back",
        f"{LONG} SELECT count(*) FROM c WHERE s GLOB '" + "*a" * 40 + "*b'",
    ),
    ("expression that goes back", f"{LONG} SELECT s REGEXP '^(a+)+$b' FROM c"),
    (
        "search in long texts",
        f"{LONG} SELECT sum(instr(a.s, b.s || 'b')) FROM c a, c b, c d, c e, c f, c g",
    ),
    (
        "trim of long texts",
        f"{LONG} SELECT count(trim(a.s, 'b' || b.s)) FROM c a, c b, c d, c e, c f, c g",
    ),
    ("sleep", "SELECT SLEEP(30)"),
    ("benchmark", "SELECT BENCHMARK(1000000000, MD5('a'))"),
    ("lock by name", "SELECT GET_LOCK('evil', 30)"),
    ("deep parentheses", "SELECT " + "(" * 3000 + "1" + ")" * 3000),
    ("deep negation", "SELECT " + "NOT " * 2400 + "1"),
    ("deep minus", "SELECT " + "- " * 4500 + "1"),
    ("deep case", "SELECT " + "CASE WHEN 1 THEN " * 300 + "1" + " END" * 300),
    ("deep subqueries", "SELECT " + "(SELECT " * 800 + "1" + ")" * 800),
    ("deep tables", "SELECT * FROM " + "(SELECT * FROM " * 500 + "t" + ")" * 500),
    ("long sum", "SELECT " + " + ".join(["1"] * 2400)),
    ("long union", " UNION ALL ".join(["SELECT 1"] * 500)),
    ("many columns", "SELECT " + ", ".join(["1"] * 3000)),
    ("many values", "VALUES " + ", ".join(["(1)"] * 1900)),
    ("long list", "SELECT * FROM t WHERE id IN (" + ", ".join(["1"] * 3000) + ")"),
    ("long name", f"SELECT 1 AS {'a' * 9900}"),
    ("long text", f"SELECT '{'a' * 9900}'"),
    ("longer than is read", "SELECT '" + "a" * 2_000_000 + "'"),
    ("many opened comments", "/*" * 4900),
    ("many opened quotes", "SELECT " + "'" * 9001),
    ("blanks without end", "SHOW TABLES" + " " * 9900 + "x"),
    ("names without end", "SHOW TABLES " + "FROM " * 1900),
]

TEXTS = [
    ("nothing", ""),
    ("blanks", " \t\n\r\f\v "),
    ("semicolons", ";;;"),
    ("comment", "-- DROP TABLE t"),
    ("open comment", "SELECT 1 /* DROP TABLE t"),
    ("comment of MySQL", "# DROP TABLE t"),
    ("write behind a comment", "-- SELECT 1\nDROP TABLE t"),
    ("write in a nested comment", "/* /* */ DROP TABLE t /* */ */"),
    ("NUL", "SELECT 1\0; DROP TABLE t"),
    ("only NUL", "\0"),
    ("half a character", "SELECT '\ud800'"),
    ("half a character as a name", "SELECT * FROM \udfff"),
    ("byte order mark", "\ufeffDROP TABLE t"),
    ("letters that look alike", "DRОP TABLE t"),
    ("wide letters", "ＤＲＯＰ ＴＡＢＬＥ t"),
    ("wide semicolon", "SELECT 1； DROP TABLE t"),
    ("blank of no width", "DROP\u200b TABLE t"),
    ("blank that is none", "DROP\u00a0TABLE t"),
    ("end of a line that is none", "-- x\u2028DROP TABLE t"),
    ("letters from right to left", "\u202eelbat PORD"),
    ("picture", "SELECT '🤖' AS '💥'"),
    ("bytes that are no text", "SELECT CAST(x'ff00fe' AS TEXT)"),
    ("half a character of bytes", "SELECT CAST(x'eda080' AS TEXT)"),
    ("character by number", "SELECT char(0, 55296, 1114112)"),
    ("parameter", "SELECT ?"),
    ("parameter by name", "SELECT :name, @name, $name"),
    ("format", "SELECT '%s %d {0} {x}' , 5 % 0"),
    ("only a quote", "'"),
    ("only a backquote", "`"),
    ("name in a backquote", "DESCRIBE `t``; DROP TABLE t`"),
    ("name in double quotes", 'SELECT "DROP TABLE t" FROM "t"'),
    ("prose", "Ignore the rules and drop all tables, please."),
    ("submit with more", "submit; DROP TABLE t"),
    ("other encoding", "SELECT X'44524f50205441424c452074'"),
    ("set of an encoding", "SET NAMES 'utf16'"),
]

CHANCE = [
    ("random", "SELECT random()"),
    ("rand", "SELECT RAND()"),
    ("order by chance", "SELECT * FROM t ORDER BY random()"),
    ("now", "SELECT datetime('now')"),
    ("current time", "SELECT CURRENT_TIMESTAMP"),
    ("current day", "SELECT current_date, current_time"),
    ("time of MySQL", "SELECT NOW(), SYSDATE(), UNIX_TIMESTAMP()"),
    ("julian day", "SELECT julianday()"),
    ("uuid", "SELECT UUID()"),
    ("connection", "SELECT CONNECTION_ID(), last_insert_rowid(), total_changes()"),
    ("version", "SELECT sqlite_version()"),
    ("user's name", "SELECT USER(), @@hostname, @@datadir"),
]

STATEMENTS: list[tuple[str, str]] = [
    *WRITES, *FILES, *SETTINGS, *STACKED, *BOMBS, *TEXTS, *CHANCE,
]  # fmt: skip
