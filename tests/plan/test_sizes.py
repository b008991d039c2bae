from transformers import Qwen3Config, Qwen3ForCausalLM

from turnscope.plan.sizes import DEVICES, SHAPES, Shape


def test_parameters_are_counted_as_they_are():
    # hidden 8, inside 12, 4 heads of 6, 2 of them for keys and values, 10 words.
    # Queries 8 x 24, keys and values 8 x 12 each, back 24 x 8; gated layers 3 x 8 x 12.
    block = 192 + 96 + 96 + 192 + 288 + 2 * 8 + 2 * 6
    for tied, words in ((True, 80), (False, 160)):
        shape = Shape(3, 8, 12, 4, 2, 6, 10, tied, 64)
        assert shape.parameters == 3 * block + words + 8
        model = Qwen3ForCausalLM(
            Qwen3Config(
                num_hidden_layers=3,
                hidden_size=8,
                intermediate_size=12,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=6,
                vocab_size=10,
                tie_word_embeddings=tied,
            )
        )
        assert shape.parameters == model.num_parameters()
        # (8 + 24) + 2 (8 + 12) + (24 + 8) + 3 (8 + 12) for each rank
        assert shape.adapter(2) == 3 * 2 * 164
        assert shape.kept == 2 * 2 * 3 * 2 * 6


def test_qwen3():
    small, large = SHAPES["Qwen/Qwen3-4B"], SHAPES["Qwen/Qwen3-8B"]
    assert (small.parameters, large.parameters) == (4_022_468_096, 8_190_735_360)
    assert small.kept == large.kept == 147_456
    assert (small.adapter(32), large.adapter(32)) == (66_060_288, 87_293_952)
    assert [device.memory / 1e9 for device in DEVICES.values()] == [80, 80, 141]
