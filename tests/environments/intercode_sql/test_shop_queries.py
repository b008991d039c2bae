import itertools
import json
import sqlite3
from collections import Counter, defaultdict

import pytest

from turnscope.environments.intercode_sql import results, shop_queries, shops
from turnscope.environments.intercode_sql.shop_queries import FORMS, Query
from turnscope.environments.intercode_sql.shops import COLUMNS, Shop

SHOP = Shop(
    "goods",
    (("price", "cost"), ("name", "title"), ("units", "left"), ("kind", "sort")),
    (("ball", "toy", 5, 2), ("saw", "tool", 9, 4), ("kite", "toy", 7, 1)),
)


@pytest.fixture(scope="module")
def drawn() -> dict[str, list]:
    return {
        split: [*shop_queries.problems(3, split, number, 4)]
        for split, number in (("train", 600), ("test", 300))
    }


def ask(shop: Shop, text: str) -> list:
    connection = sqlite3.connect(":memory:")
    connection.executescript(shops.script(shop))
    found = connection.execute(text).fetchall()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("query", "question", "text", "answer"),
    [
        (
            Query("names", "", "kind", "toy"),
            "names of kind toy",
            "SELECT title FROM goods WHERE sort = 'toy'",
            [("ball",), ("kite",)],
        ),
        (
            Query("lowest", "units", "kind", "toy"),
            "lowest units of kind toy",
            "SELECT MIN( left ) FROM goods WHERE sort = 'toy'",
            [(1,)],
        ),
        (
            Query("total", "units", "kind", "toy"),
            "total units of kind toy",
            "SELECT SUM( left ) FROM goods WHERE sort = 'toy'",
            [(3,)],
        ),
        (
            Query("highest", "price", "kind", "toy"),
            "highest price of kind toy",
            "SELECT MAX( cost ) FROM goods WHERE sort = 'toy'",
            [(7,)],
        ),
        (
            Query("order", "price", "", "down"),
            "names by price down",
            "SELECT title FROM goods ORDER BY cost DESC",
            [("saw",), ("kite",), ("ball",)],
        ),
        (
            Query("order", "name", "", "up"),
            "names by name up",
            "SELECT title FROM goods ORDER BY title",
            [("ball",), ("kite",), ("saw",)],
        ),
    ],
)
def test_questions_and_their_answers(query, question, text, answer):
    assert query in shop_queries.queries()
    assert shop_queries.describe(query) == question
    assert shop_queries.asked(question) == query
    assert shop_queries.gold(query, SHOP) == text
    assert ask(SHOP, text) == answer


def test_each_question_is_asked_in_one_way():
    questions = [shop_queries.describe(query) for query in shop_queries.queries()]
    assert len(set(questions)) == len(questions)
    assert {query.form for query in shop_queries.queries()} == {*FORMS}


def test_near_questions_differ_in_one_part():
    near = shop_queries.near(Query("lowest", "units", "kind", "toy"))
    assert Query("highest", "units", "kind", "toy") in near
    assert Query("lowest", "price", "kind", "toy") in near
    assert Query("lowest", "units", "kind", "food") in near
    assert Query("highest", "price", "kind", "toy") not in near
    query = Query("names", "", "above", "5")
    near = shop_queries.near(query)
    assert Query("names", "", "above", "6") in near
    assert Query("names", "", "below", "5") in near
    assert Query("names", "", "kind", "toy") in near
    assert Query("names", "", "above", "7") not in near
    assert query not in near
    assert all(shop_queries.near(one) for one in shop_queries.queries())


def test_a_shop_survives_json():
    fields = shops.fields_of(SHOP)
    assert json.loads(json.dumps(fields)) == fields
    assert shops.shop_of(fields) == SHOP


def test_names_and_texts_of_shops_are_told_apart():
    called = [*shops.TABLES, *itertools.chain(*COLUMNS.values())]
    assert len(set(called)) == len(called)
    assert not set(called) & {*shops.KINDS, *shops.NAMES}


def test_no_query_is_in_both_splits(drawn):
    texts = {split: {problem.gold for problem, _ in drawn[split]} for split in drawn}
    assert not texts["train"] & texts["test"]
    assert all(shop_queries.split_of(text) == split for split in texts for text in texts[split])


def test_no_shop_is_in_both_splits(drawn):
    names = {split: {problem.database for problem, _ in drawn[split]} for split in drawn}
    assert not names["train"] & names["test"]
    assert not {shop for _, shop in drawn["train"]} & {shop for _, shop in drawn["test"]}


def test_every_gold_query_finds_something_and_orders_have_no_ties(drawn):
    for problem, shop in drawn["test"]:
        found = ask(shop, problem.gold)
        assert found
        assert found[0][0] is not None
        for place in (0, 2, 3):
            assert len({row[place] for row in shop.rows}) == len(shop.rows)


def test_forms_are_asked_about_as_often(drawn):
    counts = Counter(problem.stratum for problem, _ in drawn["test"])
    assert set(counts) == set(FORMS)
    assert min(counts.values()) > 0.6 * len(drawn["test"]) / len(FORMS)


def test_no_shop_is_asked_the_same_twice(drawn):
    asked = defaultdict(list)
    for problem, _ in drawn["train"]:
        asked[problem.database].append(problem.question)
    assert max(map(len, asked.values())) <= shop_queries.QUESTIONS["train"]
    assert all(len(set(questions)) == len(questions) for questions in asked.values())


def test_more_names_are_used_when_asked_for():
    for names, tables in ((1, 1), (2, 2), (4, 4)):
        made = [*itertools.islice(shops.shops(1, "train", names), 80)]
        assert len({shop.table for shop in made}) == tables
        assert len({shop.column("price") for shop in made}) == min(names, 3)


def test_with_one_name_all_shops_are_alike_but_for_their_things():
    made = [*itertools.islice(shops.shops(1, "train", 1), 20)]
    assert len({(shop.table, shop.columns) for shop in made}) == 1
    assert len({shop.rows for shop in made}) == 20


def test_problems_are_a_function_of_their_seed():
    assert [*shop_queries.problems(3, "test", 20, 4)] == [*shop_queries.problems(3, "test", 20, 4)]
    assert [*shop_queries.problems(3, "test", 20, 4)] != [*shop_queries.problems(4, "test", 20, 4)]


def test_answers_are_those_of_the_database(drawn):
    for problem, shop in drawn["train"][:200]:
        found = shop_queries.answer(shop_queries.asked(problem.question), shop)
        assert [row[0] for row in ask(shop, problem.gold)] == found


def test_no_query_of_train_answers_a_test_question(drawn):
    for problem, shop in drawn["test"][::5]:
        right = ask(shop, problem.gold)
        for query in shop_queries.queries():
            text = shop_queries.gold(query, shop)
            if shop_queries.split_of(text) == "train":
                found = ask(shop, text)
                assert results.overlap(found, right, "ORDER" in problem.gold) < 1, text
