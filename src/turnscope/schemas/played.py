"""Tables of what was played and trained: tasks, episodes, turns, and what training showed."""

import pyarrow as pa

from turnscope.schemas.columns import EPISODE, FLOATS, INTS, NESTED, WHO, column

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
        column("seed", pa.uint64(), "names the noise of the environment"),
        column("temperature", pa.float64(), "divided the logits when actions were sampled, > 0"),
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
        column("quality", pa.float64(), "quality of the action, 0 to 1; null if none", null=True),
        column("best", pa.float64(), "that of the best action; null if none", null=True),
        column(
            "success",
            pa.bool_(),
            "whether its episode was solved; null when the environment failed",
            null=True,
        ),
        column("tokens", pa.int32(), "tokens sampled"),
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
