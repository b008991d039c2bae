import pytest
import torch
from safetensors.torch import load_file, save_file

from turnscope import weights

ONE = {"b": torch.tensor([[1.0, 2.5], [3.0, -4.0]]), "n": torch.tensor([7, 8, 9])}
TWO = {"a": torch.tensor(0.1).bfloat16(), "c": torch.arange(3.0)}


@pytest.fixture
def shards(tmp_path):
    paths = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    for tensors, path in zip((ONE, TWO), paths, strict=True):
        save_file(tensors, path)
    return paths


def test_all_tensors_are_in_one_file_as_they_were(shards, tmp_path):
    assert weights.merge(shards, tmp_path / "all.safetensors") == 4 + 3 + 1 + 3
    found = load_file(tmp_path / "all.safetensors")
    assert list(found) == ["a", "b", "c", "n"]
    for name, tensor in {**ONE, **TWO}.items():
        assert found[name].dtype == tensor.dtype
        assert found[name].shape == tensor.shape
        assert torch.equal(found[name], tensor)


@pytest.mark.parametrize("dtype", sorted(weights.FORMATS))
def test_numbers_are_converted_and_counts_are_not(shards, tmp_path, dtype):
    weights.merge(shards, tmp_path / "all.safetensors", dtype)
    found = load_file(tmp_path / "all.safetensors")
    for name in "abc":
        whole = {**ONE, **TWO}[name]
        assert torch.equal(found[name], whole.to(getattr(torch, dtype)))
    assert torch.equal(found["n"], ONE["n"])


def test_what_safetensors_itself_writes_is_the_same_but_for_the_order(shards, tmp_path):
    weights.merge(shards, tmp_path / "ours")
    save_file({**ONE, **TWO}, tmp_path / "theirs", {"format": "pt"})
    ours, theirs = (load_file(tmp_path / name) for name in ("ours", "theirs"))
    assert ours.keys() == theirs.keys()
    weights.merge([tmp_path / "ours"], tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "ours").read_bytes()


def test_a_tensor_that_is_there_twice_is_refused(shards, tmp_path):
    save_file({"c": torch.zeros(1)}, tmp_path / "three.safetensors")
    with pytest.raises(ValueError, match=r"tensor c of three\.safetensors is in another file"):
        weights.merge([*shards, tmp_path / "three.safetensors"], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    save_file({}, tmp_path / "none.safetensors")
    with pytest.raises(ValueError, match="no tensor"):
        weights.merge([tmp_path / "none.safetensors"], tmp_path / "all")
