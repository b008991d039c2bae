"""Sizes of models and of GPUs that are known without either being here."""

from typing import NamedTuple


class Shape(NamedTuple):
    """Sizes of a decoder of Qwen3's kind."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    """Whether the head is the embedding."""
    context: int
    """Longest sequence, tokens."""

    @property
    def linear(self) -> list[tuple[int, int]]:
        """Return inputs and outputs of the linear layers of one block."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = [(self.hidden, queries), *[(self.hidden, keys)] * 2, (queries, self.hidden)]
        return [
            *attention,
            *[(self.hidden, self.intermediate)] * 2,
            (self.intermediate, self.hidden),
        ]

    @property
    def parameters(self) -> int:
        """Count all parameters; norms are of the input of both halves, of queries and of keys."""
        norms = 2 * self.hidden + 2 * self.head_dim
        block = sum(inputs * outputs for inputs, outputs in self.linear) + norms
        words = self.vocabulary * self.hidden
        return self.layers * block + words * (1 if self.tied else 2) + self.hidden

    @property
    def kept(self) -> int:
        """Return the bytes of keys and values of one token, in 16 bits."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_dim

    def adapter(self, rank: int) -> int:
        """Count the parameters of an adapter of low rank at every linear layer of all blocks."""
        return self.layers * rank * sum(inputs + outputs for inputs, outputs in self.linear)


SHAPES = {
    "Qwen/Qwen3-4B": Shape(36, 2560, 9728, 32, 8, 128, 151936, True, 40960),
    "Qwen/Qwen3-8B": Shape(36, 4096, 12288, 32, 8, 128, 151936, False, 40960),
}
"""Source: config.json of each."""


class Device(NamedTuple):
    """A kind of GPU."""

    flops: float
    """Peak in bfloat16 without sparsity, operations per second."""
    bandwidth: float
    """Of its memory, bytes per second."""
    memory: float = 80e9
    """Bytes."""


DEVICES = {
    "a100": Device(312e12, 2.04e12, 80e9),
    "h100": Device(989e12, 3.35e12, 80e9),
    "h200": Device(989e12, 4.80e12, 141e9),
}
"""Source: NVIDIA's data sheets, SXM: A100 80 GB, H100, H200."""
