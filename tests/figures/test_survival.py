import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from tests import simulated
from tests.figures import synthetic
from tests.metrics.continued import continuations
from turnscope.figures import survival
from turnscope.metrics import Settings, recovery
from turnscope.metrics import survival as metric

NONE = synthetic.training(seeds=1, steps=1)
SETTINGS = Settings(ks=[1], k=1, shares=[1.0], draws=50, seed=1)
FOUR = ("grpo", "gigpo", "oracle_process", "budget_mix")


def estimates(*arms, env="frozen_lake", after=True):
    skills = {
        f"{arm}-s{seed}": simulated.Skill(0.3 + 0.3 * place)
        for place, arm in enumerate(arms)
        for seed in range(2)
    }
    policies = {"base": simulated.Skill()} | skills
    tasks, episodes = simulated.study(1, tasks=40, episodes=8, t_max=6, policies=policies)
    found = [metric.estimate(tasks, episodes.assign(env=env), SETTINGS)]
    if after:
        names = tasks.loc[tasks["split"] == "test", "task_id"].tolist()
        rows = continuations(1, names, {f"{arms[0]}-s0": 0.2}, t_max=6, env=env)
        found.append(recovery.estimate(tasks, rows, SETTINGS))
    return pd.concat(found, ignore_index=True).astype({"k": "Int32", "t": "Int32"})


def drawn(*arms, rows=None):
    found = estimates(*arms) if rows is None else rows
    return survival.data(found, NONE, k=8, arms=synthetic.named(*arms))


def curves(ax):
    return [list(map(float, line.get_ydata())) for line in ax.lines if len(line.get_ydata()) > 1]


def values(frame, name, policy):
    rows = frame[(frame["metric"] == name) & (frame["policy"] == policy)]
    return rows.sort_values("t")["value"].tolist()


def test_curves_are_the_estimates():
    frame = drawn("grpo")
    figure = survival.plot(frame)
    panels = dict(
        zip(zip(survival.CUMULATIVE, survival.HAZARDS, strict=True), range(3), strict=True)
    )
    for (cumulative, hazard), place in panels.items():
        for name, ax in (
            (cumulative, figure.axes[2 * place]),
            (hazard, figure.axes[2 * place + 1]),
        ):
            for policy in ("base", "grpo"):
                assert values(frame, name, policy) in curves(ax), name
    assert values(frame, survival.NAIVE, "grpo") in curves(figure.axes[0])
    solving = figure.axes[6]
    marks = {float(np.asarray(line.get_xdata())[0]) for line in solving.lines}
    odds = frame[frame["metric"].isin(["hazard_odds", "hazard_odds_within"])]
    assert set(odds["value"]) <= marks


def test_recovery_is_that_after_errors_by_any_definition():
    frame = drawn("grpo")
    assert set(frame.loc[frame["metric"] == "recovered", "part"]) == {"mixture/error"}
    assert set(frame["policy"]) == {"base", "grpo"}


def test_hazards_of_a_handful_of_tasks_are_not_drawn():
    frame = drawn("grpo")
    hazards = frame[frame["metric"].isin(survival.HAZARDS)]
    assert hazards["tasks"].min() >= survival.FEWEST
    assert "at least 30 tasks" in survival.caption(frame)


def test_without_continuations_there_are_two_columns():
    frame = drawn("grpo", rows=estimates("grpo", after=False))
    titles = [ax.get_title("left") for ax in survival.plot(frame).axes]
    assert titles[:4:2] == ["solved", "lost for good"]
    assert "same states" not in survival.caption(frame)


@pytest.mark.filterwarnings("error")
def test_many_arms_and_environments_stay_legible():
    arms = (*FOUR, "anytime")
    rows = pd.concat([estimates(*arms), estimates("grpo", env="sql", after=False)])
    frame = drawn(*arms, rows=rows)
    figure = survival.plot(frame)
    figure.draw_without_rendering()
    assert survival.caption(frame).endswith("Not shown: anytime; see the lowest panels.")
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    assert min(float(text.get_fontsize()) for text in texts) >= 7
    assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1


def test_without_incidences_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="survival"):
        drawn("grpo", rows=estimates("grpo").query("metric != 'cif_solved'"))
