import pytest

from turnscope import registry
from turnscope.plan import rates
from turnscope.plan.rates import Key, Rate
from turnscope.plan.spans import Span

ONE = Rate(Span(2.0, 1.0, 3.0), "a test")


def test_what_is_written_is_read(tmp_path):
    table = {Key("train", "lake", "grpo", "s/trained"): ONE}
    rates.save(table, tmp_path / "rates.csv", "nano", "cpu core")
    assert rates.load(tmp_path / "rates.csv") == table


def test_the_same_environment_comes_before_the_same_variant():
    key = Key("train", "lake", "grpo", "s/trained")
    wide = {key._replace(env="*"): "variant", key._replace(variant="*"): "environment"}
    table = {**{name: ONE._replace(source=source) for name, source in wide.items()}}
    found = rates.find(table, key)
    assert found is not None
    assert found.source == "environment"
    assert rates.find(table, key._replace(stage="sample")) is None


def test_an_interval_must_hold_its_value(tmp_path):
    table = {Key("train", "*", "*", "s/job"): Rate(Span(1.0, 2.0, 3.0), "")}
    rates.save(table, tmp_path / "rates.csv", "nano", "cpu core")
    with pytest.raises(ValueError, match="low <= value"):
        rates.load(tmp_path / "rates.csv")


def test_every_number_of_the_package_has_a_source():
    table = rates.load()
    assert all(rate.source for rate in table.values())
    assert {key.env for key in table} <= {*registry.names("environments"), "*"}
