"""Finished studies of a few files, laid out by hand."""

import json

from turnscope import provenance, tables


def estimate(**changes):
    return {
        **{"metric": "pass_at_kt", "env": "frozen_lake", "model": "nano", "policy": "grpo"},
        **{"against": "base", "k": 8, "t": 20, "value": 0.1, "low": 0.0, "high": 0.2},
        **{"tasks": 5, "samples": 8, "seeds": 2},
        **changes,
    }


def claim(**changes):
    return {
        **{"claim": "C1", "section": "3", "text": "x", "paper": "x", "env": "frozen_lake"},
        **{"model": "nano", "policy": "grpo", "statistic": "x", "value": 0.1, "low": 0.0},
        **{"high": 0.2, "rule": "x", "verdict": "holds", "detail": "x"},
        **changes,
    }


def add(study, stage, mark, files, spec=None, modules=None, start="0"):
    """Add the records of an artifact whose files are there."""
    path = study / mark
    outputs = {name: study / name for name in files}
    record = provenance.record(stage, spec or {}, "0", modules or {}, {}, outputs)
    for entry, name in zip(record["outputs"], sorted(files), strict=True):
        entry["path"] = name
    provenance.write_json(record, path)
    diary = path.with_name(path.name.removesuffix("provenance.json") + "run.json")
    diary.write_text(json.dumps({"start": start}))


def made(study, value=0.1, verdict="holds", start="0", draws=500, modules=None):
    """Write a study of one estimate, one figure and two claims."""
    estimates = "results/estimates/frozen_lake/nano/pass_at_kt.parquet"
    rows = [estimate(value=value), estimate(policy="base", against=None, t=None, seeds=0)]
    tables.write(tables.conform(rows, "estimates"), study / estimates, "estimates")
    mark = "results/estimates/frozen_lake/nano/pass_at_kt.provenance.json"
    add(study, "estimate", mark, [estimates], {"settings": {"draws": draws}}, modules, start)
    claims = "results/claims/claims.parquet"
    none = dict.fromkeys(["env", "model", "policy", "value", "low", "high"])
    ledger = [claim(value=value, verdict=verdict), claim(claim="CA", verdict="not run", **none)]
    tables.write(tables.conform(ledger, "claims"), study / claims, "claims")
    add(study, "claims", "results/claims/provenance.json", [claims], start=start)
    figure = [f"results/figures/pass_at_k.{kind}" for kind in ("csv", "png")]
    (study / "results/figures").mkdir()
    (study / figure[0]).write_text(f"policy,value,about\ngrpo,{value},\nbase,0.5,\n")
    (study / figure[1]).write_text("a picture")
    add(study, "figure", "results/figures/pass_at_k.provenance.json", figure, start=start)
    return study
