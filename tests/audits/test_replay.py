import pytest

from turnscope.audits.replay import _other

TURN = {"action": "left", "reward": 0.0}


@pytest.mark.parametrize(
    ("turns", "stop", "found"),
    [
        (1, "success", "it is 1 turns long, recorded were 2; its end: success"),
        (1, "error", None),  # it fails again, and earlier
        (2, "tokens", None),  # it does not fail this time; nothing more was recorded
        (2, "error", None),
    ],
)
def test_a_failed_episode_has_no_turns_behind_its_end(turns, stop, found):
    recorded = {"stop": "error", "error": "it hangs"}
    again = {"stop": stop, "error": None}
    assert _other(recorded, [TURN, TURN], again, [TURN] * turns) == found
