import subprocess
import sys

from turnscope import processes

BURN = """
import subprocess, sys, time
if sys.argv[1:]:
    subprocess.run([sys.executable, "-c", sys.argv[1]])
while time.process_time() < 0.3:
    pass
print("done", flush=True)
sys.stdin.read()
"""
"""Takes 0.3 s of processor time, and as much in a child of its own if it is given one."""


def test_processor_time_is_also_that_of_processes_that_run_on_and_of_ended_ones():
    before = processes.cpu_seconds()
    command = [sys.executable, "-c", BURN, BURN.replace("sys.stdin.read()", "")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in range(2)] == ["done\n"] * 2
        running = processes.cpu_seconds()
    # In ticks of 10 ms, two of each process, rounded down.
    assert running - before > 0.6 - 0.08
    assert processes.cpu_seconds() >= running - 0.08
