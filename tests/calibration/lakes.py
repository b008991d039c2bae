"""Small lakes of which the tests know everything."""

from turnscope.calibration import worlds
from turnscope.environments import frozen_lake

T_MAX = 8


def tasks(count=12, sizes=(3, 4)):
    return frozen_lake.tasks(
        5,
        train=0,
        test=count,
        sizes=sizes,
        frozen=worlds.FROZEN,
        slip=worlds.SLIP,
        distance=worlds.DISTANCE,
    )


def lakes(count=12, sizes=(3, 4)):
    return worlds.of(tasks(count, sizes), T_MAX)
