import pytest

from tests.ablation.studies import made
from turnscope.ablation import compare, show
from turnscope.ablation.asked import Asked

C1 = Asked("claim", "C1", "", ())
EVERYTHING = Asked("all", "all", "all", ())


@pytest.fixture
def before(tmp_path):
    return made(tmp_path / "before")


def comparison(before, after, asked=EVERYTHING, settings=()):
    files = compare.files(before, after)
    return show.Comparison(
        asked,
        list(settings),
        files,
        compare.claims(before, after),
        compare.estimates(before, after),
        compare.drawn(before, after, files.other),
    )


def test_what_comes_out_again_is_told_in_a_few_lines(before, tmp_path):
    found = comparison(before, made(tmp_path / "after", start="1"), C1)
    assert show.text(found) == [
        "again    claim C1",
        "changed  nothing, neither config nor code",
        "made     3 jobs: claims 1, estimate 1, figure 1",
        "",
        "claims: all 2 as before",
        "  claim  policy  before                        after",
        "  C1     grpo    holds   0.100 [0.000, 0.200]  same",
        "",
        "estimates: all 2 as before",
        "",
        "figures and tables: all 0 as before",
        "",
        "it comes out again: all 4 files are equal, byte for byte",
    ]
    assert show.same(found)


def test_a_change_is_told_with_both_sides(before, tmp_path):
    after = made(tmp_path / "after", value=0.3, verdict="inconclusive", start="1", draws=600)
    found = comparison(before, after, settings=["metrics.draws=600"])
    assert show.text(found) == [
        "again    what changed",
        "set      metrics.draws=600",
        "changed  settings.draws 500 -> 600  (estimate 1)",
        "made     3 jobs: claims 1, estimate 1, figure 1",
        "",
        "claims: 1 of 2 changed",
        "  claim  policy  before                        after",
        "  C1     grpo    holds   0.100 [0.000, 0.200]  inconclusive  0.300 [0.000, 0.200]",
        "",
        "estimates: 1 of 2 changed",
        "  metric, most moved first  policy       k  T   before                after"
        "                 changed",
        "  pass_at_kt                grpo - base  8  20  0.100 [0.000, 0.200]  "
        "0.300 [0.000, 0.200]  1 of 2",
        "",
        "figures and tables: 1 of 1 changed",
        "  figure or table  rows  changed  by at most",
        "  pass_at_k        2     1        0.2 value",
        "",
        "3 of 4 files came out otherwise",
    ]
    assert show.same(found)


def test_a_difference_that_nothing_explains_is_a_failure(before, tmp_path):
    found = comparison(before, made(tmp_path / "after", value=0.3, start="1"))
    assert show.verdict(found) == (
        "it does NOT come out again: nothing changed, yet 3 of 4 files differ"
    )
    assert not show.same(found)


def test_whoever_asks_for_a_claim_sees_that_claim(before, tmp_path):
    after = made(tmp_path / "after", value=0.3, start="1")
    asked = Asked("claim", "CA", "", ())
    lines = show.text(comparison(before, after, asked))
    start = lines.index("claims: 1 of 2 changed")
    assert lines[start : start + 4] == [
        "claims: 1 of 2 changed",
        "  claim  before      after",
        "  CA     not run  -  same",
        "  and 1 more, see README.md",
    ]
    assert [line for line in show.text(comparison(before, after, asked), None) if "  C1 " in line]


def test_nothing_made_is_said(before):
    found = comparison(before, before)
    assert show.text(found)[-1] == "nothing hangs on it, so nothing was made"


def test_the_page_holds_what_differs_and_the_command(before, tmp_path):
    found = comparison(before, made(tmp_path / "after", value=0.3, start="1"))
    show.write(found, tmp_path, "make again")
    page = (tmp_path / "README.md").read_text()
    assert page.startswith(f"# {show.verdict(found)}\n\nMade by `make again`.")
    assert "- `results/figures/pass_at_k.csv`\n" in page
    assert "pass_at_k.png" not in page
    assert len((tmp_path / "claims.csv").read_text().splitlines()) == 1 + 2
    assert len((tmp_path / "estimates.csv").read_text().splitlines()) == 1 + 1


def test_columns_are_aligned_and_those_without_a_word_left_out():
    rows = [["a", "b", "c"], ["1", "", "22"], ["333", "", "4"]]
    assert show.aligned(rows) == ["a    c", "1    22", "333  4"]
