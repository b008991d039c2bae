"""Validate a folder as an RO-Crate without a network; print the issues, and the levels passed.

Runs on the Python of `.venv-crate`, not on that of the tests. What the validator would fetch is
laid into its cache beforehand: the two contexts, from `context/`.

Source:
    RO-Crate JSON-LD context 1.1.3 (CC0), github.com/ResearchObject/ro-crate at 4b4f939, and the
    terms of workflow runs, github.com/ResearchObject/ro-terms at fb60361.
"""

# pyright: reportMissingImports=false
import io
import json
import sys
import tempfile
from pathlib import Path

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings
from urllib3.response import HTTPResponse

CONTEXTS = {
    "https://w3id.org/ro/crate/1.1/context": "ro-crate-1.1.jsonld",
    "https://w3id.org/ro/terms/workflow-run/context": "workflow-run.jsonld",
}


class Shelf(HTTPAdapter):
    """Answers with what lies in `context/`."""

    def send(self, request, *_, **__):
        """Answer one request."""
        content = (Path(__file__).parent / "context" / CONTEXTS[request.url]).read_bytes()
        kind = {"Content-Type": "application/ld+json"}
        body = HTTPResponse(io.BytesIO(content), kind, status=200, preload_content=False)
        return self.build_response(request, body)


def fill(cache: Path) -> None:
    """Put the contexts where the validator looks before it asks the network."""
    with CachedSession(str(cache), backend="sqlite", expire_after=-1) as session:
        session.mount("https://", Shelf())
        for url in CONTEXTS:
            session.get(url).raise_for_status()


def main(crate: Path) -> None:
    """Print the issues as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        fill(cache)
        settings = ValidationSettings(
            rocrate_uri=str(crate),
            profile_identifier="provenance-run-crate",
            requirement_severity=Severity.RECOMMENDED,
            offline=True,
            cache_path=cache,
        )
        result = services.validate(settings)
        issues = [
            {
                "severity": issue.severity.name,
                "check": issue.check.identifier,
                "message": issue.message,
                "entity": str(issue.violatingEntity),
            }
            for issue in result.get_issues(Severity.RECOMMENDED)
        ]
    print(json.dumps(issues, indent=1))  # noqa: T201 - its result


if __name__ == "__main__":
    main(Path(sys.argv[1]))
