"""Whether a folder holds a study that is planned, so that nothing of it need be made again."""

from collections.abc import Sequence
from pathlib import Path

from turnscope.audits import _results, chain, freshness, integrity
from turnscope.audits._results import Settings
from turnscope.dry_run import Planned


def problems(folder: Path, jobs: Sequence[Planned]) -> list[str]:
    """Say in a line each what is missing, damaged or stale of planned jobs; others do not matter.

    Args:
        folder: The results.
        jobs: All jobs of the study.
    """
    settings = Settings(planned=tuple(jobs), part=True)
    results = _results.read(folder).only({job.mark for job in jobs})
    found = [
        finding
        for kind in (integrity, chain, freshness)
        for finding in kind.check(results, settings).findings
    ]
    return list(dict.fromkeys(f"{one.check} {one.artifact}: {one.detail}" for one in found))
