"""FrozenLake played by tool calls, for both sides of the comparisons with TRL.

TRL's environments are classes whose methods are tools, and its chat template says how calls and
replies look. Here the same text is produced for our rollout, so that equal actions give equal
tokens; `check` proves it. After the end of an episode the policy has learnt to say `done`: TRL
knows no end of an episode and goes on until the policy calls no tool.
"""

import json
import re
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.chat_template_utils import get_json_schema
from trl.chat_template_utils import qwen3_instruct_2507_chat_template

from turnscope import draws, nano
from turnscope.chat import Renderer
from turnscope.environments import frozen_lake
from turnscope.policies import expert
from turnscope.policies.transformers import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Step, StopReason, Task, Turn

TURNS, TURN_TOKENS = 20, 12
"""T, and tokens of a turn; a call has 10."""
OPTIONS: dict[str, Any] = {"sizes": [4, 5, 6], "frozen": 0.8, "slip": 0.2, "distance": 2}
RECIPE = nano.Recipe(
    kv_heads=1,  # four query heads share their keys, as in Qwen3-4B and Qwen3-8B
    vocabulary=768,
    context=2048,
    episodes=2000,
    skill=(0.5, 0.9),
    steps=300,
    batch=8,
    learning_rate=4e-3,
    warmup=30,
)
DONE = "done"
"""What a policy says when the episode is over."""
CALL = re.compile(r"<tool_call>\s*(.+?)\s*</tool_call>", re.DOTALL)


class Tool:
    """The lake as TRL wants it: public methods are tools."""

    _made = count()

    def __init__(self, tasks: list[Task]):
        self._tasks = tasks
        self._number = next(self._made)
        self._lake = frozen_lake.Environment()
        self._resets = 0
        self._over = True
        self.turns = 0
        self.solved = False

    def reset(self, *, place: int, **_: Any) -> str:
        """Start the episode of a row of the data set."""
        self._resets += 1
        self._over, self.turns, self.solved = False, 0, False
        task = self._tasks[place]
        return self._lake.reset(task, draws.seed("bench", task.task_id, self._number, self._resets))

    def move(self, direction: str) -> str:
        """Move one cell.

        Args:
            direction: One of left, down, right, up.

        Returns:
            The cell you are in.
        """
        if self._over:
            raise RuntimeError("the episode is over")
        step = self._lake.step(direction)
        self.turns += 1
        self._over, self.solved = step.terminated, step.success
        return step.observation

    def get_reward(self) -> float:
        """Pay 1 for the goal."""
        return float(self.solved)


SCHEMA = get_json_schema(Tool([]).move)


class Environment:
    """The same lake for our rollout: calls are read from text, replies framed as tool replies."""

    def __init__(self):
        self._lake = frozen_lake.Environment()

    def reset(self, task: Task, seed: int) -> str:
        """Start the episode."""
        return self._lake.reset(task, seed)

    def step(self, action: str) -> Step:
        """Read the call and move."""
        step = self._lake.step(direction(action))
        ends = step.terminated or not step.valid  # TRL's episodes end when no call is found
        return step._replace(observation=reply(step.observation), terminated=ends)

    def state_key(self) -> str:
        """Name the cell."""
        return self._lake.state_key()

    def reseed(self, seed: int) -> None:
        """Go on under fresh noise."""
        self._lake.reseed(seed)

    def close(self) -> None:
        """End the episode."""
        self._lake.close()


def call(word: str) -> str:
    """Say a direction as Qwen's template renders the call."""
    arguments = json.dumps({"direction": word})
    return f'<tool_call>\n{{"name": "move", "arguments": {arguments}}}\n</tool_call>'


def reply(observation: str) -> str:
    """Frame an observation as Qwen's template renders the reply of a tool."""
    return f"<tool_response>\n{observation}\n</tool_response>"


def content(observation: str) -> str:
    """Take an observation out of the frame of a reply."""
    return observation.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>")


def direction(action: str) -> str:
    """Read a call; empty when it is none."""
    found = CALL.search(action)
    try:
        return str(json.loads(found.group(1))["arguments"]["direction"]) if found else ""
    except (KeyError, TypeError, ValueError):
        return ""


def tasks(number: int) -> list[Task]:
    """Draw lakes as in the default study."""
    return frozen_lake.tasks(1, train=number, test=0, **OPTIONS)


def policy(model: Any, words: Any) -> Policy:
    """Let a model play with the tool in its prompt."""
    return Policy(model, words, chat={"tools": [SCHEMA]})


def checkpoint() -> Path:
    """Return the folder of a nano that calls the tool; made once, then kept among temporary files.

    Returns:
        An ordinary Hugging Face folder with Qwen3's own template for tool calls.
    """
    name = draws.seed(repr(RECIPE), repr(SCHEMA), call("left"), reply(""), DONE)
    folder = Path(tempfile.gettempdir()) / f"turnscope-bench-{name:016x}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
            _make(Path(draft) / "nano")
            (Path(draft) / "nano").rename(folder)
    return folder


def load(folder: Path) -> tuple[Any, Any]:
    """Load model and tokenizer."""
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def _make(folder: Path) -> None:
    """Teach nano the calls of the expert, and to be done when the episode is over."""
    teacher = expert.Policy(env="frozen_lake", skill=RECIPE.skill)
    budget = Budget(TURNS, TURN_TOKENS)
    starts = [
        Start(task, 0, draws.seed("bench teacher", task.task_id), budget)
        for task in tasks(RECIPE.episodes)
    ]
    episodes = [spoken(e) for e in rollout(frozen_lake.Environment, starts, teacher)]
    said = [turn for episode in episodes for turn in episode.turns]
    frame = [tool_prompt(), DONE] * 100
    words = nano.tokenizer(
        [text for turn in said for text in (turn.observation, turn.action)] + frame,
        RECIPE.vocabulary,
    )
    words.chat_template = qwen3_instruct_2507_chat_template
    model = nano.network(RECIPE, words, 1)
    nano.imitate(model, *nano.encode(episodes, Renderer(words, tools=[SCHEMA])), RECIPE, 1)
    nano.save(model, words, folder)


def tool_prompt() -> str:
    """Return what the template says about the tool, as text for the tokenizer to learn from."""
    return qwen3_instruct_2507_chat_template + json.dumps(SCHEMA)


def spoken(episode: Episode) -> Episode:
    """Translate an episode in words to calls and replies, with a last turn once it is over."""
    turns = [
        replace(
            turn,
            observation=reply(turn.observation) if number else turn.observation,
            action=call(turn.action),
        )
        for number, turn in enumerate(episode.turns)
    ]
    if episode.stop in (StopReason.SUCCESS, StopReason.FAILURE):
        turns.append(Turn(reply(episode.final_observation), "", DONE, 0.0, True))
    return replace(episode, turns=turns)
