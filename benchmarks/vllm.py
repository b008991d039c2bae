"""Tokens per second of the vLLM backend, against the same requests without anything around them.

Our side plays episodes: it builds prompts and seeds, keeps tokens, decodes actions and moves. The
other side is `LLM.generate` alone: the very calls that the episodes made, recorded once, with
prompts and parameters built beforehand. Both start with an empty prefix cache in each round, and
must sample equally many tokens, which is checked.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, alternate, clock, compare, main
from turnscope import base, draws
from turnscope.environments import frozen_lake
from turnscope.policies.vllm import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget

TASKS, GROUP, ROUNDS = 8, 16, 2
LEAST = 0.8
"""Share of the tokens per second to be reached."""
BUDGET = Budget(turns=20, turn_tokens=4)
SPEC: dict[str, Any] = {
    "env": "frozen_lake",
    "model": "nano",
    "seed": 1,
    "options": {"view": "position"},
    "budget": {"turns": 20, "turn_tokens": 4, "tokens": None},
    "settings": {"build": {"episodes": 2000, "steps": 100, "skill": [0.5, 1.0]}},
}
"""A base policy of the default size that is made in seconds."""


def measure() -> list[Row]:
    """Measure one batch, as wide as a training step of the default study."""
    lakes = frozen_lake.tasks(1, train=TASKS, test=0)
    with tempfile.TemporaryDirectory() as folder:
        base.make(SPEC, lakes, Path(folder))
        policy = Policy(folder)
        starts = [
            Start(task, member, draws.seed("bench", task.task_id, member), BUDGET)
            for task in lakes
            for member in range(GROUP)
        ]
        return [_row(policy, starts)]


def _row(policy: Policy, starts: list[Start]) -> Row:
    llm = policy.model
    asked = _recorded(policy, starts)

    def ours() -> dict[str, Any]:
        llm.reset_prefix_cache()
        with clock() as time:
            episodes = rollout(frozen_lake.Environment, starts, policy)
        return {"time": time, "tokens": sum(e.tokens for e in episodes)}

    def other() -> dict[str, Any]:
        llm.reset_prefix_cache()
        with clock() as time:
            answers = [llm.generate(*request, use_tqdm=False) for request in asked]
        said = [answer.outputs[0].token_ids for call in answers for answer in call]
        return {"time": time, "tokens": sum(map(len, said))}

    a, b = alternate([ours, other], ROUNDS)
    tokens = {side["tokens"] for side in (*a, *b)}
    if len(tokens) != 1:
        raise SystemExit(f"the two sides sampled {sorted(tokens)} tokens; legal is the same number")
    number = tokens.pop()
    return compare(
        f"vLLM, {len(starts)} episodes at once, against its calls alone",
        [x["time"] for x in a],
        [x["time"] for x in b],
        amount=(number, number),
        unit="tokens/s",
        least=LEAST,
        details={"tokens": number, "calls": len(asked), "prompts": sum(len(p) for p, _ in asked)},
    )


def _recorded(policy: Policy, starts: list[Start]) -> list[tuple[list[Any], list[Any]]]:
    """Play once, and keep the arguments of all calls."""
    llm, kept = policy.model, []
    ask = llm.generate

    def kept_and_asked(prompts: list[Any], params: list[Any], **options: Any) -> Any:
        kept.append(([{"prompt_token_ids": [*p["prompt_token_ids"]]} for p in prompts], params))
        return ask(prompts, params, **options)

    llm.generate = kept_and_asked
    try:
        rollout(frozen_lake.Environment, starts, policy)
    finally:
        del llm.generate
    return kept


if __name__ == "__main__":
    main(measure)
