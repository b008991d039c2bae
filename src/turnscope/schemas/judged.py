"""Tables of what was found: estimates, claims, and how far the instrument can be trusted."""

import pyarrow as pa

from turnscope.schemas.columns import column

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
        column(
            "part",
            pa.string(),
            "which states or episodes, as `mixture/error`, see metrics; null is all",
            null=True,
        ),
        column("k", pa.int32(), "K of Pass@(K,T), episodes; null if it has none", null=True),
        column(
            "t",
            pa.int32(),
            "T of Pass@(K,T), turns; of `r_multi`, `r_single` and their kin the optimiser step; of "
            "what is said of single turns the turn, or the last one of a quarter of T_max; of "
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
        column(
            "env",
            pa.string(),
            "environment; `all` for a mean over environments; null for a claim that was not run",
            null=True,
        ),
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
        column(
            "naive_value",
            pa.float64(),
            "value by the protocol that the artefact fakes, if there is one",
            null=True,
        ),
        column("figure", pa.string(), "figure that shows it; null if none does", null=True),
        column("summary", pa.string(), "table that shows it; null if none does", null=True),
        column("code", pa.string(), "module that judged it; null if none did", null=True),
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
ROBUSTNESS = pa.schema(
    [
        column("claim", pa.string(), "identifier, such as `C2a`"),
        column("env", pa.string(), "environment"),
        column("model", pa.string(), "model"),
        column("policy", pa.string(), "arm"),
        column("variant", pa.string(), "what was judged otherwise; `headline` is the ledger's"),
        column("value", pa.float64(), "ours; null if not run", null=True),
        column("low", pa.float64(), "lower end of its interval", null=True),
        column("high", pa.float64(), "upper end of its interval", null=True),
        column("verdict", pa.string(), "as in claims"),
    ]
)
CALIBRATION = pa.schema(
    [
        column(
            "kind",
            pa.string(),
            "`null`: what is looked for is not there; `planted`: it is; `naive`: it is not there, "
            "and the protocol is known to find it all the same, so it is expected not to pass",
        ),
        column("family", pa.string(), "claim or statistic whose verdicts are counted"),
        column("studies", pa.int32(), "studies in which it was judged"),
        column("found", pa.int32(), "verdicts of an effect: false ones if there is none"),
        column("rate", pa.float64(), "their share"),
        column("low", pa.float64(), "lower end of its exact 95% interval"),
        column("high", pa.float64(), "upper end of its exact 95% interval"),
        column(
            "expected",
            pa.float64(),
            "nominal rate; of planted effects the power that the spread over studies predicts",
        ),
        column("effect", pa.float64(), "planted effect, true value; null if none", null=True),
        column(
            "p_value",
            pa.float64(),
            "one-sided, of the rate being at most the nominal one; two-sided against the power",
        ),
        column("passed", pa.bool_(), "whether the instrument is calibrated here"),
    ]
)
AUDITS = pa.schema(
    [
        column("kind", pa.string(), "audit that found it, see `turnscope.audits`"),
        column("check", pa.string(), "what was looked at, in a word"),
        column("artifact", pa.string(), "the file, as records name it"),
        column("detail", pa.string(), "what is wrong with it"),
    ]
)
