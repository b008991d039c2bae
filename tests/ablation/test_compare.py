import shutil

import pytest

from tests.ablation.studies import made
from turnscope.ablation import compare


@pytest.fixture
def before(tmp_path):
    return made(tmp_path / "before")


def test_a_study_equals_itself_in_every_row(before):
    files = compare.files(before, before)
    assert files == compare.Files({}, {}, 0, [])
    for rows, number in (
        (compare.claims(before, before), 2),
        (compare.estimates(before, before), 2),
    ):
        assert len(rows) == number
        assert not rows["changed"].any()
    assert [one.equal for one in compare.drawn(before, before, files.other)] == [True]


def test_what_came_out_again_was_made_and_has_equal_bytes(before, tmp_path):
    after = made(tmp_path / "after", start="1")
    files = compare.files(before, after)
    assert files == compare.Files({"claims": 1, "estimate": 1, "figure": 1}, {}, 4, [])


def test_what_was_not_made_again_is_not_counted(before, tmp_path):
    after = shutil.copytree(before, tmp_path / "after")
    (after / "results/claims/run.json").write_text("{}")
    assert compare.files(before, after).jobs == {"claims": 1}


def test_a_planted_change_is_shown_on_both_sides(before, tmp_path):
    after = made(tmp_path / "after", value=0.3, verdict="inconclusive", start="1")
    claims = compare.claims(before, after).set_index("claim")
    assert claims["changed"].to_dict() == {"C1": True, "CA": False}
    assert claims.loc["C1", "verdict_before"] == "holds"
    assert claims.loc["C1", "verdict_after"] == "inconclusive"
    assert claims["value_before"].dropna().tolist() == [0.1]
    assert claims["value_after"].dropna().tolist() == [0.3]
    estimates = compare.estimates(before, after).set_index("policy")
    assert estimates["changed"].to_dict() == {"grpo": True, "base": False}
    files = compare.files(before, after)
    assert sorted(files.other) == [
        "results/claims/claims.parquet",
        "results/estimates/frozen_lake/nano/pass_at_kt.parquet",
        "results/figures/pass_at_k.csv",
    ]
    assert compare.drawn(before, after, files.other) == [
        compare.Drawn("pass_at_k", 2, 1, "0.2 value", False)
    ]


def test_the_reasons_are_named_with_the_jobs_that_have_them(before, tmp_path):
    after = made(tmp_path / "after", start="1", draws=600, modules={"turnscope.draws": "1"})
    assert compare.files(before, after).changes == {
        "settings.draws 500 -> 600": {"estimate": 1},
        "turnscope/draws.py (new)": {"estimate": 1},
    }


def test_what_was_not_there_before_is_other(before, tmp_path):
    after = made(tmp_path / "after", start="1")
    for path in (before / "results/figures").iterdir():
        path.unlink()
    files = compare.files(before, after)
    assert files.other == ["results/figures/pass_at_k.csv", "results/figures/pass_at_k.png"]
    (drawn,) = compare.drawn(before, after, files.other)
    assert drawn == compare.Drawn("pass_at_k", 2, 2, "", False)


def test_rows_on_one_side_alone_are_changed(before, tmp_path):
    after = made(tmp_path / "after")
    (before / "results/claims/claims.parquet").unlink()
    rows = compare.claims(before, after)
    assert rows["changed"].tolist() == [True, True]
    assert rows["value_before"].isna().all()


def test_a_damaged_record_is_named(before):
    mark = before / "results/claims/provenance.json"
    mark.write_text("{")
    with pytest.raises(ValueError, match=r"claims/provenance\.json: not a readable record"):
        compare.files(before.parent / "none", before)
