from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GraniteConfig, GraniteForCausalLM

from turnscope import nano
from turnscope.likelihood.engine import SPARE, Tokens, lay, score

RECIPE = nano.Recipe(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48)
TEMPERATURES = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def model(words: Any) -> Any:
    """An untrained model whose choices are uneven."""
    model = nano.network(RECIPE, words, 5)
    with torch.no_grad():
        model.model.embed_tokens.weight *= 3.0
    return model.eval()


@pytest.fixture(scope="module")
def turns(model: Any) -> pd.DataFrame:
    """Episodes of one to six turns, of very different lengths."""
    rng = np.random.Generator(np.random.PCG64(1))
    size = model.config.vocab_size
    records = [
        {
            "turn": turn,
            "context_ids": rng.integers(
                0, size, rng.integers(1, 1 + 4 * (episode % 7 + 1))
            ).tolist(),
            "action_ids": rng.integers(0, size, rng.integers(1, 4)).tolist(),
        }
        for episode in range(20)
        for turn in range(1 + episode % 6)
    ]
    return pd.DataFrame(records)


@pytest.fixture(scope="module")
def expected(model: Any, turns: pd.DataFrame) -> np.ndarray:
    """Log-probabilities of the whole vocabulary before each sampled token, episode by episode."""
    parts: list[np.ndarray] = []
    history: list[int] = []
    for turn, context, action in turns.to_numpy().tolist():
        history = [*([] if turn == 0 else history), *context, *action]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([history]), use_cache=False).logits[0].double()
        parts.append(torch.log_softmax(logits, dim=-1)[-len(action) - 1 : -1].numpy())
    return np.concatenate(parts)


def sampled(turns: pd.DataFrame) -> np.ndarray:
    return np.concatenate(turns["action_ids"].to_list())


def test_tokens_lie_one_behind_the_other():
    turns = pd.DataFrame(
        [(0, [5, 6], [7]), (1, [8], [9, 9]), (0, [1], [2])],
        columns=["turn", "context_ids", "action_ids"],
    )
    tokens = lay(turns)
    assert tokens.ids_L.tolist() == [5, 6, 7, 8, 9, 9, 1, 2]
    assert tokens.sampled_L.tolist() == [False, False, True, False, True, True, False, True]
    assert tokens.ends_E.tolist() == [6, 8]


@pytest.mark.parametrize("empty", ["context_ids", "action_ids"])
def test_turns_without_tokens_are_refused(turns, empty):
    lists = [[] if place == 3 else ids for place, ids in enumerate(turns[empty])]
    with pytest.raises(ValueError, match="without a model"):
        lay(turns.assign(**{empty: lists}))


@pytest.mark.parametrize("batch", [1, 90, 10_000])
def test_scores_are_those_of_whole_episodes_whatever_the_batch(model, turns, expected, batch):
    ids, found = sampled(turns), score(model, lay(turns), batch)
    own = expected[np.arange(len(ids)), ids]
    np.testing.assert_allclose(found.logp_A, own, atol=1e-5, rtol=0)
    p = np.exp(expected)
    np.testing.assert_allclose(found.entropy_A, -(p * expected).sum(axis=1), atol=1e-5, rtol=0)


def shapes(model, tokens, batch, again) -> list[tuple[int, ...]]:
    """List the shapes that the body of the model sees, pass by pass."""
    found = []
    watched = model.base_model.register_forward_pre_hook(
        lambda _, args, given: found.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    try:
        score(model, tokens, batch, again=again)
    finally:
        watched.remove()
    return found[:1] + found[2:]  # the second pass looks at the logits


@pytest.mark.parametrize("batch", [1, 90, 10_000])
def test_a_second_scoring_sees_other_shapes_and_the_same_scores(model, turns, batch):
    tokens = lay(turns)
    first, second = (shapes(model, tokens, batch, again) for again in (False, True))
    assert second == [(rows, columns + SPARE) for rows, columns in first]
    if batch == 1:
        assert {rows for rows, _ in first} == {1}
    if batch == 90:
        assert max(rows * columns for rows, columns in second if rows > 1) <= batch
    one, other = (score(model, tokens, batch, again=again) for again in (False, True))
    np.testing.assert_allclose(other.logp_A, one.logp_A, atol=1e-5, rtol=0)
    assert other.outside_A.tolist() == one.outside_A.tolist()


def test_a_second_scoring_has_its_rows_in_reverse_order(model, turns):
    tokens, found = lay(turns), []
    watched = model.base_model.register_forward_pre_hook(
        lambda _, args, given: found.append(given["input_ids"].numpy()), with_kwargs=True
    )
    for again in (False, True):
        score(model, tokens, 10_000, again=again)
    watched.remove()
    first_BL, second_BL = found[0], found[2]
    column_L = np.arange(first_BL.shape[1])
    sizes_B = np.sort(np.diff(tokens.ends_E, prepend=0))
    real_BL = column_L < sizes_B[:, None]
    assert (second_BL[::-1, : len(column_L)] == first_BL)[real_BL].all()


def test_outside_is_what_the_likeliest_do_not_need(model, turns, expected):
    ids, found = sampled(turns), score(model, lay(turns), 500)
    for place, logp in enumerate(expected):
        order = np.argsort(-logp)
        needed = 1 + int((np.exp(logp[order]).cumsum() < 0.95).sum())
        assert found.outside_A[place] == (ids[place] not in order[:needed])
    assert 0 < found.outside_A.mean() < 1


def test_entropy_at_other_temperatures_and_its_slope(model, turns, expected):
    found = score(model, lay(turns), 500, TEMPERATURES)

    def entropy(temperature: float) -> float:
        scaled = expected / temperature
        logp = scaled - np.logaddexp.reduce(scaled, axis=1, keepdims=True)
        return float(-(np.exp(logp) * logp).sum(axis=1).mean())

    wanted = [entropy(temperature) for temperature in TEMPERATURES]
    np.testing.assert_allclose(found.heated_G, wanted, atol=1e-4)
    step = 1e-4
    slopes = [
        (entropy(t * np.exp(step)) - entropy(t * np.exp(-step))) / (2 * step) for t in TEMPERATURES
    ]
    np.testing.assert_allclose(found.slope_G, slopes, atol=1e-3)


def test_nothing_to_score(model):
    none = np.empty(0, np.int64)
    assert len(score(model, Tokens(none, none.astype(bool), none), 8).logp_A) == 0


def test_models_that_change_what_their_head_says_are_refused():
    torch.manual_seed(0)
    config = GraniteConfig(
        vocab_size=16,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        logits_scaling=8.0,
    )
    ids = np.arange(6)
    tokens = Tokens(ids, ids > 2, np.array([6]))
    with pytest.raises(ValueError, match="'granite' gives other logits than its head"):
        score(GraniteForCausalLM(config).eval(), tokens, 8)


def test_diverged_weights_are_refused(words, turns):
    broken = nano.network(RECIPE, words, 5).eval()
    with torch.no_grad():
        broken.model.norm.weight[0] = float("nan")
    with pytest.raises(ValueError, match="not finite"):
        score(broken, lay(turns.iloc[:1]), 100)
