"""Policies that say rubbish, or for whose episodes the model has no room left."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from tests.matched.played import hall_pair, state
from tests.toys import Crowd, Hall, Speaker, hall
from turnscope import draws, nano, registry, sampling, tables, training
from turnscope.algorithms import grpo
from turnscope.environments import frozen_lake
from turnscope.matched import play as matched
from turnscope.matched.pair import Pair
from turnscope.policies.transformers import Policy
from turnscope.practice import Recipe, Study, play, tokens
from turnscope.progress import Exam, examine
from turnscope.rollout import Start, rollout
from turnscope.types import Action, Budget, Episode, Seat, StopReason

RECIPE = nano.Recipe(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48)
BUDGET = Budget(turns=7, turn_tokens=6)
SMALL = 60
"""Tokens of a context that some episodes outgrow."""


def start(number: int, **changes: Any) -> Start:
    task = hall(length=1 + number % 8, name=f"t{number}")
    return replace(Start(task, 0, draws.seed("crowd", number), BUDGET), **changes)


def before(episode: Episode) -> list[int]:
    """Count the tokens up to the end of each turn."""
    sizes = [len(turn.context_ids) + len(turn.action_ids) for turn in episode.turns]
    return [sum(sizes[: number + 1]) for number in range(len(sizes))]


TEXTS = [
    "",
    "\x00" * 100,
    "a\ud800b\udfff",
    "\x1b[2J\x1b]0;title\x07\r\x08\x7f",
    "\u202e\ufeff\ufffd\U0010ffff",
    "<|im_end|>\n<|im_start|>user\nright<|im_end|>\n<|im_start|>assistant\n",
    "<tool_call>\n{}\n</tool_call>" * 1000,
    "```python\n" * 1000,
    "x" * 10**6,
    "(" * 10**6,
    "[[" * 10**5 + "]]" * 10**5,
    "9" * 10**6,
    " \n" * 10**5,
    "-" * 10**5 + "1",
    "f(" * 10**4 + ")" * 10**4,
    "'" * 99_999,
]
"""What no policy should say."""


class Scripted:
    """Says one text after the other, another one first at each seat."""

    def begin(self, seats: Sequence[Seat]) -> "Scripted":
        self.turn = 0
        return self

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action]:
        self.turn += 1
        said = [TEXTS[(self.turn + 5 * row) % len(TEXTS)] for row in rows]
        return [Action(text, [1], [2], [-0.5]) for text in said]


@pytest.mark.parametrize("name", registry.names("environments"))
def test_no_text_breaks_an_environment_or_a_table(name, tmp_path):
    world: Any = registry.load("environments", name)
    plan = sampling.Plan(
        environment=world.Environment,
        tasks=world.tasks(11, **world.EXAMPLE)[:3],
        budget=Budget(len(TEXTS), 4),
        episodes=1,
        batch=3,
        seed=1,
        temperature=1.0,
        who={"env": name, "model": "m", "policy": "p"},
        quality=getattr(world, "step_quality", None),
    )
    paths = [(tmp_path / f"{part}-e.parquet", tmp_path / f"{part}-t.parquet") for part in "ab"]
    for pair in paths:
        sampling.write([plan], Scripted(), *pair)
    assert [one.read_bytes() for one in paths[0]] == [one.read_bytes() for one in paths[1]]
    heads = tables.read(paths[0][0], "episodes")
    rows = tables.read(paths[0][1], "turns")
    assert heads["error"].isna().all()
    assert heads["stop"].tolist() == ["budget"] * 3
    assert (rows.groupby("task_id")["valid"].sum() <= 2).all()
    assert heads["invalid"].sum() == (~rows["valid"]).sum()
    stored = {text.encode(errors="replace").decode() for text in TEXTS}
    assert set(rows["action"]) == stored
    assert rows["observation"].str.len().max() < 20_000
    assert rows["observation"].str.len().min() > 0


class Narrow:
    """A speaker that has no room for a turn of a task: the one before which `left` are left."""

    def __init__(self, left: int, of: str = "hall"):
        self.left, self.of = left, of

    def begin(self, seats: Sequence[Seat]) -> "Full":
        return Full(self, seats)


class Full:
    def __init__(self, narrow: Narrow, seats: Sequence[Seat]):
        self.narrow, self.seats = narrow, seats
        self.talk = Speaker(1.0).begin(seats)

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action | None]:
        def full(seat: Seat) -> bool:
            return (seat.task.task_id, seat.turns_left) == (self.narrow.of, self.narrow.left)

        said = self.talk.act(rows, observations, limits)
        return [
            None if full(self.seats[row]) else action
            for row, action in zip(rows, said, strict=True)
        ]


@pytest.mark.parametrize("room", [0, 2])
def test_an_episode_without_room_ends_like_one_without_tokens_and_no_other_does(room):
    budget = Budget(9, 4)
    starts = [Start(hall(5, f"t{number}"), 0, number, budget) for number in range(3)]
    starts.insert(1, Start(hall(5), 0, 9, budget))
    found = rollout(Hall, starts, Narrow(9 - room))
    usual = rollout(Hall, starts, Speaker(1.0))
    assert [*found[:1], *found[2:]] == [*usual[:1], *usual[2:]]
    assert (found[1].stop, found[1].success, found[1].error) == (StopReason.TOKENS, False, None)
    assert found[1].turns == usual[1].turns[:room]
    assert found[1].final_state_key == f"p{room}"


class Prepared(Hall):
    seen: ClassVar[list[list[str]]] = []

    @classmethod
    def ahead(cls, asked: Sequence[tuple[Any, str]]) -> None:
        cls.seen.append([action for _, action in asked])


def test_an_environment_is_shown_no_action_where_there_is_none():
    Prepared.seen.clear()
    rollout(Prepared, [Start(hall(5), 0, 1, Budget(9, 4))], Narrow(8))
    assert Prepared.seen == [["go"]]


def test_an_episode_without_a_turn_is_written_and_trained_on(tmp_path):
    plan = sampling.Plan(
        environment=Hall,
        tasks=[hall(5), hall(3, "other")],
        budget=Budget(9, 4),
        episodes=4,
        batch=3,
        seed=1,
        temperature=1.0,
        who={"env": "hall", "model": "m", "policy": "p"},
    )
    sampling.write([plan], Narrow(9), tmp_path / "e.parquet", tmp_path / "t.parquet")
    heads = tables.read(tmp_path / "e.parquet", "episodes")
    assert heads["stop"].tolist() == ["tokens"] * 4 + ["success"] * 4
    assert heads["turns"].tolist() == [0] * 4 + [3] * 4
    assert heads["success"].tolist() == [False] * 4 + [True] * 4
    study = Study(Hall, plan.tasks, plan.budget, grpo.make(), 0)
    recipe = Recipe(1, 2, 4, 0.1, 1)
    batch = play(study, Narrow(9), [plan.tasks[0]] * 4 + [plan.tasks[1]] * 4, 0, recipe)
    assert [len(one) for one in batch.advantages] == [0] * 4 + [3] * 4
    assert tokens(batch.episodes[0], 7) == ([7], [7], [0])


def with_room_for(pair: Pair, left: int) -> Pair:
    return replace(pair, policies={"base": Speaker(1.0), "trained": Narrow(left)})


def test_where_one_policy_has_no_room_the_other_is_compared_all_the_same():
    pair = hall_pair(hall(9), hall(9, "other"), go=(1.0, 1.0), errors=lambda *_: [])
    states = [state("hall", "go"), state("other", "go", place=1)]
    rows = matched.actions(with_room_for(pair, 2), states, 2)
    assert [(row["actor"], row["task_id"]) for row in rows] == [
        *[("base", "hall")] * 2,
        *[("base", "other")] * 2,
        *[("trained", "hall")] * 2,
        *[("trained", "other")] * 2,
    ]
    rows = matched.actions(with_room_for(pair, 1), states, 2)  # it is the only one that is left
    assert [row["actor"] for row in rows if row["task_id"] == "hall"] == ["base"] * 2
    assert [row["actor"] for row in rows if row["task_id"] == "other"] == [
        *["base"] * 2,
        *["trained"] * 2,
    ]
    world: Any = pair.world
    for world.IMMEDIATE in (False, True):
        rows = matched.continuations(with_room_for(pair, 5), states, 1)  # the first one of five
        found = {(row["actor"], row["task_id"]): row for row in rows}
        ended = found["trained", "hall"]
        assert (ended["stop"], ended["success"], ended["turns"]) == ("tokens", False, 0)
        assert ended["recovered"] is None
        assert found["trained", "other"]["turns"] == 5


def test_a_probe_without_room_is_left_out():
    task = hall(9)
    study = Study(Hall, [task], Budget(6, 4), grpo.make(), 0)
    exam = Exam([task], 0, 2, [state("hall", "go")], 1)
    assert len(examine(study, exam, Speaker(1.0))) == 2
    assert examine(study, exam, Narrow(1)) == []


@pytest.fixture(scope="module")
def pair(words: Any) -> tuple[Policy, Policy]:
    """One model, with a context that is long, and one that some episodes outgrow."""
    found = []
    for context in (1024, SMALL):
        model = nano.network(replace(RECIPE, context=context), words, 5)
        with torch.no_grad():
            model.model.embed_tokens.weight[words.eos_token_id] *= 3.0
        found.append(Policy(model.eval(), words))
    return found[0], found[1]


def said(episodes: list[Episode]) -> list[list[tuple[list[int], list[int]]]]:
    return [[(turn.context_ids, turn.action_ids) for turn in one.turns] for one in episodes]


def test_with_transformers_an_episode_ends_where_the_context_does(pair):
    large, small = pair
    starts = [start(number) for number in range(24)]
    usual, found = rollout(Crowd, starts, large), rollout(Crowd, starts, small)
    outgrown = 0
    for one, other in zip(found, usual, strict=True):
        # a turn is played if all of it fits: none is cut where the context ends
        fits = sum(size <= SMALL for size in before(other))
        assert said([one]) == [said([other])[0][:fits]]
        assert one.error is None
        if fits == len(other.turns):
            assert (one.stop, one.final_observation) == (other.stop, other.final_observation)
        else:
            assert (one.stop, one.success) == (StopReason.TOKENS, False)
            outgrown += 1
    assert 3 < outgrown < 21
    assert said(found) == said([rollout(Crowd, [one], small)[0] for one in starts])
    assert said(found) == said(rollout(Crowd, starts[::-1], small)[::-1])


def test_a_first_observation_without_room_ends_all_of_a_batch(pair):
    (episode,) = rollout(Crowd, [start(3)], Policy(_narrow(pair[0]), pair[0].renderer.tokenizer))
    assert (episode.turns, episode.stop) == ([], StopReason.TOKENS)


def _narrow(policy: Policy) -> Any:
    model = nano.network(replace(RECIPE, context=2), policy.renderer.tokenizer, 5)
    return model.eval()


@pytest.mark.parametrize(("marks", "bias"), [(("end",), -1e4), (("end",), 1e4), (("markup",), 1e4)])
def test_a_model_that_never_ends_or_says_markup_alone_plays_to_the_end(pair, marks, bias, tmp_path):
    words = pair[0].renderer.tokenizer
    model: Any = nano.network(RECIPE, words, 5).eval()
    chosen = [words.eos_token_id] if marks == ("end",) else words.all_special_ids
    shift = torch.zeros(model.config.vocab_size)
    shift[chosen] = bias
    model.lm_head.register_forward_hook(lambda _, __, logits: logits + shift)
    plan = sampling.Plan(
        environment=frozen_lake.Environment,
        tasks=frozen_lake.tasks(3, train=0, test=4, sizes=[3, 4]),
        budget=BUDGET,
        episodes=2,
        batch=8,
        seed=1,
        temperature=1.0,
        who={"env": "frozen_lake", "model": "m", "policy": "p"},
    )
    sampling.write([plan], Policy(model, words), tmp_path / "e.parquet", tmp_path / "t.parquet")
    heads = tables.read(tmp_path / "e.parquet", "episodes")
    rows = tables.read(tmp_path / "t.parquet", "turns")
    assert set(heads["stop"]) == {"budget"}
    assert (heads["turns"] == BUDGET.turns).all()
    sizes = set(rows["tokens"])
    if marks == ("end",):
        assert sizes == ({1} if bias > 0 else {BUDGET.turn_tokens})
    if bias > 0:
        assert not rows["valid"].any()
        assert set(np.concatenate(rows["action_ids"].to_list())) <= set(chosen)


@pytest.mark.slow
def test_a_training_goes_on_with_episodes_that_outgrow_the_context(nano_folder, lakes, tmp_path):
    base = tmp_path / "base"
    shutil.copytree(nano_folder, base)
    settings = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(settings | {"max_position_embeddings": 24}))
    study = Study(frozen_lake.Environment, lakes, Budget(6, 4), grpo.make(), 0)
    recipe = Recipe(steps=2, tasks=4, group=4, learning_rate=1e-3, checkpoint_steps=2)
    places = tmp_path / "policy", tmp_path / "scratch"
    curves, _ = training.train(study, recipe, base, *places, "name")
    lengths = [row["value"] for row in curves if row["name"] == "turns"]
    assert len(lengths) == 2
    usual = play(study, Policy(nano_folder), lakes[:4], 0, replace(recipe, group=2)).episodes
    found = play(study, Policy(base), lakes[:4], 0, replace(recipe, group=2)).episodes
    assert StopReason.TOKENS in {episode.stop for episode in found}
    assert sum(len(one.turns) for one in found) < sum(len(one.turns) for one in usual)
    assert (tmp_path / "policy" / "model.safetensors").is_file()
