import re
import subprocess
import sys

import pytest

from tests.workflow.running import ROOT


@pytest.mark.slow
def test_generated_pages_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_shows_the_rule_graph_and_files_that_exist():
    readme = (ROOT / "README.md").read_text()
    assert (ROOT / "docs/rulegraph.mmd").read_text().strip() in readme
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert "docs/figures/pass_at_t.png" in links
    assert [link for link in links if not (ROOT / link).exists()] == []
    tree = readme.split("```\nSnakefile")[1].split("```")[0]
    named = re.findall(r"^  ([\w/.]+)", tree, re.MULTILINE)
    assert [name for name in named if not (ROOT / "src/turnscope" / name).exists()] == []
