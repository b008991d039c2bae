"""Run untrusted Python programs: isolated, limited, warm, and without memory of each other."""

from turnscope.sandbox.driver import encode
from turnscope.sandbox.limits import Limits, Program, Result, Settings, Status
from turnscope.sandbox.pool import Pool, in_force, pool, rung

__all__ = [
    "Limits",
    "Pool",
    "Program",
    "Result",
    "Settings",
    "Status",
    "encode",
    "in_force",
    "pool",
    "rung",
]
