"""A real SLURM on this machine alone, without systemd: started for tests, stopped after them.

Debian's packages are slurmctld, slurmd, slurm-client and munge. Keys, sockets, state and logs lie
in a folder of their own; the configuration must lie where SLURM looks by itself, for the program
that starts a job's step hands no SLURM_CONF on.
"""

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "setpriv")
ETC = Path("/etc/slurm")
MARK = "# Written by the tests of Turnscope, which remove it."
SYSTEM = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PORTS = (6817, 6818)
"""On which slurmctld and slurmd listen."""
PATIENCE = 600
"""Seconds within which a busy machine does what takes it one otherwise."""

# Nothing here needs cgroups, so memory is asked for but not enforced; time limits are. Four
# processors are offered whatever the machine has. Without DefMemPerCPU, a step without --mem takes
# the node. A node that was taken down stays so until it is resumed, and a job that ran on it may
# start again when its credential has run out. Finished jobs stay in squeue for a day, a killed job
# is gone after two seconds, and a busy machine is waited for.
CONFIGURATION = """{mark}
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=30
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=5,requeue_delay=1
MinJobAge=86400
DefMemPerCPU=500
MessageTimeout=100
KillWait=2
JobRequeue=1
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=32000 Gres=gpu:testgpu:2 State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=gpu Nodes={host} MaxTime=1-00:00:00 State=UP
"""
# Any device node passes for a GPU; only for one does SLURM set CUDA_VISIBLE_DEVICES.
GPUS = "".join(
    f"NodeName={{host}} Name=gpu Type=testgpu File=/dev/{device} Flags=nvidia_gpu_env\n"
    for device in ("null", "zero")
)


def lacking() -> str | None:
    """Say what is not there that a SLURM needs, None if all is."""
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=SYSTEM)]:
        return f"no {', '.join(missing)} here; apt-get install slurmctld slurmd slurm-client munge"
    if os.geteuid() != 0:
        return "a SLURM for tests is started by root"
    conf = ETC / "slurm.conf"
    if conf.exists() and not conf.read_text().startswith(MARK):
        return f"{conf} belongs to another SLURM"
    return None


@contextmanager
def running() -> Iterator[str]:
    """Start a SLURM and yield the name of its only node; skip where there is none, but not in CI.

    One at a time on a machine: another process of tests waits.
    """
    if why := lacking():
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    host = socket.gethostname().split(".")[0]
    # Paths of sockets must be short, which those of pytest need not be.
    place = Path(tempfile.gettempdir())
    with (place / "turnscope-slurm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in place.glob("turnscope-slurm-*"):
            _clear(left)
        folder = Path(tempfile.mkdtemp(prefix="turnscope-slurm-", dir=place))
        try:
            with ExitStack() as stack:
                _configure(folder, host)
                _start(stack, folder, host)
                stack.callback(_empty)
                yield host
        except BaseException:
            for log in sorted(folder.glob("*.log")):
                print(log.name, log.read_text()[-4000:], sep="\n")  # noqa: T201 - pytest shows it
            raise
        finally:
            for name in ("slurm.conf", "gres.conf", "cgroup.conf"):
                (ETC / name).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)


def run(*command: str, check: bool = True) -> str:
    """Run a program of SLURM and return what it says; twice more if SLURM is too busy to answer."""
    failures = []
    for _ in range(3 if check else 1):
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=_environment()
        )
        if done.returncode == 0 or not check:
            return done.stdout.strip()
        failures.append(f"exit code {done.returncode}: {done.stderr}")
    pytest.fail(f"{' '.join(command)}: {failures}")


def wait(until: Callable[[], object], otherwise: str) -> None:
    """Wait until something holds; fail if it takes longer than any busy machine needs."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end, otherwise
        time.sleep(0.1)


def _clear(left: Path) -> None:
    """Remove what killed tests left: files, and jobs that would wait for their SLURM for ever."""
    for entry in Path("/proc").iterdir():
        try:
            if f"{left}/spool/".encode() in (entry / "cmdline").read_bytes():
                os.killpg(int(entry.name), signal.SIGKILL)  # a job's script leads its group
        except (OSError, ValueError):  # no process, none any more, or no leader
            continue
    shutil.rmtree(left, ignore_errors=True)


def _empty() -> None:
    """Cancel what still runs: the processes of a job outlive the daemons."""
    run("scancel", "--user=root", "--full", check=False)
    wait(lambda: not run("squeue", "--noheader", check=False), "the queue does not become empty")


def _environment() -> dict[str, str]:
    return os.environ | {"PATH": SYSTEM}


def _configure(folder: Path, host: str) -> None:
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    ETC.mkdir(exist_ok=True)
    text = CONFIGURATION.format(mark=MARK, host=host, folder=folder)
    (ETC / "slurm.conf").write_text(text)
    (ETC / "gres.conf").write_text(GPUS.format(host=host))
    (ETC / "cgroup.conf").write_text("CgroupAutomount=no\nConstrainCores=no\n")


def _start(stack: ExitStack, folder: Path, host: str) -> None:
    """Start the daemons one after the other; they are stopped in reverse."""
    # Those of tests that were killed may still be on their way out.
    for port in PORTS:
        wait(lambda port=port: _free(port), f"port {port} is taken")
    own = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
    _daemon(stack, folder, "munged", "--foreground", f"--socket={folder}/munge.socket", *own)
    wait((folder / "munge.socket").exists, "munged did not start")
    _daemon(stack, folder, "slurmctld", "-D")
    up = "slurmctld does not answer"
    wait(lambda: "is UP" in run("scontrol", "ping", check=False), up)
    _daemon(stack, folder, "slurmd", "-D", "-N", host)
    idle = ("sinfo", "--noheader", "--partition=cpu", "--format=%T")
    wait(lambda: run(*idle, check=False) == "idle", "the node does not come up")


def _free(port: int) -> bool:
    """Whether nobody listens on a port."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) != 0


def _daemon(stack: ExitStack, folder: Path, *command: str) -> None:
    """Start a daemon that ends with this process, and stop it when the stack unwinds."""
    output = stack.enter_context((folder / f"{command[0]}.out").open("w"))
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=_environment(),
        start_new_session=True,
    )

    def stop() -> None:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(stop)
