"""The columns of every table of the study, each with its unit and range.

`docs/tables.md` is generated from this module. Missing is null, never 0 or an empty string, and a
column refuses nulls unless it says when they occur.
"""

import pyarrow as pa


def column(name: str, kind: pa.DataType, about: str, *, null: bool = False) -> pa.Field:
    """Declare a column; `about` goes to the documentation, with unit and range."""
    return pa.field(name, kind, nullable=null, metadata={"about": about})


INTS, FLOATS = pa.list_(pa.int32()), pa.list_(pa.float32())
WHO = [
    column("env", pa.string(), "environment"),
    column("model", pa.string(), "model that all policies of the comparison start from"),
    column("policy", pa.string(), "`base`, or arm and training seed as `grpo-s0`"),
]
EPISODE = [
    *WHO,
    column("task_id", pa.string(), "task, see tasks"),
    column("sample", pa.int32(), "number of the attempt at this task, from 0"),
]

TASKS = pa.schema(
    [
        column("env", pa.string(), "environment"),
        column("task_id", pa.string(), "unique within the environment"),
        column("split", pa.string(), "`train` or `test`"),
        column("stratum", pa.string(), "the bootstrap resamples tasks within it"),
        column("cluster", pa.string(), "common source of several tasks; else the task itself"),
        column("payload", pa.string(), "the problem, JSON with sorted keys"),
        column("min_turns", pa.int32(), "fewest turns to solve it; null when unknown", null=True),
        column(
            "bound",
            pa.list_(pa.float64()),
            "highest success probability of any policy within T = 1, 2, ..., T_max turns; "
            "null when unknown",
            null=True,
        ),
    ]
)
EPISODES = pa.schema(
    [
        *EPISODE,
        column("budget", pa.int32(), "T under which it was played, turns"),
        column("told", pa.bool_(), "whether the policy was shown the turns left"),
        column("turns", pa.int32(), "actions taken, turns"),
        column("tokens", pa.int32(), "tokens sampled by the policy"),
        column("invalid", pa.int32(), "turns whose action the environment could not parse"),
        column("reward", pa.float64(), "sum of the rewards of its turns"),
        column("success", pa.bool_(), "solved; null when the environment failed", null=True),
        column("stop", pa.string(), "`success`, `failure`, `budget`, `tokens` or `error`"),
        column("final_observation", pa.string(), "what the environment said last"),
        column("final_state_key", pa.string(), "hidden state at the end"),
        column("error", pa.string(), "how the environment failed; null if it did not", null=True),
    ]
)
TURNS = pa.schema(
    [
        *EPISODE,
        column("turn", pa.int32(), "number of the turn, from 0"),
        column("state_key", pa.string(), "hidden state before the action"),
        column("observation", pa.string(), "what the policy was told before the action"),
        column("action", pa.string(), "what the policy said"),
        column("valid", pa.bool_(), "whether the environment could parse the action"),
        column("reward", pa.float64(), "payment for this turn alone"),
        column("context_ids", INTS, "tokens fed since the previous action; empty without a model"),
        column("action_ids", INTS, "tokens sampled; empty without a model"),
        column("logprobs", FLOATS, "log-probability of each sampled token at temperature 1, nats"),
    ]
)
TRAINING = pa.schema(
    [
        *WHO,
        column("step", pa.int32(), "optimiser steps done, from 1"),
        column(
            "name",
            pa.string(),
            "what was measured. On the episodes of the step: `reward`, `success`, `turns`, "
            "`tokens`, `tokens_total` (sampled so far), `budget`, `budget_T6` (share of groups "
            "under 6 turns; no row where it is 0), `quality` (mean step quality), "
            "`invalid_share` (of turns), `zero_variance_groups` (share), `distinct_actions` "
            "(share of pairs of actions in one state of one task that differ), `anchor_size` "
            "and `anchor_singletons` (turns in one state of one task, and the share of turns "
            "alone in theirs; `anchor_left_`: with equally many turns left), "
            "`environment_errors`. Of the update: `zero_advantage_share` (of sampled tokens), "
            "`entropy` and `kl` to base (nats per sampled token), `gradient_norm`, `loss`, "
            "`learning_rate`, `critic_loss`, `explained_variance`; `collapse` is 1 while the "
            "alarm is on",
        ),
        column("value", pa.float64(), "its value at that step; null if undefined", null=True),
    ]
)
NESTED = pa.list_(INTS)
STATES = pa.schema(
    [
        *EPISODE,
        column("budget", pa.int32(), "T under which the episode was played, turns"),
        column("seed", pa.uint64(), "names the noise of the environment in that episode"),
        column("turn", pa.int32(), "turns before the state, all of which are replayed to reach it"),
        column("state_key", pa.string(), "hidden state"),
        column("state_keys", pa.list_(pa.string()), "hidden states before each of these turns"),
        column("actions", pa.list_(pa.string()), "what the policy said in each of them"),
        column("context_ids", NESTED, "tokens fed before each; empty without a model"),
        column("action_ids", NESTED, "tokens sampled in each; empty without a model"),
    ]
)
PROGRESS = pa.schema(
    [
        *WHO,
        column("step", pa.int32(), "optimiser steps done, from 0: the base policy"),
        column("source", pa.string(), "`policy`: its own episodes; `probe`: fixed states of base"),
        column("task_id", pa.string(), "test task, see tasks"),
        column("place", pa.int32(), "number of the episode at this task, or of the probe state"),
        column("state_key", pa.string(), "hidden state before the action"),
        column("turn", pa.int32(), "number of the turn, from 0"),
        column("left", pa.int32(), "turns left in the budget before it, turns"),
        column("quality", pa.float64(), "quality of the action, 0 to 1; null if none", null=True),
        column("best", pa.float64(), "that of the best action; null if none", null=True),
        column("success", pa.bool_(), "whether its episode was solved; null for probes", null=True),
    ]
)
ESTIMATES = pa.schema(
    [
        column("metric", pa.string(), "what is estimated, see metrics"),
        column("env", pa.string(), "environment"),
        column("model", pa.string(), "model that all policies of the comparison start from"),
        column(
            "policy", pa.string(), "`base`, one training seed `grpo-s0`, or an arm's mean `grpo`"
        ),
        column(
            "against",
            pa.string(),
            "policy that is subtracted, task by task or seed by seed; itself if two ways to play "
            "it are compared; null if the value is no difference",
            null=True,
        ),
        column("k", pa.int32(), "K of Pass@(K,T), episodes; null if it has none", null=True),
        column(
            "t",
            pa.int32(),
            "T of Pass@(K,T), turns; of `r_multi`, `r_single` and their kin the optimiser step; of "
            "`budget_share` the budget, turns; of `told_solved_` and a budget the turn; null if it "
            "has none",
            null=True,
        ),
        column(
            "value",
            pa.float64(),
            "the estimate; of metrics that end in `_holm` the adjusted p-value; null where "
            "undefined, as for k > n",
            null=True,
        ),
        column(
            "low",
            pa.float64(),
            "lower end of the pointwise 95% interval; 90% for `truncation_equivalence` and "
            "`between_arms_lower`",
            null=True,
        ),
        column(
            "high",
            pa.float64(),
            "upper end of the pointwise 95% interval; 90% for `truncation_equivalence` and "
            "`between_arms_lower`",
            null=True,
        ),
        column("band_t_low", pa.float64(), "lower end of the 95% band over all T", null=True),
        column("band_t_high", pa.float64(), "upper end of the 95% band over all T", null=True),
        column("band_k_low", pa.float64(), "lower end of the 95% band over all k", null=True),
        column("band_k_high", pa.float64(), "upper end of the 95% band over all k", null=True),
        column(
            "p_value",
            pa.float64(),
            "two-sided p-value of `value` = 0, if tested; that of not being equivalent for "
            "`truncation_equivalence`, that of a loss of 0.02 or more for `between_arms_lower`; of "
            "metrics that end in `_holm` adjusted over the quarters of T_max",
            null=True,
        ),
        column("tasks", pa.int32(), "tasks that entered; 0 for what is taken from training curves"),
        column(
            "samples", pa.int32(), "fewest episodes of a task that entered, per policy; 0 likewise"
        ),
        column("seeds", pa.int32(), "training seeds that entered; 0 for `base` and bounds"),
    ]
)
CLAIMS = pa.schema(
    [
        column("claim", pa.string(), "identifier, such as `C2a`"),
        column("section", pa.string(), "section of the paper"),
        column("text", pa.string(), "what is claimed"),
        column("paper", pa.string(), "the paper's value"),
        column("env", pa.string(), "environment; null for a claim that was not run", null=True),
        column("model", pa.string(), "model; null for a claim that was not run", null=True),
        column("policy", pa.string(), "arm; null for a claim that was not run", null=True),
        column("statistic", pa.string(), "what `value` is"),
        column("value", pa.float64(), "ours; null if not run", null=True),
        column("low", pa.float64(), "lower end of its interval", null=True),
        column("high", pa.float64(), "upper end of its interval", null=True),
        column(
            "null_value",
            pa.float64(),
            "value without any effect, if an artefact can fake it",
            null=True,
        ),
        column("rule", pa.string(), "when the claim holds, and when it is contradicted"),
        column(
            "verdict",
            pa.string(),
            "`reproduced`, `holds`, `contradicted`, `inconclusive` or `not run`",
        ),
        column(
            "detail", pa.string(), "numbers behind the verdict, in words; power if inconclusive"
        ),
    ]
)
TABLES = {
    "tasks": TASKS,
    "episodes": EPISODES,
    "turns": TURNS,
    "training": TRAINING,
    "states": STATES,
    "progress": PROGRESS,
    "estimates": ESTIMATES,
    "claims": CLAIMS,
}
