import base64
import dataclasses
import gzip
import itertools
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from tests import simulated
from tests.figures import synthetic
from turnscope import report, tables
from turnscope.metrics import Settings, endings, pass_at_kt, truncation
from turnscope.report import Picture, Sheet, _studies, _words
from turnscope.types import Arm

SVG = (
    '<?xml version="1.0"?><svg width="237.6pt" height="100pt" xmlns="http://www.w3.org/2000/svg"/>'
)
PICTURE = Picture(
    name="pass_at_k",
    title="Success & attempts",
    caption="Share of tasks, <Pass>. More words.",
    svg=SVG,
    csv="k,value,policy\n" + "".join(f"{k},0.{k}23456789,grpo\n" for k in range(1, 21)),
)
CLAIM = {
    "claim": "C1",
    "section": "3.1",
    "text": "RL beats base",
    "paper": "direction",
    "env": "lake",
    "model": "nano",
    "policy": "grpo",
    "statistic": "D(k)",
    "value": -0.0321,
    "low": -0.05,
    "high": None,
    "null_value": None,
    "naive_value": None,
    "figure": "pass_at_k",
    "summary": None,
    "code": "claims.breadth",
    "rule": "band above 0 & so on",
    "verdict": "holds",
    "detail": "k=1: -0.03",
}
CODE = {"claims.breadth": "if value < 0:\n    pass\n"}
CALIBRATION = {
    "kind": "null",
    "family": "C1 <every k>",
    "studies": 500,
    "found": 12,
    "rate": 0.024,
    "low": 0.0125,
    "high": 0.0415,
    "expected": 0.05,
    "effect": None,
    "p_value": 0.998,
    "passed": True,
}
FACTS = {"Versions": {"torch": "2.13.0"}}
VOID = {"br", "img", "input", "link", "meta", "hr"}


def ledger(*changes: dict) -> pd.DataFrame:
    return tables.conform([CLAIM | change for change in changes or ({},)], "claims").to_pandas()


SHEET = Sheet(
    name="gains",
    title="Gains & losses",
    caption="What <each> arm gains.",
    csv="env,model,policy,share,gain,gain_low,gain_high,p,note\n"
    "lake,nano,base,0.25,,,,,plain\n"
    "lake,nano,grpo,0.25,-0.12345,-0.2,-0.05,0.00012,\n"
    "sql,nano,grpo,1.0,0.5,0.4,,0.5,odd\n",
)


def plain_estimates(**study) -> pd.DataFrame:
    """Return estimates without how episodes ended and without the training seeds as units."""
    rows = synthetic.estimates(**study)
    left_out = {*_studies.ENDINGS, *_studies.LENGTHS, "over_seeds"}
    return rows.loc[~rows["metric"].isin(left_out)]


def render(
    pictures=(PICTURE,),
    claims=None,
    estimates=None,
    facts=FACTS,
    sheets=(),
    arms=("grpo",),
    told=(),
    calibration=(),
    code=CODE,
) -> str:
    return report.render(
        pictures,
        ledger() if claims is None else claims,
        plain_estimates() if estimates is None else estimates,
        k=8,
        margin=0.04,
        arms={arm: Arm(arm, arm, arm in told) for arm in arms},
        sheets=sheets,
        facts=facts,
        calibration=tables.conform(list(calibration), "calibration").to_pandas(),
        code=code,
    )


