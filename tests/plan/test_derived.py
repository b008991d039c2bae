import pytest

from tests.plan.finished import JOBS, job
from tests.test_config import SCHEMA
from turnscope.plan import derived, work
from turnscope.plan.jobs import study_of
from turnscope.plan.sizes import DEVICES, SHAPES, Device, Shape

TINY = Shape(2, 1, 1, 1, 1, 3, 53, True, 64)
"""Of 100 parameters: two blocks of 23, an embedding of 53, and a norm."""


def test_a_token_alone_waits_for_all_weights():
    # 200 bytes of weights, and 10 tokens of 2 * 2 * 2 * 3 = 24 bytes.
    device = Device(flops=1e12, bandwidth=880.0)
    assert (TINY.parameters, TINY.kept) == (100, 24)
    assert derived.tokens_per_second(TINY, device, 1, 10) == pytest.approx(880 / 440)
    assert derived.tokens_per_second(TINY, device, 2, 10) == pytest.approx(2 * 880 / 680)


def test_a_wide_batch_waits_for_arithmetic():
    device = Device(flops=2000.0, bandwidth=1e12)
    assert derived.tokens_per_second(TINY, device, 1000, 10) == pytest.approx(10)


def test_the_config_knows_the_devices():
    assert SCHEMA["properties"]["plan"]["properties"]["gpu"]["enum"] == sorted(DEVICES)


def test_a_job_waits_for_reading_and_for_saying():
    loaded = {"backend": "vllm", "path": "Qwen/Qwen3-8B"}
    budget = {"turns": 10, "turn_tokens": 512, "tokens": None}
    jobs = [*JOBS, job("base", settings=loaded, budget=budget)]
    model, device = SHAPES["Qwen/Qwen3-8B"], DEVICES["h100"]
    sample = job("sample", batch=256)
    taken = derived.taken(sample, {"turn": 1e6}, study_of(jobs), model, device)
    # 0.7 of the turns are used, of 256 tokens each.
    assert taken.tokens.value == pytest.approx(0.7e6 * 256)
    context = 0.7 * 10 * (256 + 150) / 2
    speed = 0.5 * derived.tokens_per_second(model, device, 256, context)
    read = 0.7e6 * 150 * 2 * 8_190_735_360 / (0.4 * 989e12)
    assert taken.seconds.value == pytest.approx(60 + 0.7e6 * 256 / speed + read)
    assert taken.seconds.low < taken.seconds.value < taken.seconds.high
    slow = derived.taken(sample, {"turn": 1e6}, study_of(jobs), model, DEVICES["a100"])
    assert slow.seconds.value > taken.seconds.value


def test_training_costs_more_than_play_and_leaves_weights():
    jobs = [*JOBS, job("base", settings={"backend": "vllm", "path": "Qwen/Qwen3-4B"})]
    train, model = job("train"), SHAPES["Qwen/Qwen3-4B"]
    units = work.units(train, study_of(jobs))
    both = derived.taken(train, units, study_of(jobs), model, DEVICES["h100"])
    play = {"turn": units["trained"] + units["turn"]}
    only = derived.taken(train, play, study_of(jobs), model, DEVICES["h100"])
    assert both.seconds.value > only.seconds.value
    assert both.disk.value == 2 * model.parameters
