"""`snakemake audit`, on a finished study."""

import shutil
import subprocess

import pytest

from tests.workflow.running import snakemake
from turnscope import tables

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def repo(finished, tmp_path_factory):
    made = tmp_path_factory.mktemp("audit") / "repo"
    return shutil.copytree(finished, made, symlinks=True)


def test_a_clean_study_passes_and_an_edited_one_fails(repo):
    manifest = repo / "results/MANIFEST.sha256"
    done = snakemake(repo, "audit")
    assert done.returncode == 0, done.stdout
    assert "freshness    73 artifacts, 0 failures" in done.stdout
    page = repo / "results/audits/audits.md"
    assert "| freshness | 73 artifacts | 0 |\n" in page.read_text()
    check = ["sha256sum", "--check", "--strict", "--quiet", manifest.relative_to(repo)]
    assert subprocess.run(check, cwd=repo, check=False).returncode == 0
    manifest.unlink()
    module = repo / "src/turnscope/metrics/crossover.py"
    module.write_text(module.read_text() + "\nEDITED = 1\n")
    done = snakemake(repo, "audit")
    assert done.returncode != 0
    found = tables.read(repo / "results/audits/audits.parquet", "audits")
    assert set(found["kind"]) == {"freshness"}
    assert "made with other code: turnscope/metrics/crossover.py" in set(found["detail"])
    assert "made with other code: turnscope/metrics/crossover.py" in page.read_text()
    assert not manifest.exists()
