"""Describe an archive as an RO-Crate: files, checksums, and which job made what from what.

Source:
    RO-Crate 1.1, Provenance Run Crate 0.5 (w3id.org/ro/wfrun/provenance/0.5) and what it extends.
    All of it comes from the records; only what is from `run.json` differs between equal runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from turnscope import provenance
from turnscope.archive.jobs import Job, read
from turnscope.archive.members import CRATE, STUDY, File

Entity = dict[str, Any]

CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
HUB = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/provenance/0.5": ("Provenance Run Crate", "0.5"),
    HUB: ("Workflow RO-Crate", "1.0"),
}
WORKFLOW = "Snakefile"
ENGINE = "https://snakemake.github.io"
LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
LICENCE = "https://spdx.org/licenses/Apache-2.0"
RUN = "#run"
DONE = "http://schema.org/CompletedActionStatus"
FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".safetensors": "application/octet-stream",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}
"""Media types; what is not here is text."""
USED = {
    "seconds": "https://qudt.org/vocab/unit/SEC",
    "cpu_seconds": "https://qudt.org/vocab/unit/SEC",
    "peak_rss_bytes": "https://qudt.org/vocab/unit/BYTE",
}
"""What a job used, as `run.json` calls it, and the unit."""


def describe(
    marks: Iterable[Path], files: Sequence[File], sums: Mapping[str, str], commit: str
) -> dict[str, Any]:
    """Return the content of `ro-crate-metadata.json`.

    Args:
        marks: Records of all jobs.
        files: All files of the archive but this one and the manifest.
        sums: SHA-256 of each.
        commit: Version of the code.

    Raises:
        ValueError: The code of a job, or an artifact that it read, is not among the files.
    """
    jobs = [job._replace(packed=frozenset(sums)) for job in read(marks)]
    for job in jobs:
        if lost := sorted({*job.needs, job.tool} - sums.keys()):
            raise ValueError(f"{job.mark} was made from {lost[0]}, which the archive would lack")
    stages = list(dict.fromkeys(job.record["stage"] for job in jobs))
    tools = {job.record["stage"]: job.tool for job in jobs}
    graph = [
        _descriptor(),
        _root(jobs, files),
        *(
            {"@id": one, "@type": "CreativeWork", "name": name, "version": version}
            for one, (name, version) in PROFILES.items()
        ),
        *_software({job.run["versions"]["snakemake"] for job in jobs}),
        *(_step(number, stage, tools[stage]) for number, stage in enumerate(stages)),
        *(
            _file(file, sums[file.name]) | _role(file.name, set(tools.values()), commit, tools)
            for file in sorted(files)
        ),
        *_absent(jobs),
        *_whole(jobs),
        *(entity for job in jobs for entity in _actions(job)),
    ]
    return {"@context": CONTEXT, "@graph": graph}


def _descriptor() -> Entity:
    return {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": _at("./"),
        "conformsTo": [_at("https://w3id.org/ro/crate/1.1"), _at(HUB)],
    }


def _root(jobs: Sequence[Job], files: Iterable[File]) -> Entity:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": "A study by Turnscope",
        "description": "What multi-turn reinforcement learning improves in LLM agents: "
        "code, config, artifacts, and the job that made each.",
        "datePublished": max(job.run["end"] for job in jobs),
        "license": _at(LICENCE),
        "conformsTo": [_at(profile) for profile in PROFILES],
        "mainEntity": _at(WORKFLOW),
        "hasPart": [_at(quote(file.name)) for file in sorted(files)],
        "mentions": [_at(RUN), *(_at(job.name) for job in jobs)],
    }


def _software(versions: set[str]) -> list[Entity]:
    """Describe the engine, its language, the licence, and the one parameter."""
    version = ", ".join(sorted(versions))
    return [
        {
            "@id": LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": _at("https://doi.org/10.1093/bioinformatics/bts480"),
            "url": _at(ENGINE),
            "version": version,
        },
        {
            "@id": ENGINE,
            "@type": "SoftwareApplication",
            "name": "Snakemake",
            "url": ENGINE,
            "softwareVersion": version,
        },
        {"@id": LICENCE, "@type": "CreativeWork", "name": "Apache License 2.0", "url": LICENCE},
        {
            "@id": "#study",
            "@type": "FormalParameter",
            "additionalType": "File",
            "name": "study",
            "description": "The config, as it was merged and checked",
            "workExample": _at(STUDY),
        },
    ]


def _step(number: int, stage: str, tool: str) -> Entity:
    return {
        "@id": f"#step/{stage}",
        "@type": "HowToStep",
        "name": stage,
        "position": str(number),
        "workExample": _at(tool),
    }


def _file(file: File, sha256: str) -> Entity:
    return {
        "@id": quote(file.name),
        "@type": "File",
        "name": file.name,
        "contentSize": str(file.size),
        "encodingFormat": FORMATS.get(Path(file.name).suffix, "text/plain"),
        "sha256": sha256,
    }


def _role(name: str, programs: set[str], commit: str, tools: Mapping[str, str]) -> Entity:
    """Say what a file is besides a file."""
    if name == WORKFLOW:
        return {
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            "conformsTo": _at("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
            "programmingLanguage": _at(LANGUAGE),
            "version": commit,
            "input": _at("#study"),
            "hasPart": _all(tools.values()),
            "step": _all(f"#step/{stage}" for stage in tools),
        }
    if name in programs:
        return {"@type": ["File", "SoftwareSourceCode"], "version": commit}
    if name == STUDY:
        return {"exampleOfWork": _at("#study")}
    return {"about": _at("./")} if name == "README.md" else {}


def _absent(jobs: Sequence[Job]) -> list[Entity]:
    """Describe what jobs read and the archive lacks."""
    lost = {
        entry["path"]: entry["sha256"]
        for job in jobs
        for entry in job.record["inputs"]
        if entry["path"] not in job.packed
    }
    return [
        {
            "@id": f"#absent/{quote(path)}",
            "@type": "CreativeWork",
            "name": path,
            "description": "It is not in the crate: it lay elsewhere, or was deleted after its use",
            "sha256": sha256,
        }
        for path, sha256 in sorted(lost.items())
    ]


def _whole(jobs: Sequence[Job]) -> list[Entity]:
    """Describe the run of the workflow; what no job read is what it was for."""
    read = {path for job in jobs for path in job.reads}
    marks = {path for job in jobs for path in job.writes[-2:]}
    made = [path for job in jobs for path in job.writes if path not in read | marks]
    whole = {
        "@id": RUN,
        "@type": "CreateAction",
        "name": "The study",
        "description": "Run of the workflow on its config",
        "instrument": _at(WORKFLOW),
        "object": _at(STUDY),
        "result": _all(map(quote, made)),
        "startTime": min(job.run["start"] for job in jobs),
        "endTime": max(job.run["end"] for job in jobs),
        "actionStatus": DONE,
    }
    engine = {
        "@id": "#engine",
        "@type": "OrganizeAction",
        "name": "Run of Snakemake",
        "instrument": _at(ENGINE),
        "object": _all(f"{job.name}/control" for job in jobs),
        "result": _at(RUN),
    }
    return [whole, engine]


def _actions(job: Job) -> list[Entity]:
    """Describe one job: what was run, who asked for it, its specification and what it used."""
    name, stage = job.name, job.record["stage"]
    values = [
        _value(f"{name}/{what}", what, job.run[what])
        for what in USED
        if job.run.get(what) is not None
    ]
    spec = {
        "@id": f"{name}/spec",
        "@type": "PropertyValue",
        "name": "specification",
        "value": provenance.canonical(job.record["spec"]),
    }
    action = {
        "@id": name,
        "@type": "CreateAction",
        "name": f"{stage}: {job.mark.removesuffix('provenance.json').rstrip('/.')}",
        "description": f"Job with code {job.record['code']} and key {job.record['key']}",
        "identifier": job.record["key"],
        "instrument": _at(job.tool),
        "object": _all([*job.objects, spec["@id"]]),
        "result": _all(map(quote, job.writes)),
        "startTime": job.run["start"],
        "endTime": job.run["end"],
        "actionStatus": DONE,
        "resourceUsage": _all(value["@id"] for value in values),
    }
    control = {
        "@id": f"{name}/control",
        "@type": "ControlAction",
        "name": f"Have {stage} run",
        "instrument": _at(f"#step/{stage}"),
        "object": _at(name),
        "actionStatus": DONE,
    }
    return [action, control, spec, *values]


def _value(name: str, what: str, number: float) -> Entity:
    return {
        "@id": name,
        "@type": "PropertyValue",
        "name": what,
        "propertyID": what,
        "unitCode": USED[what],
        "value": str(number),
    }


def _all(names: Iterable[str]) -> Any:
    """Refer to entities; one alone is not to be in a list."""
    found = [_at(name) for name in names]
    return found[0] if len(found) == 1 else found


def _at(name: str) -> dict[str, str]:
    return {"@id": name}
