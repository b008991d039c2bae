import pytest

from turnscope.ablation import __main__ as command


def test_settings_are_an_overlay():
    given = ["training.steps=20", "training.seeds=[0,1]", "sampling.temperature=1e-1", "seed=3"]
    assert command.overlay(
        [*given, "models.nano.path=some/folder", "arms.x.options.told=true"]
    ) == {
        "training": {"steps": 20, "seeds": [0, 1]},
        "sampling": {"temperature": 0.1},
        "seed": 3,
        "models": {"nano": {"path": "some/folder"}},
        "arms": {"x": {"options": {"told": True}}},
    }


@pytest.mark.parametrize("setting", ["training.steps", "=3", "training..steps=3", ".a=1"])
def test_what_is_no_setting_is_refused(setting):
    with pytest.raises(ValueError, match=r"is no setting; write KEY=VALUE"):
        command.overlay([setting])


def test_a_setting_within_another_is_refused():
    with pytest.raises(ValueError, match=r"^'seed\.x=2' sets part of what another"):
        command.overlay(["seed=1", "seed.x=2"])


@pytest.mark.parametrize("setting", ["training.seeds=[0,", "training.seeds=[0", "seed={a"])
def test_what_is_neither_json_nor_a_word_is_no_value(setting):
    with pytest.raises(ValueError, match="has no legal value; write JSON without spaces"):
        command.overlay([setting])


def test_an_overlay_changes_single_keys():
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 4}
    assert command.merged(base, {"a": {"c": [3]}}) == {"a": {"b": 1, "c": [3]}, "d": 4}
    assert base["a"]["c"] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--set", "training.stepz=3"], "config: training.stepz"),
        (["nothing_like_it"], "there is no 'nothing_like_it' in this study; legal: claim C1"),
        (["C1", "--config", "none.yaml"], "there is no config none.yaml"),
        (["C1"], "there is no finished study in results; run it first"),
    ],
)
def test_errors_are_one_line(arguments, error, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {error}")
    assert list(tmp_path.iterdir()) == []


def test_what_follows_two_dashes_is_for_snakemake():
    given = ["grpo", "--set", "seed=2", "--cores", "3", "--", "--profile", "slurm"]
    options = command._parse(given)
    assert (options.what, options.set, options.cores) == ("grpo", ["seed=2"], "3")
    assert options.more == ["--profile", "slurm"]
    assert command._parse(["--set", "seed=2"]).what == ""
