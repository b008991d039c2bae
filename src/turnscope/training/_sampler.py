"""vLLM as who plays the episodes of training: TRL's engine and weights, our turns.

The engine lives in the process of the trainer, or is a server on other GPUs. TRL gives it the
weights anew before each batch; an evaluation asks for them here. Its arithmetic is not the
trainer's, so TRL weighs each token of the loss by how likely the trainer finds it, over how likely
vLLM found it.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from accelerate.utils import is_peft_model
from trl.generation import vllm_generation

from turnscope import registry, wheels
from turnscope.policies._served import Served
from turnscope.practice import Batch
from turnscope.tuning import SAMPLERS

TRLS: Any = vllm_generation
"""TRL's module that starts engines."""
SERVER = "TURNSCOPE_VLLM_SERVER"
"""Variable that names the address of the server; where it is changes no result."""
HIGHEST = 3.0
"""Largest weight of a token in the loss."""
CLAIMS: list[Any] = []
"""Locks of servers that trainings of this process have."""
VLLM: dict[str, Any] = {
    "use_vllm": True,
    "vllm_mode": "colocate",
    "vllm_enable_sleep_mode": False,  # it would fetch all weights again at every turn
    # by token: weights of whole episodes are products over all turns, and mask the long ones
    "vllm_importance_sampling_mode": "token_truncate",
    "vllm_importance_sampling_clip_max": HIGHEST,
}
"""TRL's words for it."""
PLACE = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Variables that TRL sets for vLLM; left behind, the next trainer would take them for its own."""


def options(sampler: str, server: bool) -> dict[str, Any]:
    """Say in TRL's words who plays.

    Args:
        sampler: One of `turnscope.tuning.SAMPLERS`.
        server: Whether vLLM is a server of its own; where, `SERVER` says.

    Raises:
        ValueError: There is no such sampler, its library is not installed, or nobody says where the
            server is.
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"tuning.sampler = {sampler!r}: known: {', '.join(SAMPLERS)}")
    if sampler == "transformers":
        return {}
    url = os.environ.get(SERVER)
    if server and not url:
        raise ValueError(
            f"tuning.server = {server}: {SERVER} is not set; it must be the address of a vLLM "
            "server, such as http://node3:8000"
        )
    _backend().library()  # says what is missing before anything is loaded
    return VLLM | ({"vllm_mode": "server", "vllm_server_base_url": url} if server else {})


def policy(trainer: Any, words: Any) -> Any:
    """Return a policy that plays through TRL's engine."""
    if is_peft_model(trainer.model):
        model = trainer.accelerator.unwrap_model(trainer.model)
        trainer.vllm_generation._iter_named_params = lambda: merged(model)
    if trainer.vllm_mode == "server":
        served = Served(trainer.args.vllm_server_base_url)
        if trainer.accelerator.is_main_process:
            claim(served.url)
        return _backend().Policy(served, words)
    return _backend().Policy(trainer.vllm_generation.llm, words)


def claim(url: str) -> None:
    """Keep a server for the training of this process, until it ends.

    Raises:
        ValueError: Another training has it. Their weights would take each other's place.
    """
    path = wheels.cache() / "servers" / hashlib.sha256(url.encode()).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ValueError(
            f"{SERVER} = {url}: another training plays there; legal is a server for each training "
            "that runs"
        ) from None
    CLAIMS.append(file)


@contextmanager
def engines() -> Iterator[None]:
    """Let TRL start engines as `turnscope.policies.vllm` does, ready to be given weights."""
    usual = getattr(TRLS, "LLM", None)
    if usual is None:  # there is no vLLM, and so nobody to start it
        yield
        return
    place = {name: os.environ.get(name) for name in PLACE}
    TRLS.LLM = _start
    try:
        yield
    finally:
        TRLS.LLM = usual
        for name, value in place.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _start(model: str, **theirs: Any) -> Any:
    """Start an engine with what TRL asks for, as far as this machine can do it."""
    del theirs["logprobs_mode"]  # equal at temperature 1, the only one that is trained at
    from vllm.platforms import current_platform  # pyright: ignore[reportMissingImports]

    if not current_platform.is_cpu():
        return _backend().engine(model, **theirs)
    del theirs["max_num_batched_tokens"]  # a prompt must be read whole there
    with _replaceable():
        return _backend().engine(model, **theirs)


@contextmanager
def _replaceable() -> Iterator[None]:
    """Keep vLLM from packing matrices for a CPU: where they are packed, new ones are not seen."""
    from vllm.model_executor.layers import utils  # pyright: ignore[reportMissingImports]

    def plain(layer: Any, remove_weight: bool) -> None:
        layer.cpu_linear = torch.nn.functional.linear

    usual = utils.dispatch_cpu_unquantized_gemm
    utils.dispatch_cpu_unquantized_gemm = plain
    try:
        yield
    finally:
        utils.dispatch_cpu_unquantized_gemm = usual


def refresh(trainer: Any) -> None:
    """Make the policy play as the weights are now, and as it would in a run that was resumed.

    What vLLM has in its cache changes how it adds up, and so the last digits.
    """
    engine, step = trainer.vllm_generation, trainer.state.global_step
    served = trainer.vllm_mode == "server"
    # at step 0, an engine of our own has those that it was started with
    if step != trainer._last_loaded_step and (step or served):
        engine.sync_weights()
        trainer._last_loaded_step = step
    if served:
        trainer.accelerator.wait_for_everyone()  # one process alone sends the weights
    else:
        engine.llm.reset_prefix_cache()


def merged(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the weights of a policy with its adapter in them, as they would be stored.

    TRL adds the adapter to the weights and takes it off again, which in bf16 need not give them
    back.
    """
    layers = {f"{name}.base_layer.weight": layer for name, layer in model.named_modules()}
    for name, weight in model.named_parameters():
        if model.prefix in name:
            continue
        layer = layers.get(name)
        if layer is not None:
            weight = (weight + layer.get_delta_weight("default")).to(weight.dtype)
        yield name.removeprefix("base_model.model.").replace(".base_layer", ""), weight.data


def scores(batch: Batch, rows: Sequence[tuple[Any, list[int], Any]]) -> list[list[float]]:
    """Lay out the log-probabilities of all completions, NaN where the policy did not speak.

    Args:
        batch: What was played.
        rows: Prompt, completion and mask of each episode.
    """
    found = [[float("nan")] * len(completion) for _, completion, _ in rows]
    for row, episode in zip(found, batch.episodes, strict=True):
        for (start, stop), turn in zip(episode.spans(), episode.turns, strict=True):
            row[start:stop] = turn.logprobs
    return found


def agreement(
    output: dict[str, Any], said_BC: Any, join: Callable[[Any], Any] = lambda own: own
) -> dict[str, float]:
    """Say how far trainer and sampler are from each other at the policy's tokens.

    Args:
        output: What TRL made of a batch.
        said_BC: Which tokens the policy said and the loss counts.
        join: Puts the tokens of all processes together, shape (N,).

    Returns:
        Mean and largest difference of their log-probabilities, and the share of tokens whose
        weight in the loss was cut; NaN where nothing was said.
    """
    gap_BC = (output["old_per_token_logps"] - output["sampling_per_token_logps"]).abs()
    gap, weight = join(gap_BC[said_BC]), join(output["importance_sampling_ratio"][said_BC])
    return {
        "sampler_gap_mean": gap.mean().item(),
        "sampler_gap_max": gap.max().item() if len(gap) else float("nan"),
        "sampler_cut_share": (weight >= HIGHEST).float().mean().item(),
    }


def _backend() -> Any:
    return registry.load("policies", "vllm")