class Page(HTMLParser):
    """Elements in order, whether they nest well, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def text_of(html: str) -> str:
    return " ".join(Page(html).text.split())


def test_nothing_is_loaded_from_elsewhere():
    html = render()
    for _, attributes in Page(html).elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert not Page(html).all("script")
    assert not re.search(r"@import|url\(", html)
    assert "default-src 'none'" in html


def test_the_document_is_well_formed_and_can_be_navigated():
    page = Page(render())
    assert page.open == []
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("title")) == len(page.all("main")) == len(page.all("h1")) == 1
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    links = [str(link["href"]) for link in page.all("a")]
    assert {link[1:] for link in links if link.startswith("#")} <= set(names)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(head.get("scope") for head in page.all("th"))


def test_equal_inputs_give_equal_bytes():
    assert render() == render()


def test_a_figure_and_its_data_can_be_got_back():
    page = Page(render())
    image = page.all("img")[0]
    assert base64.b64decode(str(image["src"]).split(",")[1]).decode() == SVG
    assert image["alt"] == (
        "Success & attempts. Share of tasks, <Pass>. All numbers are in the table."
    )
    assert "width: 444px" in str(image["style"])
    link = next(link for link in page.all("a") if "download" in link)
    assert link["download"] == "pass_at_k.csv"
    assert base64.b64decode(str(link["href"]).split(",")[1]).decode() == PICTURE.csv
    assert "20 rows; the first 12 are" in text_of(render())


def test_a_claim_is_told_with_its_interval_rule_and_verdict():
    text = text_of(render(claims=ledger({"null_value": 0.43})))
    assert "C1 · RL beats base" in text
    assert "Holds if: band above 0 & so on. Section 3.1 of the paper." in text
    assert "−0.032 [−0.050, –]" in text
    assert "lake · nano · grpo" in text
    assert "Without any effect it would be 0.430." in text
    assert "✓ holds" in text


def test_what_an_artefact_would_say_stands_beside_the_number():
    html = render(claims=ledger({"null_value": 0.428, "naive_value": 0.653}))
    text = text_of(html)
    assert "Without any effect it would be 0.428." in text
    assert "The protocol that an artefact fakes would have said 0.653." in text
    assert "two others stand beside it" in text
    for words in ("Without any effect", "artefact"):
        assert words not in text_of(render())


def test_a_claim_leads_to_its_figure_its_table_and_the_code_that_judged_it():
    claims = ledger({"summary": "gains"}, {"claim": "C2", "verdict": "not run"})
    html = render(claims=claims, sheets=[SHEET])
    text = text_of(html)
    assert "See figure pass_at_k, table gains, code claims.breadth." in text
    assert "See figure pass_at_k, code claims.breadth." in text
    names = {attributes.get("id") for _, attributes in Page(html).elements}
    for anchor in ("pass_at_k", "table-gains", "code-claims.breadth"):
        assert f'href="#{anchor}"' in html
        assert anchor in names
    nowhere = {"figure": None, "summary": None, "code": None}
    assert "See " not in text_of(render(claims=ledger(nowhere)))


def test_a_claim_leads_to_nothing_that_the_page_does_not_hold():
    html = render(pictures=(), claims=ledger({"summary": "gains"}), code={})
    assert "See " not in text_of(html)
    assert 'id="code"' not in html


def test_the_code_that_judged_is_in_the_page_once_and_whole():
    html = render(claims=ledger({}, {"policy": "gigpo"}))
    code = html.split('<details id="code-claims.breadth"')[1].split("</details>")[0]
    assert "<code>if value &lt; 0:\n    pass\n</code>" in code
    assert html.count("if value &lt; 0:") == 1


def test_the_calibration_is_told_with_what_it_should_be():
    planted = {"kind": "planted", "family": "C3a", "effect": 0.1, "passed": False}
    html = render(calibration=[CALIBRATION, CALIBRATION | planted])
    assert 'href="#instrument"' in html
    part = html.split('<h2 id="instrument">')[1].split("</section>")[0]
    rows = [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in part.split("<tr>")[2:]]
    null = "C1 &lt;every k&gt; null – 500 12 0.024 [0.013, 0.042] 0.050 0.998 ✓ yes"
    assert rows[0] == null.replace("[0.013, 0.042]", _words.interval(0.0125, 0.0415))
    assert rows[1].startswith("C3a planted 0.100 500")
    assert rows[1].endswith("✗ no")
    assert "instrument" not in render()
    naive = {"kind": "naive", "family": "naive: shares", "passed": False}
    page = render(calibration=[CALIBRATION | naive])
    part = page.split('<h2 id="instrument">')[1].split("</section>")[0]
    assert "the protocols that Turnscope avoids" in part
    assert "✗" not in part
    assert part.split("<tr>")[-1].count(">artefact<") == 1


def test_figures_stand_under_headings_and_unknown_ones_last():
    names = ("my_own", "robustness", "pass_at_t", "llr", "pass_at_k")
    html = render(pictures=[dataclasses.replace(PICTURE, name=name) for name in names])
    part = html.split('<h2 id="figures">')[1].split("</section>")[0]
    found = re.findall(r'<h3 id="figures-[^>]*>([^<]*)|<figure id="([^"]*)"', part)
    assert [heading or name for heading, name in found] == [
        *("Breadth and depth", "pass_at_t", "pass_at_k"),
        *("Likelihood", "llr"),
        *("Robustness", "robustness"),
        *("Other figures", "my_own"),
    ]
    contents = html.split("<nav")[1].split("</nav>")[0]
    assert [name for name in names if f'href="#{name}"' not in contents] == []


def test_a_large_table_is_packed():
    rows = "k,value\n" + "".join(f"{k},{k / 7}\n" for k in range(9000))
    html = render(pictures=[dataclasses.replace(PICTURE, csv=rows)])
    link = next(link for link in Page(html).all("a") if "download" in link)
    assert link["download"] == "pass_at_k.csv.gz"
    packed = base64.b64decode(str(link["href"]).split(",")[1])
    assert gzip.decompress(packed).decode() == rows
    assert len(packed) < len(rows) / 2


def test_verdicts_are_counted_and_never_told_by_colour_alone():
    changes = [{"verdict": verdict, "claim": f"C{i}"} for i, verdict in enumerate(report.MARKS)]
    text = text_of(render(claims=ledger(*changes, {"verdict": "holds"})))
    assert "✓ 1 reproduced ✓ 2 holds ✗ 1 contradicted ? 1 inconclusive – 1 not run" in text
    assert "1 not run in this study" in text


def test_a_claim_judged_for_several_arms_is_told_once():
    arms = [{"policy": arm} for arm in ("gigpo", "grpo", "ppo")]
    html = render(claims=ledger(*arms))
    assert text_of(html).count("RL beats base") == 1
    assert 'rowspan="3"' in html
    for arm in ("gigpo", "grpo", "ppo"):
        assert f"lake · nano · {arm}" in html


def test_a_claim_judged_for_many_arms_is_counted_and_folds_away():
    arms = [{"policy": arm, "verdict": "holds"} for arm in synthetic.FIFTEEN[:9]]
    arms += [{"policy": arm, "verdict": "inconclusive"} for arm in synthetic.FIFTEEN[9:]]
    html = render(claims=ledger(*arms, {"claim": "C2"}))
    claims = html.split('<h2 id="claims">')[1].split("</section>")[0]
    assert claims.count("RL beats base") == 2
    assert claims.count("Verdicts on C1") == claims.count(">All 15<") == 1
    text = text_of(html)
    assert "✓ 9 holds ? 6 inconclusive All 15" in text
    for arm in synthetic.FIFTEEN:
        assert f"lake · nano · {arm} " in text
    assert Page(html).open == []


def sheet_rows(html: str) -> list[list[str]]:
    """Return head and rows of the tables of `SHEET`."""
    part = html.split('<h2 id="tables">')[1].split("</section>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in part.split("<tr>")[1:]]
    return [[re.sub("<span[^>]*>", " ", cell).replace("</span>", "") for cell in r] for r in rows]


def test_a_table_is_shown_by_environment_with_its_intervals():
    html = render(sheets=[SHEET])
    head = ["policy", "share", "gain", "p", "note"]
    assert sheet_rows(html) == [
        head,
        ["base", "0.25", "–", "–", "plain"],
        ["grpo", "0.25", "−0.123 [−0.2, −0.05]", "1.2e−04", "–"],
        head,
        ["grpo", "1.0", "0.5 [0.4, –]", "0.5", "odd"],
    ]
    text = text_of(html)
    assert "Gains & losses What <each> arm gains. gains.csv, 3 rows lake · nano" in text
    assert "sql · nano" in text
    links = [link for link in Page(html).all("a") if link.get("download") == "gains.csv"]
    assert base64.b64decode(str(links[0]["href"]).split(",")[1]).decode() == SHEET.csv
    assert 'href="#tables"' in html
    assert Page(html).open == []


def test_a_table_without_environments_or_rows_is_shown_too():
    html = render(sheets=[Sheet("plain", "Plain", "Words.", "what,value\nturns,3\n")])
    assert sheet_rows(html) == [["what", "value"], ["turns", "3"]]
    html = render(sheets=[Sheet("empty", "Empty", "Words.", "what,value\n")])
    assert "empty.csv, 0 rows" in text_of(html)
    assert "tables" not in render()


def test_numbers_among_words_are_not_rounded_and_long_words_may_break():
    text = "a text that is longer than most and need not stand on a single line"
    rows = f"env,model,setting,value\n,,learning rate,0.0007\n,,why,{text}\n"
    html = render(sheets=[Sheet("plain", "Plain", "Words.", rows)])
    assert sheet_rows(html)[1] == ["learning rate", "0.0007"]
    assert f'<td class="long">{text}</td>' in html
    assert "<caption>" not in html.split('<h2 id="tables">')[1].split("</section>")[0]


def test_arms_stand_in_the_order_of_the_study():
    arms = ("grpo", "gigpo", "oracle_process", "budget_mix")
    html = render(estimates=synthetic.estimates(arms=arms), arms=arms)
    for section, seeds in (("numbers", []), ("endings", [0, 1, 2])):
        part = html.split(f'<h2 id="{section}">')[1].split("</section>")[0]
        expected = ["base"]
        for arm in arms:
            expected += [arm, *(f"{arm}-s{seed}" for seed in seeds)]
        assert re.findall(r'<th scope="row">([^<]*)', part) == expected


def test_an_arm_that_was_trained_told_is_said_to_be_played_blind():
    estimates = synthetic.estimates()
    words = "grpo is played blind here, without the turns left it was trained with."
    assert words not in text_of(render(estimates=estimates))
    html = render(estimates=estimates, arms=("grpo", "ppo"), told=("grpo", "ppo"))
    for section in ("numbers", "endings"):
        assert words in html.split(f'<h2 id="{section}">')[1].split("</section>")[0]


def test_an_unknown_verdict_is_refused():
    with pytest.raises(ValueError, match="'maybe'; known: reproduced"):
        render(claims=ledger({"verdict": "maybe"}))


def test_words_from_outside_cannot_become_markup():
    html = render(claims=ledger({"text": "<script>alert(1)</script>"}))
    assert not Page(html).all("script")
    assert "&lt;script&gt;" in html


def test_main_numbers_are_the_estimates():
    estimates = plain_estimates()
    row = estimates[
        (estimates["metric"] == "pass_at_k")
        & (estimates["policy"] == "grpo")
        & (estimates["against"] == "base")
        & (estimates["k"] == 8)
        & (estimates["t"] == 12)
    ].iloc[0]
    text = text_of(render(estimates=estimates))
    assert _words.number(row["value"], sign=True) in text
    assert _words.interval(row["low"], row["high"], sign=True) in text
    assert "60 test tasks, 16 episodes of each by each policy, T_max = 12 turns" in text
    assert "over seeds, k" not in text  # no such estimate was given, so no empty column


def cells_after(html: str, section: str, policy: str) -> list[str]:
    """Return the cells of a policy's first row in a section."""
    part = html.split(f'<h2 id="{section}">')[1].split("</section>")[0]
    row = part.split(f'<th scope="row">{policy}</th>')[1].split("</tr>")[0]
    return re.findall(r"<td[^>]*>(?:<span[^>]*>)?([^<]*)", row)


