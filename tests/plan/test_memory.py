"""Needs worked out by hand, in units of 1e9 bytes."""

import pytest

from turnscope.plan import memory
from turnscope.plan.memory import Need
from turnscope.plan.sizes import DEVICES, SHAPES

SMALL, LARGE = SHAPES["Qwen/Qwen3-4B"], SHAPES["Qwen/Qwen3-8B"]
H100, H200 = DEVICES["h100"], DEVICES["h200"]
TOKENS = 16384
LORA = {"method": "lora", "rank": 32, "sampler": "vllm"}
FULL = {"method": "full", "sampler": "vllm", "server": True}


def gb(need: Need) -> list[float]:
    return [round(part / 1e9, 2) for part in need]


def test_small_whole_on_one_gpu():
    # 4.022 parameters: 6 bytes, and 4 for base beside it; 4 of gradients; 8 of Adam.
    # A token keeps 36 x 2560 x 4 = 368640 bytes, and inside a block 4 bytes for each of
    # 4 x 2560 + 2 (32 + 8) 128 + 4 x 9728 = 59392 numbers: 606208, times 16384.
    need = memory.trained(SMALL, H100, FULL, TOKENS)
    assert gb(need) == [40.22, 16.09, 32.18, 9.93, 0, 0, 0]
    assert need.total == pytest.approx(98.43e9 + 4e9, rel=1e-3)
    assert not need.fits(H100)
    assert memory.trained(SMALL, H200, FULL, TOKENS).fits(H200)
    without = memory.trained(SMALL, H100, FULL, TOKENS, reference=False)
    assert gb(without)[0] == 24.13  # 6 x 4.022


def test_small_with_an_adapter_shares_a_gpu_with_vllm():
    # 2 bytes of 4.022 and 16 of 0.066 parameters; 36 x 2560 x 2 + 237568 = 421888 bytes a token.
    # Of 0.3 x 80 = 24 for vLLM, 8.04 are weights and 4 other; a sequence of 40960 tokens has 6.04.
    need = memory.trained(SMALL, H100, LORA, TOKENS)
    assert gb(need) == [8.31, 0.26, 0.53, 6.91, 24.0, 11.96, 6.04]
    assert need.total == pytest.approx(44.01e9, rel=1e-3)
    assert need.fits(H100)


def test_large_with_an_adapter_fits_but_vllm_has_no_room_for_a_sequence():
    # 24 - 16.38 - 4 = 3.62 for keys and values.
    need = memory.trained(LARGE, H100, LORA, TOKENS)
    assert gb(need) == [16.73, 0.35, 0.7, 9.8, 24.0, 3.62, 6.04]
    assert need.total < H100.memory
    assert not need.fits(H100)
    assert memory.trained(LARGE, H200, LORA, TOKENS).fits(H200)
    assert memory.trained(LARGE, H100, LORA | {"server": True}, TOKENS).fits(H100)


@pytest.mark.parametrize(("processes", "fits"), [(1, False), (2, False), (4, True)])
def test_large_whole_needs_four_gpus(processes, fits):
    tuning = FULL | {"processes": processes, "sharding": "fsdp"}
    need = memory.trained(LARGE, H100, tuning, TOKENS)
    # Of 10, 4 and 8 bytes each GPU has its part, and two blocks of 0.193 parameters in 2 bytes.
    expected = [10 * 8.1907 / processes + 0.77, 4 * 8.1907 / processes, 8 * 8.1907 / processes]
    assert gb(need)[:3] == pytest.approx(expected, abs=0.01)
    assert need.fits(H100) == fits
    alone = memory.trained(LARGE, H100, tuning | {"sharding": "none"}, TOKENS)
    assert gb(alone)[:3] == [81.91, 32.76, 65.53]


def test_a_critic_is_another_network():
    policy = memory.trained(SMALL, H200, FULL, TOKENS)
    both = memory.trained(SMALL, H200, FULL, TOKENS, critic=True)
    # 6 + 4 + 8 bytes more; base is there once.
    assert both.total - policy.total == pytest.approx(18 * 4.0225e9, rel=1e-3)
    lora = memory.trained(SMALL, H100, LORA, TOKENS, critic=True)
    assert gb(lora)[:3] == [16.62, 0.53, 1.06]
    assert lora.fits(H100)


def test_a_critic_is_whole_on_each_gpu():
    tuning = FULL | {"processes": 4, "sharding": "fsdp"}
    policy = memory.trained(SMALL, H100, tuning, TOKENS)
    both = memory.trained(SMALL, H100, tuning, TOKENS, critic=True)
    assert both.total - policy.total == pytest.approx(18 * 4.0225e9, rel=1e-3)
    assert policy.fits(H100)
    assert not both.fits(H100)


def test_transformers_keep_keys_and_values_of_all_that_they_play():
    # 147,456 bytes of a token, in 128 episodes of 10,000 tokens.
    need = memory.cached(SMALL, 1, 128 * 10_000)
    assert gb(need)[:4] == pytest.approx([8.04, 0, 0, 188.74], abs=0.01)
    tuning = LORA | {"sampler": "transformers"}
    learning = memory.trained(SMALL, H200, tuning, 0, side=128 * 10_000)
    assert gb(learning)[3] == pytest.approx(188.74, abs=0.01)
    assert gb(memory.trained(SMALL, H200, LORA, 0, side=128 * 10_000))[3] == 0


def test_playing_takes_its_share_whatever_the_model():
    # 0.45 x 80 = 36; 36 - 8.04 - 4 and 36 - 16.38 - 4 for keys and values.
    assert gb(memory.played(SMALL, H100, 1)) == [0, 0, 0, 0, 36.0, 23.96, 6.04]
    assert gb(memory.played(LARGE, H100, 2)) == [0, 0, 0, 0, 72.0, 15.62, 6.04]
    assert memory.played(LARGE, H100, 2).fits(H100)
    half = H100._replace(memory=40e9)
    assert not memory.played(LARGE, half, 1).fits(half)


def test_scoring_holds_two_policies_in_32_bits():
    # 8 x 8.19 = 65.53, and 4 bytes for each of 75776 numbers of a token.
    need = memory.scored(LARGE, 20_000)
    assert gb(need)[:4] == [65.53, 0, 0, 6.06]
    assert need.fits(H100)


def test_the_longest_episode():
    assert memory.longest(SMALL, {"turns": 10, "turn_tokens": 512}) == 10120
    assert memory.longest(SMALL, {"turns": 50, "turn_tokens": 2048}) == 40960
