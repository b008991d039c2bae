"""Snakemake that looks at its jobs every two seconds.

SLURM's plugin waits ten seconds longer after each look at which no job was done: right for a
cluster, most of the time of a test.
"""

import asyncio
import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor


async def sleep(executor: RemoteExecutor) -> None:
    """Wait until the next look, whatever the plugin would wait."""
    await asyncio.sleep(2)


RemoteExecutor.sleep = sleep  # type: ignore[method-assign]
sys.exit(main())