def test_the_self_test_is_told_with_its_margin():
    frames = simulated.study(1, tasks=60, episodes=8, resampled=[6], resampled_tasks=60)
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=200, seed=1)
    found = truncation.estimate(*frames, settings)
    tested = found["metric"] == "truncation_equivalence"
    found.loc[tested, ["value", "low", "high"]] = [0.011, -0.02, 0.03]
    found.loc[tested, "p_value"] = 0.04
    found.loc[found["metric"] == "truncation", "p_value"] = 0.321
    found.loc[tested & (found["policy"] == "grpo-s1"), "p_value"] = 0.06
    found.loc[tested & (found["policy"] == "grpo-s2"), "p_value"] = None
    levels = pass_at_kt.estimate(*frames, settings)
    html = render(estimates=pd.concat([levels, found]))
    expected = ["1", "6", "60", "+0.011", "[−0.020, +0.030]", "0.04", "0.321"]
    assert cells_after(html, "selftest", "base") == [*expected, "yes"]
    for policy in ("grpo-s1", "grpo-s2"):
        assert cells_after(html, "selftest", policy) == [*expected, "not shown"]
    assert "lies within the margin of 0.04" in text_of(html)
    assert 'href="#selftest"' in html
    assert 'href="#endings"' not in html
    assert "selftest" not in render()


