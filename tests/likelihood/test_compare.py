import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import Hall, hall
from turnscope import draws, likelihood, nano, tables
from turnscope.likelihood import TEMPERATURES, chosen, compare, match
from turnscope.policies.transformers import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget

RECIPE = nano.Recipe(hidden=32, layers=1, heads=2, kv_heads=1, head_dim=8, intermediate=48)
BUDGET = Budget(turns=4, turn_tokens=5)
WHO = {"env": "hall", "model": "nano", "policy": "grpo-s0"}


@pytest.fixture(scope="module")
def models(words: Any) -> dict[str, Any]:
    """Two untrained models, the second one surer of what it says."""
    made = {"base": nano.network(RECIPE, words, 5), "trained": nano.network(RECIPE, words, 6)}
    with torch.no_grad():
        for scale, model in zip((2.0, 3.0), made.values(), strict=True):
            model.model.embed_tokens.weight *= scale
    return {name: model.eval() for name, model in made.items()}


@pytest.fixture(scope="module")
def tabled(models: dict[str, Any], words: Any) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Episodes and turns of both, one of which the world broke."""
    found = {}
    for name, model in models.items():
        starts = [
            Start(one, sample, draws.seed(name, task, sample), BUDGET)
            for task, one in enumerate(hall(name=f"t{number}", length=9) for number in range(6))
            for sample in range(3)
        ]
        broken = hall(name="t0", length=9, breaks="step", at=2)
        starts[0] = dataclasses.replace(starts[0], task=broken)
        made = tables.from_episodes(
            rollout(Hall, starts, Policy(model, words)),
            budget=4,
            told=False,
            temperature=1.0,
            env="hall",
            model="nano",
            policy=name,
        )
        episodes, turns = (part.to_pandas() for part in made)
        found[name] = episodes, turns
    return found


@pytest.fixture(scope="module")
def played(tabled: dict[str, tuple[pd.DataFrame, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    return {name: chosen(*frames, 2) for name, frames in tabled.items()}


def test_first_episodes_without_broken_ones_are_chosen(tabled, played):
    for name, turns in played.items():
        pairs = set(zip(turns["task_id"], turns["sample"], strict=True))
        assert pairs == {(f"t{task}", sample) for task in range(6) for sample in range(2)} - {
            ("t0", 0)
        }
        episodes = tabled[name][0].set_index(["task_id", "sample"])
        for key, own in turns.groupby(["task_id", "sample"]):
            assert own["turn"].tolist() == list(range(episodes.loc[key, "turns"]))


def test_another_temperature_is_refused(tabled):
    episodes, turns = tabled["base"]
    with pytest.raises(ValueError, match=r"sampled at temperature 0\.7: likelihood needs"):
        chosen(episodes.assign(temperature=0.7), turns, 2)


def test_rows_are_those_of_the_table_and_agree_with_the_sampler(models, played):
    rows, heat = compare(models["base"], models["trained"], played, 60)
    assert tables.conform(rows.assign(**WHO), "likelihood").num_rows == sum(
        map(len, played.values())
    )
    assert tables.conform([heat | WHO], "heat").num_rows == 1
    own = np.where(rows["actor"] == "base", rows["logp_base"], rows["logp_trained"])
    np.testing.assert_allclose(rows["logp_sampled"], own, atol=1e-4)
    np.testing.assert_allclose(rows["logp_again"], own, atol=1e-5)
    assert (rows["logp_trained"] - rows["logp_base"]).abs().min() > 1e-3
    turns = played["trained"]
    ours = rows.loc[rows["actor"] == "trained"]
    assert ours["tokens"].tolist() == turns["action_ids"].map(len).tolist()
    assert ours["logp_sampled"].tolist() == pytest.approx(turns["logprobs"].map(sum).tolist())


def test_heated_policies_are_as_random_as_base(models, played):
    _, heat = compare(models["base"], models["trained"], played, 60)
    assert heat["entropy_trained"] < heat["entropy_base"] == pytest.approx(heat["entropy_heated"])
    means = []
    for turns in played.values():
        tokens = likelihood.lay(turns)
        found = likelihood.score(models["trained"], tokens, 60, [heat["temperature"]])
        means.append(found.heated_G[0])
    assert np.mean(means) == pytest.approx(heat["entropy_base"], abs=2e-3)


def test_a_policy_against_itself(models, played):
    rows, heat = compare(models["base"], models["base"], {**played, "trained": played["base"]}, 60)
    assert rows["logp_trained"].tolist() == rows["logp_base"].tolist()
    assert heat["temperature"] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("actor", "other"), [("base", "trained"), ("trained", "base")])
def test_other_scores_of_the_policy_that_did_not_act_are_refused(models, played, actor, other):
    body = models[other].base_model
    widths: list[int] = []

    def wide(_: Any, args: Any, given: dict[str, Any], out: Any) -> None:
        """Shift what is said in the wider pass, which is that of the second scoring."""
        widths.append(given["input_ids"].shape[1])
        if widths[-1] > min(widths):
            out.last_hidden_state[:, :, 0] += 0.1

    watched = body.register_forward_hook(wide, with_kwargs=True)
    try:
        with pytest.raises(ValueError, match=f"policy '{other}' scored a token of '{actor}' twice"):
            compare(models["base"], models["trained"], {actor: played[actor]}, 10_000)
    finally:
        watched.remove()


def test_one_log_probability_for_each_token_is_needed(models, played):
    turns = played["base"]
    turns = turns.assign(logprobs=turns["logprobs"].map(lambda values: [*values, 0.0]))
    with pytest.raises(ValueError, match="'base': a turn has not as many log-probabilities"):
        compare(models["base"], models["base"], {"base": turns}, 60)


def test_without_episodes_there_is_nothing_to_score(models, played):
    none = {name: turns.iloc[:0] for name, turns in played.items()}
    with pytest.raises(ValueError, match="no episode to score"):
        compare(models["base"], models["trained"], none, 60)


@given(st.integers(0, 2**32 - 1), st.floats(0.3, 3.5))
def test_the_matching_temperature_gives_the_entropy(seed, temperature):
    logits = 3 * np.random.Generator(np.random.PCG64(seed)).normal(size=(20, 12))

    def entropy(at: float) -> tuple[float, float]:
        scaled = logits / at
        p = np.exp(scaled - np.logaddexp.reduce(scaled, axis=1, keepdims=True))
        mean = (p * scaled).sum(axis=1)
        spread = (p * scaled**2).sum(axis=1) - mean**2
        return float((np.logaddexp.reduce(scaled, axis=1) - mean).mean()), float(spread.mean())

    grid = np.array([entropy(at) for at in TEMPERATURES]).T
    found = match(entropy(temperature)[0], *grid)
    assert found.temperature == pytest.approx(temperature, rel=5e-3)


@pytest.mark.parametrize(("entropy", "end"), [(0.0, 0.25), (9.0, 4.0)])
def test_an_entropy_out_of_reach_gives_the_nearer_end(entropy, end, caplog):
    heated = np.linspace(0.5, 2.0, len(TEMPERATURES))
    found = match(entropy, heated, np.full(len(heated), 0.5))
    assert found.temperature == end
    assert found.entropy == (0.5 if entropy == 0 else 2.0)
    assert "no temperature from 0.25 to 4 gives an entropy" in caplog.text
