"""The columns of every table of the study, each with its unit and range.

`docs/tables.md` is generated from this package. Missing is null, never 0 or an empty string, and a
column refuses nulls unless it says when they occur.
"""

from turnscope.schemas.compared import ACTIONS, CONTINUATIONS, HEAT, LIKELIHOOD, POOL
from turnscope.schemas.judged import AUDITS, CALIBRATION, CLAIMS, ESTIMATES, ROBUSTNESS
from turnscope.schemas.played import EPISODES, PROGRESS, STATES, TASKS, TRAINING, TURNS

TABLES = {
    "tasks": TASKS,
    "episodes": EPISODES,
    "turns": TURNS,
    "training": TRAINING,
    "states": STATES,
    "pool": POOL,
    "actions": ACTIONS,
    "continuations": CONTINUATIONS,
    "likelihood": LIKELIHOOD,
    "heat": HEAT,
    "progress": PROGRESS,
    "estimates": ESTIMATES,
    "claims": CLAIMS,
    "robustness": ROBUSTNESS,
    "calibration": CALIBRATION,
    "audits": AUDITS,
}