def test_how_episodes_ended_is_told_and_failures_are_seen():
    tasks, episodes = simulated.study(1, tasks=20, episodes=8)
    failed = (episodes["policy"] == "grpo-s0") | (
        (episodes["policy"] == "base") & (episodes["task_id"] == tasks["task_id"].iloc[-1])
    )
    episodes.loc[failed, "stop"] = "error"
    episodes.loc[failed, "success"] = pd.NA
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=200, seed=1)
    found = endings.estimate(tasks, episodes, settings)
    html = render(estimates=pd.concat([pass_at_kt.estimate(tasks, episodes, settings), found]))
    never = cells_after(html, "endings", "grpo-s0")
    assert never == ["0.0%", "0.0%", "0.0%", "0.0%", "100.0%", "–", "–", "–", "20"]
    some = cells_after(html, "endings", "base")
    assert (some[4], some[8]) == ("5.0%", "1")
    assert sum(float(share.strip("%")) for share in some[:5]) == pytest.approx(100, abs=0.2)
    assert cells_after(html, "endings", "grpo-s1")[8] == "0"


def test_verdicts_are_told_to_depend_on_the_training_seeds():
    assert "its mean over 3 training seeds, with intervals over test tasks" in text_of(render())
    one = plain_estimates(seeds=1)
    assert "its mean over 1 training seed, with" in text_of(render(estimates=one))
    assert "conditional on" not in text_of(render(claims=ledger().iloc[:0]))


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0.0%"),
        (0.0004, "< 0.1%"),
        (0.25, "25.0%"),
        (0.9999, "> 99.9%"),
        (1.0, "100.0%"),
        (None, "–"),
    ],
)
def test_a_rare_ending_does_not_read_as_none(share, words):
    assert _words.percent(share) == words


def test_a_study_without_results_still_has_a_report():
    nothing = synthetic.estimates().iloc[:0]
    text = text_of(render(pictures=(), claims=ledger().iloc[:0], estimates=nothing, facts={}))
    assert "No claim was judged" in text
    assert "draws no figure" in text


@pytest.mark.parametrize(
    ("value", "sign", "words"),
    [
        (0.12345, False, "0.123"),
        (0.12345, True, "+0.123"),
        (-0.5, False, "−0.500"),
        (228.123, False, "228.1"),
        (0, True, "+0.000"),
        (None, False, "–"),
        (float("nan"), False, "–"),
        (-1e-18, False, "0.000"),
    ],
)
def test_numbers_are_written_for_a_reader(value, sign, words):
    assert _words.number(value, sign) == words
