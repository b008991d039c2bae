import numpy as np
import pytest

from tests.calibration.lakes import T_MAX, lakes
from tests.calibration.test_frames import games
from turnscope import tables
from turnscope.calibration import frames, pools

WORLDS = lakes()


def pool(one, states=40, per_task=4, injected=10, seed=0):
    return pools.pool(one, 1, states, per_task, injected, np.random.default_rng(seed))


def natural(found):
    return ~found.injected_M


def test_both_policies_give_states_and_no_task_gives_more_than_its_share():
    found = pool(games(episodes=12))
    for source in (0, 1):
        mine = natural(found) & (found.source_M == source)
        assert 0 < mine.sum() <= 20
        assert np.bincount(found.at.world_R[mine]).max() <= 2
        put_in = found.injected_M & (found.source_M == source)
        assert 0 < put_in.sum() <= 5
        assert np.bincount(found.at.world_R[put_in]).max() == 1


def test_no_state_is_in_the_pool_twice():
    found = pool(games(episodes=12), states=200, per_task=16)
    mine = natural(found)
    at = [part[mine] for part in found.at[:3]]
    assert len(set(zip(*at, strict=True))) == mine.sum()


def test_error_states_follow_an_error():
    found = pool(games(episodes=12), states=200, per_task=16)
    assert set(found.errors_M) >= {0, 1, 2}
    first = natural(found) & (found.at.turn_R == 0)
    assert first.any()
    assert (found.errors_M[first] == 0).all()
    assert np.isnan(found.before_M[first]).all()
    assert ((found.errors_M > 0) == (found.at.error_R > 0)).all()
    lost = natural(found) & (found.errors_M & 1 > 0)
    left = T_MAX - found.at.turn_R
    value = WORLDS.value_WHS[found.at.world_R, left, found.at.cell_R]
    assert (value[lost] > 0).all()


def test_an_injected_error_is_no_best_action_and_can_be_mended():
    found = pool(games(episodes=12), injected=24)
    mine = found.injected_M
    value = WORLDS.value_WHS[found.at.world_R, T_MAX - found.at.turn_R, found.at.cell_R]
    assert (value[mine] > 0).all()
    assert not WORLDS.ends_WS[found.at.world_R[mine], found.at.cell_R[mine]].any()
    assert (found.at.turn_R[mine] >= 1).all()
    assert np.isnan(found.weight_M[mine]).all()


def test_weights_add_up_to_the_visits_of_the_source():
    one = games(episodes=4)
    total = [len(frames.visits(one, one.of(player)).row_V) for player in (0, 1)]
    found = [pool(one, states=30, injected=0, seed=seed) for seed in range(150)]
    # A state that both came to stands for its own source's visits, whichever it was kept for.
    for source in (0, 1):
        sums = np.array([(this.weight_M * (this.source_M == source)).sum() for this in found])
        assert sums.mean() == pytest.approx(total[source], abs=4 * sums.std() / np.sqrt(150))


def test_both_policies_act_in_every_state():
    one = games(episodes=12)
    found = pool(one)
    rows = pools.actions(one, 1, found, 5, np.random.default_rng(1))
    tables.conform(rows, "actions")
    counts = rows.groupby(["place", "actor"]).size()
    assert len(counts) == 2 * len(found.errors_M)
    assert (counts == 5).all()
    assert (rows["quality"] <= rows["best"]).all()
    means = rows.groupby("actor")["quality"].mean()
    assert means["trained"] > means["base"]


def test_both_policies_go_on_from_error_states_alone():
    one = games(episodes=12)
    found = pool(one)
    rows = pools.continuations(one, 1, found, 3, np.random.default_rng(1))
    tables.conform(rows, "continuations")
    assert (rows["injected"] | (rows["errors"] != "")).all()
    assert (rows["best"] > 0).all()
    assert (rows["turns"] <= rows["left"]).all()
    assert rows.loc[rows["success"], "recovered"].notna().all()
    assert (rows["recovered"].dropna() <= rows.loc[rows["recovered"].notna(), "turns"]).all()
    assert rows.loc[rows["injected"], "solved"].isna().all()
    assert set(rows.loc[~rows["injected"], "solved"]) == {True, False}


def test_a_state_as_good_as_before_has_recovered_at_once():
    one = games(episodes=12)
    found = pool(one)
    rows = pools.continuations(one, 1, found, 3, np.random.default_rng(1))
    good = rows["best"] >= rows["before"]
    assert good.any()
    assert (rows.loc[good, "recovered"] == 0).all()
    assert not (rows.loc[~good, "recovered"] == 0).any()
