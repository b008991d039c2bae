"""vLLM as a server: the turns are those of an engine in this process, and a training plays there.

Weights travel to a server through NCCL, which needs GPUs; here they stay, so steps are tiny.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from trl.generation.vllm_client import VLLMClient

from tests.toys import Crowd, Hall, hall
from tests.training.test_trainer import RECIPE, study
from turnscope import draws, training
from turnscope.environments import frozen_lake
from turnscope.policies import vllm
from turnscope.policies._served import Request, Served
from turnscope.progress import Exam
from turnscope.rollout import Start, rollout
from turnscope.training import _sampler
from turnscope.tuning import Tuning
from turnscope.types import Budget, Seat, Task

pytestmark = pytest.mark.usefixtures("vllm_installed")

ROOT = Path(__file__).parents[2]
START = 400
"""Seconds until the server must answer."""


@pytest.fixture(scope="module")
def url(vllm_installed: None, nano_folder: Path, tmp_path_factory: Any) -> Iterator[str]:
    """The address of a server with the tiny policy."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(nano_folder)),
        *("--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager"),
        *("--no-enable-chunked-prefill", "--generation-config", "vllm", "--block-size", "32"),
        *("--kv-cache-memory-bytes", str(64 << 20)),
    ]
    variables = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=os.environ | variables, stdout=out, stderr=out, start_new_session=True
        )
    try:
        address = f"http://127.0.0.1:{port}"
        end = time.monotonic() + START
        while not healthy(address):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the server did not start: {log.read_text()[-3000:]}")
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def healthy(address: str) -> bool:
    try:
        with urlopen(f"{address}/health", timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def policy(url: str, words: Any) -> vllm.Policy:
    return vllm.Policy(Served(url), words)


@pytest.fixture(scope="module")
def here(nano_folder: Path, words: Any) -> vllm.Policy:
    """The same weights in an engine of this process."""
    return vllm.Policy(vllm.engine(nano_folder, kv_cache_memory_bytes=64 << 20), words)


def test_a_server_says_what_an_engine_here_would(policy, here):
    starts = [
        Start(hall(length=1 + i % 8), 0, draws.seed("served", i), Budget(7, 6)) for i in range(24)
    ]
    served, own = (rollout(Crowd, starts, one) for one in (policy, here))
    count = 0
    for one, two in zip(served, own, strict=True):
        assert [t.context_ids for t in one.turns] == [t.context_ids for t in two.turns]
        assert [t.action_ids for t in one.turns] == [t.action_ids for t in two.turns]
        for a, b in zip(one.turns, two.turns, strict=True):
            np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-5, rtol=0)
            count += len(a.logprobs)
    assert count > 150
    assert policy.longest == here.longest


def test_log_probabilities_of_a_heated_policy_are_those_of_temperature_one(url, words, here):
    requests = [Request([1, 2, 3], seed, 4) for seed in range(8)]
    hot, own = (
        vllm.Policy(Served(url), words, temperature=2.0),
        vllm.Policy(here.model, words, temperature=2.0),
    )
    for one, two in zip(hot.say(requests), own.say(requests), strict=True):
        assert one.ids == two.ids
        np.testing.assert_allclose(one.logprobs, two.logprobs, atol=1e-5, rtol=0)


def test_what_the_server_refuses_and_a_server_that_is_not_there_are_one_line(policy, url):
    with pytest.raises(ValueError, match=rf"^the vLLM server at {url} answers 400: "):
        policy.say([Request([1] * (policy.longest + 1), 1, 1)])
    with pytest.raises(
        ValueError, match=r"^the vLLM server at http://127\.0\.0\.1:9 does not answer: "
    ):
        Served("http://127.0.0.1:9/")


def test_an_episode_without_room_ends_at_a_server_as_it_does_here(policy, here):
    """The server would refuse a turn that is longer than what is left of the context."""
    told = " ".join(["at=r0c0"] * (policy.longest // 4))
    found = []
    for one in (policy, here):
        seats = [Seat(hall(), Hall(), draws.seed("seat", i), 9, []) for i in range(4)]
        conversation, turns = one.begin(seats), []
        while len(turns) < 9 and (not turns or any(turns[-1])):
            rows = [row for row in range(4) if not turns or turns[-1][row]]
            said = conversation.act(rows, [told] * len(rows), [policy.longest] * len(rows))
            known = dict(zip(rows, said, strict=True))
            turns.append([known.get(row) and known[row].action_ids for row in range(4)])
        assert turns[-1] == [None] * 4
        found.append(turns)
    assert found[0] == found[1]


class Transfers:
    """Stands for the GPUs that weights travel between."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []

    def keep(self, metadata: list[Any], weights: Iterator[Any]) -> None:
        self.sent.append([name for name, _ in weights])
        assert self.sent[-1] == [name for name, _, _ in metadata]


def test_a_training_plays_at_its_server_with_weights_sent_for_each_batch_and_exam(
    url, nano_folder, lakes: list[Task], tmp_path, monkeypatch
):
    transfers = Transfers()
    monkeypatch.setattr(VLLMClient, "init_communicator", lambda *_, **__: None)
    monkeypatch.setattr(VLLMClient, "update_named_params", lambda _, *parts: transfers.keep(*parts))
    monkeypatch.setenv(_sampler.SERVER, url)
    found = training.train(
        study(lakes[5:], quality=frozen_lake.step_quality),
        replace(RECIPE, learning_rate=1e-12, checkpoint_steps=1),
        nano_folder,
        tmp_path / "policy",
        tmp_path / "scratch",
        "name",
        exam=Exam(lakes[:5], 1, 0, [], 1),
        tuning=Tuning(sampler="vllm", server=True),
    )
    assert len(transfers.sent) == 3  # before the first step, and after each of two
    assert {len(names) for names in transfers.sent} == {len(transfers.sent[0])}
    assert "model.embed_tokens.weight" in transfers.sent[0]
    gaps = [row["value"] for row in found.curves if row["name"] == "sampler_gap_max"]
    assert len(gaps) == 2
    assert all(0 < gap < 1e-4 for gap in gaps)
    assert sorted({row["step"] for row in found.progress}) == [0, 1, 2]
