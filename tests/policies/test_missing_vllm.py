import subprocess
import sys

import pytest

from turnscope.policies import vllm


def test_without_vllm_one_line_says_what_to_install(monkeypatch, nano_folder):
    monkeypatch.setitem(sys.modules, "vllm", None)  # as if it were not installed
    with pytest.raises(ValueError, match=r"^backend 'vllm' needs vLLM 0\.31\.0, .*: pip install "):
        vllm.Policy(nano_folder)


def test_the_backend_is_found_and_described_without_it():
    """Checks of a study read the backend's name and source; no job but a player's imports vLLM."""
    code = (
        "import sys; from turnscope import registry; registry.load('policies', 'vllm'); "
        "sys.exit('vllm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
