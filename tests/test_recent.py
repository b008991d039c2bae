import pytest

from turnscope.recent import Recent


def test_a_value_is_made_once_while_it_is_kept():
    made: list[str] = []
    recent: Recent[str, str] = Recent(2)

    def value(key: str) -> str:
        return recent.get(key, lambda: made.append(key) or key.upper())

    assert [value(key) for key in "aabab"] == list("AABAB")
    assert made == ["a", "b"]
    assert value("c") == "C"  # forgets a, which was asked for before b
    assert len(recent) == 2
    assert value("b") == "B"
    assert value("a") == "A"
    assert made == ["a", "b", "c", "a"]


def test_what_could_not_be_made_is_not_kept():
    recent: Recent[str, float] = Recent(2)
    with pytest.raises(ZeroDivisionError):
        recent.get("a", lambda: 1 / 0)
    assert len(recent) == 0
    assert recent.get("a", lambda: 2.0) == 2.0
