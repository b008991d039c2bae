"""What must hold of likelihoods, and of what is measured along training."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from turnscope.audits._results import Finding, Record, Results

EQUAL = 0.01
"""What two scores of one token by one engine in float32 may differ by, nats."""
ENGINES = 0.5
"""The same by two engines, or in half precision; on average `metrics` allows far less."""
SUMS = 1e-6
"""What sums of the same numbers may differ by, nats."""
CLOSE = 1e-9
ROUNDED = 1e-6
"""What a curve may be outside of its range by: some are means in 32 bits."""
SHARES = (
    *("success", "invalid_share", "zero_variance_groups", "distinct_actions", "collapse"),
    *("anchor_singletons", "anchor_left_singletons", "zero_advantage_share", "sampler_cut_share"),
)
"""Curves from 0 to 1; so are those that begin with `SHARE`."""
SHARE = "budget_T"
SIZES = (
    *("turns", "tokens", "tokens_total", "budget", "anchor_size", "anchor_left_size"),
    *("environment_errors", "entropy", "gradient_norm", "learning_rate", "critic_loss"),
    *("sampler_gap_mean", "sampler_gap_max"),
)
"""Curves from 0 on."""
KEY = ["task_id", "sample", "turn"]


def likelihood(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield scores that are no log-probabilities, or not those of who sampled."""
    rows = results.table(path, "likelihood")
    scores = rows[["logp_base", "logp_trained", "logp_sampled", "logp_again"]].to_numpy(float)
    entropies = rows[["entropy_base", "entropy_trained"]].to_numpy(float)
    base = (rows["actor"] == "base").to_numpy()
    own = np.where(base, rows["logp_base"], rows["logp_trained"])
    tokens = rows["tokens"].to_numpy(float)
    apart = _apart(results, record)
    checks = {
        "a log-probability above 0, or not finite": ~(np.isfinite(scores) & (scores <= 0)).all(1),
        "an entropy below 0, or not finite": ~(np.isfinite(entropies) & (entropies >= 0)).all(1),
        "an actor that there is not": ~rows["actor"].isin(["base", "trained"]).to_numpy(),
        "more tokens that base would not say than tokens": rows["outside"] > rows["tokens"],
        "scores that differ the second time": np.abs(rows["logp_again"] - own) > apart * tokens,
        "scores that are not the sampler's": np.abs(rows["logp_sampled"] - own) > apart * tokens,
    }
    for what, wrong in checks.items():
        if np.any(wrong):
            yield Finding("score", path, f"{int(np.sum(wrong))} turns have {what}")
    for actor in ("base", "trained"):
        yield from _sampled(results, record, path, rows[rows["actor"] == actor], actor)


def _apart(results: Results, record: Record) -> float:
    """Say how far two scores of a token may be apart: whether one engine in float32 made both."""
    makers = {file.path: one for one in results.records for file in one.outputs}
    turns = [record.input(f"{actor}_turns") for actor in ("base", "trained")]
    backends = {makers[path].spec.get("backend") for path in turns if path in makers}
    equal = backends == {record.spec["backend"]} and not results.loads(record)
    return EQUAL if equal else ENGINES


def _sampled(
    results: Results, record: Record, path: str, rows: pd.DataFrame, actor: str
) -> Iterator[Finding]:
    """Compare what the sampler is said to have stored with what it stored."""
    source = record.input(f"{actor}_turns")
    if source is None or rows.empty:
        return
    turns = results.arrow(source, "turns")
    chosen = turns.select([*KEY, "tokens"]).to_pandas()
    places = rows[[*KEY, "tokens", "logp_sampled"]].merge(
        chosen.assign(row=np.arange(len(chosen))), on=[*KEY, "tokens"], how="left"
    )
    if len(places) != len(rows) or places["row"].isna().any():
        yield Finding("score", path, f"turns of {actor} that are not in {source}")
        return
    lists = turns["logprobs"].take(places["row"].astype(int).to_numpy()).to_pylist()
    sums = np.array([np.sum(np.asarray(one, float)) for one in lists])
    if (wrong := np.abs(sums - places["logp_sampled"].to_numpy()) > SUMS).any():
        yield Finding("score", path, f"{int(wrong.sum())} sums are not those of {source}")


def heat(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield a temperature or entropies that cannot be."""
    rows = results.table(path, "heat")
    numbers = rows.drop(columns=["env", "model", "policy"]).to_numpy(float)
    if len(rows) != 1 or not (np.isfinite(numbers) & (numbers >= 0)).all():
        yield Finding("heat", path, "not one row of a temperature and entropies of 0 or more")
    elif (rows["temperature"] <= 0).any():
        yield Finding("heat", path, "a temperature of 0")
    del record


def training(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield steps that were not to be done, and measurements that cannot be."""
    rows = results.table(path, "training")
    most = record.spec["training"]["steps"]
    if rows.empty or not rows["step"].between(1, most).all():
        yield Finding("step", path, f"steps are not 1 to {most}")
    if rows.duplicated(["step", "name"]).any():
        yield Finding("step", path, "something was measured twice at one step")
    if np.isinf(rows["value"].to_numpy(float)).any():
        yield Finding("value", path, "a value is not finite")
    share = rows["name"].isin(SHARES) | rows["name"].str.startswith(SHARE)
    if not rows.loc[share, "value"].dropna().between(-ROUNDED, 1 + ROUNDED).all():
        yield Finding("value", path, "a share is not from 0 to 1")
    if (rows.loc[rows["name"].isin(SIZES), "value"] < -ROUNDED).any():
        yield Finding("value", path, "a size is below 0")
    if (rows.loc[rows["name"] == "explained_variance", "value"] > 1 + ROUNDED).any():
        yield Finding("value", path, "more than all of the variance is explained")
    wide = rows.pivot_table("value", "step", "name")
    if {"sampler_gap_mean", "sampler_gap_max"} <= {*wide} and (
        wide["sampler_gap_mean"] > wide["sampler_gap_max"] + ROUNDED
    ).any():
        yield Finding("value", path, "a mean difference is above the largest one")
    spent = rows[rows["name"] == "tokens_total"].sort_values("step")
    if (np.diff(spent["value"].to_numpy(float)) < 0).any():
        yield Finding("value", path, "tokens_total falls")


def progress(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield evaluations that cannot be."""
    del record
    rows = results.table(path, "progress")
    quality, best = rows["quality"].to_numpy(float), rows["best"].to_numpy(float)
    if ((quality < 0) | (quality > 1)).any() or (quality > best + CLOSE).any():
        yield Finding("value", path, "a quality is not from 0 to the best one")
    if (rows["left"] < 1).any() or (rows["turn"] < 0).any():
        yield Finding("value", path, "an action behind the last turn")
    if not (rows["success"].isna() == (rows["source"] == "probe")).all():
        yield Finding("value", path, "success of a probe, or none of an episode")
