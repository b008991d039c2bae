"""The lists of pinned packages, and the direct dependencies, agree."""

import importlib.metadata
import re
import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.workflow.running import ROOT
from turnscope.policies.vllm import VERSION

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(name):
    lines = (ROOT / "envs" / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r "))]


def test_every_package_is_pinned_without_an_index_or_a_local_version():
    marked = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*(; sys_platform == '[a-z]+')?")
    for line in pins("requirements.txt") + pins("requirements-dev.txt"):
        assert marked.fullmatch(line), line


def test_conda_installs_the_same():
    conda = yaml.safe_load((ROOT / "envs" / "turnscope.yaml").read_text())
    assert conda["dependencies"][-1]["pip"] == pins("requirements.txt")


def test_runtime_and_tools_do_not_overlap():
    assert not set(pins("requirements.txt")) & set(pins("requirements-dev.txt"))


def test_the_lock_holds_what_the_project_asks_for():
    for wanted, files in (
        (PROJECT["dependencies"], ["requirements.txt"]),
        (PROJECT["optional-dependencies"]["dev"], ["requirements.txt", "requirements-dev.txt"]),
    ):
        locked = {
            canonicalize_name(line.split("==")[0]): line.split("==")[1].split(";")[0]
            for file in files
            for line in pins(file)
        }
        for line in wanted:
            need = Requirement(line)
            assert need.specifier.contains(locked[canonicalize_name(need.name)]), line


def test_the_lock_is_complete():
    """Whatever a pinned package needs is pinned as well, but for what CUDA brings along."""
    locked = {canonicalize_name(line.split("==")[0]) for line in pins("requirements.txt")}
    for name in sorted(locked):
        for line in importlib.metadata.requires(name) or []:
            need = Requirement(line)
            if need.name.startswith(("nvidia-", "cuda-", "triton")):
                continue
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in locked, f"{name} needs {line}"


def test_with_vllm_the_study_runs_on_the_same():
    """But for what vLLM will not have, and a torch that is for CPUs."""
    common, here = (
        dict(line.split("==", 1) for line in pins(name))
        for name in ("requirements.txt", "requirements-vllm-cpu.txt")
    )
    assert common.keys() <= here.keys()
    different = {name for name in common if here[name] != common[name]}
    assert different == {"numpy", "packaging", "setuptools", "torch"}
    assert here["torch"] == common["torch"] + "+cpu"
    assert here["vllm-cpu"] == VERSION
    assert f"vllm=={VERSION}" in PROJECT["optional-dependencies"]["vllm"]
    # They break transformers beside this torch.
    assert not {"torchvision", "torchaudio", "torchcodec", "triton"} & here.keys()
