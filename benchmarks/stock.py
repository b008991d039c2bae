"""TRL's own multi-turn GRPO on the same lakes: `GRPOTrainer` with `environment_factory`.

What is done for it: a cap on the tokens of a turn (its own cap is for whole episodes), no
checkpointing of activations, fp32, and micro-batches of the size that is fastest here.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from datasets import Dataset
from transformers import PrinterCallback
from trl.chat_template_utils import parse_response
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from benchmarks import calls
from benchmarks.rows import Time, clock
from turnscope.types import Episode, Task

LENGTH = 1024
"""Most tokens of a completion; an episode of 20 turns has 380."""


def rows(tasks: list[Task]) -> list[dict[str, Any]]:
    """Make the rows of the data set; the text of the prompt comes from `calls.Tool.reset`."""
    message = [{"role": "user", "content": ""}]
    return [{"prompt": message, "place": place} for place in range(len(tasks))]


def trainer(
    model: Any, words: Any, tasks: list[Task], group: int, micro: int, folder: Path
) -> GRPOTrainer:
    """Make the trainer; a step is one episode for each task and member of its group."""
    parts = max(1, len(tasks) * group // micro)
    config = GRPOConfig(
        output_dir=str(folder),
        max_steps=1,
        per_device_train_batch_size=len(tasks) * group // parts,
        gradient_accumulation_steps=parts,
        steps_per_generation=parts,
        num_generations=group,
        max_tool_calling_iterations=calls.TURNS,
        max_completion_length=LENGTH,
        generation_kwargs={"max_new_tokens": calls.TURN_TOKENS},
        learning_rate=1e-6,
        lr_scheduler_type="constant",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    made = GRPOTrainer(
        model=model,
        reward_funcs=None,
        args=config,
        train_dataset=Dataset.from_list(rows(tasks)),
        processing_class=words,
        environment_factory=lambda: calls.Tool(tasks),
    )
    made.remove_callback(PrinterCallback)
    return made


def timed(owner: Any, name: str, times: list[Time]) -> None:
    """Record how long each call of a method takes."""
    inner: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        with clock() as time:
            result = inner(*arguments, **options)
        times.append(time)
        return result

    setattr(owner, name, call)


def counted(owner: Any, name: str, counts: list[int]) -> None:
    """Record for how many rows each call of a method generates."""
    inner: Callable[..., Any] = getattr(owner, name)

    def call(rows: list[Any], *arguments: Any, **options: Any) -> Any:
        counts.append(len(rows))
        return inner(rows, *arguments, **options)

    setattr(owner, name, call)


def turns(made: GRPOTrainer) -> int:
    """Count the turns of the last episodes, without what was said after their end."""
    return sum(tool.turns for tool in made.environments or [])


def check(made: GRPOTrainer, tasks: list[Task], episodes: list[Episode]) -> int:
    """Prove that both sides show a model the same tokens and read the same calls.

    Args:
        made: TRL's trainer.
        tasks: Its tasks.
        episodes: Some of ours.

    Returns:
        How many turns were compared.

    Raises:
        ValueError: They do not.
    """
    made._batch_environments = [None]
    places = {task.task_id: place for place, task in enumerate(tasks)}
    for episode in episodes:
        tool = calls.Tool(tasks)
        message = {"role": "user", "content": tool.reset(place=places[episode.task_id])}
        (wanted,), _, _ = made._tokenize_prompts([[message]])
        prompt: list[int] = []
        for number, turn in enumerate(episode.turns):
            if number:
                content = calls.content(turn.observation)
                answer = {"role": "tool", "name": "move", "content": content}
                wanted = made._get_tool_suffix_ids([answer])
            if list(turn.context_ids) != list(wanted):
                raise ValueError(f"tokens {turn.context_ids}, but TRL renders {wanted}")
            prompt += turn.context_ids
            read = parse_response(
                made._tokenizer, turn.action_ids, prefix=prompt, tools=made._env_tools[None]
            )
            named = [call["function"]["arguments"] for call in read.get("tool_calls", [])]
            if turn.valid and named != [{"direction": calls.direction(turn.action)}]:
                raise ValueError(f"call {turn.action!r}, but TRL reads {named}")
            prompt += turn.action_ids
    return sum(len(episode.turns) for episode in episodes)
