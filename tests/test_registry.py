import subprocess
import sys

import pytest

from turnscope import registry


def test_packages_and_modules_are_plug_ins():
    assert "frozen_lake" in registry.names("environments")
    assert {"oracle", "uniform", "expert"} <= set(registry.names("policies"))


@pytest.mark.parametrize("kind", registry.KINDS)
def test_names_are_sorted_and_private_modules_are_no_plug_ins(kind):
    names = registry.names(kind)
    assert names == sorted(set(names))
    assert not any(name.startswith("_") for name in names)


def test_a_private_module_cannot_be_loaded():
    with pytest.raises(ValueError, match="unknown policies '_rule'; known: "):
        registry.load("policies", "_rule")


def test_loading_gives_the_module():
    assert registry.load("policies", "uniform").__name__ == "turnscope.policies.uniform"


def test_a_misspelt_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown environments 'frozen'; known: .*frozen_lake"):
        registry.load("environments", "frozen")


def test_a_misspelt_kind_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown kind of plug-in 'policy'; known: environments"):
        registry.names("policy")


def test_listing_imports_nothing():
    code = (
        "import sys; from turnscope import registry\n"
        "for kind in registry.KINDS: registry.names(kind)\n"
        "print(sorted(name for name in sys.modules if name.startswith('turnscope')))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.strip() == "['turnscope', 'turnscope.registry']"
