"""Tables of two policies compared step by step: states, actions, continuations, likelihoods."""

import pyarrow as pa

from turnscope.schemas.columns import ACTOR, NESTED, PAIR, PREFIX, column

POOL = pa.schema(
    [
        *PAIR,
        column("place", pa.int32(), "number of the state in the pool, from 0"),
        *PREFIX,
        column("sample", pa.int32(), "number of the episode at this task"),
        column("seed", pa.uint64(), "names the noise of the environment in that episode"),
        column(
            "solved",
            pa.bool_(),
            "whether that episode was solved in the end; null if an action was put in",
            null=True,
        ),
        column(
            "decisive",
            pa.bool_(),
            "whether actions differ in quality there; null when unknown",
            null=True,
        ),
        column(
            "visits",
            pa.int32(),
            "turns of the source's episodes at this task in this hidden state with as many turns "
            "left; null if an action was put in",
            null=True,
        ),
        column(
            "weight",
            pa.float64(),
            "visits for which the state stands: its own, divided by the probability with which it "
            "was chosen; null if an action was put in",
            null=True,
        ),
        column("state_key", pa.string(), "hidden state"),
        column("state_keys", pa.list_(pa.string()), "hidden states before each turn of the prefix"),
        column("actions", pa.list_(pa.string()), "what was said in each of them"),
        column("context_ids", NESTED, "tokens fed before each; empty without a model"),
        column("action_ids", NESTED, "tokens said in each; empty without a model"),
    ]
)
ACTIONS = pa.schema(
    [
        *PAIR,
        ACTOR,
        column("place", pa.int32(), "number of the state in the pool"),
        column("sample", pa.int32(), "number of the action in this state, from 0"),
        *PREFIX,
        column("decisive", pa.bool_(), "see pool", null=True),
        column("visits", pa.int32(), "see pool", null=True),
        column("weight", pa.float64(), "see pool", null=True),
        column("action", pa.string(), "what was said"),
        column("valid", pa.bool_(), "whether the environment could parse it"),
        column("quality", pa.float64(), "its quality, 0 to 1; null if unknown", null=True),
    ]
)
CONTINUATIONS = pa.schema(
    [
        *PAIR,
        ACTOR,
        column("place", pa.int32(), "number of the state in the pool"),
        column("sample", pa.int32(), "number of the continuation from this state, from 0"),
        *PREFIX,
        column("solved", pa.bool_(), "see pool", null=True),
        column("success", pa.bool_(), "solved; null when the environment failed", null=True),
        column("turns", pa.int32(), "actions taken after the prefix, turns"),
        column("stop", pa.string(), "`success`, `failure`, `budget`, `tokens` or `error`"),
        column(
            "recovered",
            pa.int32(),
            "actions after the prefix until the best action was again worth what it was before the "
            "error, or, where a quality is of an action by itself, up to the first that was no "
            "error, turns; null if that never came, or is unknown",
            null=True,
        ),
    ]
)
LIKELIHOOD = pa.schema(
    [
        *PAIR,
        ACTOR,
        column("task_id", pa.string(), "test task, see tasks"),
        column("sample", pa.int32(), "number of the attempt at this task, from 0"),
        column("turn", pa.int32(), "number of the turn, from 0"),
        column("turns", pa.int32(), "actions taken in its episode, turns"),
        column("success", pa.bool_(), "whether its episode was solved"),
        column("tokens", pa.int32(), "tokens sampled in the turn, end of turn included"),
        column("logp_base", pa.float64(), "log-probability of them under base, nats"),
        column("logp_trained", pa.float64(), "the same under the trained policy, nats"),
        column("logp_sampled", pa.float64(), "the same as the sampler stored it, nats"),
        column(
            "logp_again",
            pa.float64(),
            "the same under the actor, scored a second time in passes of other shapes, nats",
        ),
        column("entropy_base", pa.float64(), "entropy of base's choice, summed over tokens, nats"),
        column("entropy_trained", pa.float64(), "that of the trained policy's choice, nats"),
        column(
            "outside",
            pa.int32(),
            "tokens that are not among base's likeliest, which together have probability 0.95",
        ),
    ]
)
HEAT = pa.schema(
    [
        *PAIR,
        column(
            "temperature",
            pa.float64(),
            "at which the trained policy's entropy per token is base's, on the same tokens",
        ),
        column("entropy_base", pa.float64(), "of base at temperature 1, nats per token"),
        column("entropy_trained", pa.float64(), "of the trained policy at 1, nats per token"),
        column("entropy_heated", pa.float64(), "of it at that temperature, nats per token"),
    ]
)
