from tests.advantages.by_hand import batch
from tests.algorithms.by_hand import credit, episode, moment
from turnscope.algorithms import budget_mix, grpo
from turnscope.algorithms._mix import Mix
from turnscope.types import StopReason


def test_budgets_are_drawn_from_the_mix_of_the_options():
    made = budget_mix.make(interval=0.25, distribution="geometric", decay=0.5, clip=True)
    mix = Mix(0.25, "geometric", 0.5, True)
    for i in range(50):
        at = moment(step=i, steps=50, task=f"task {i}", least=6)
        assert made.turns(at) == mix.draw(at)


def test_an_episode_out_of_budget_is_an_unpaid_episode_like_any_other():
    made, grouped = budget_mix.make(), batch([[0, 1], [0, 0]], [0, 0])
    assert made.rewards(episode([0.0, 0.0], StopReason.BUDGET), moment()) == [0, 0]
    assert credit(made, grouped).tolist() == credit(grpo.make(), grouped).tolist()
    assert (credit(made, grouped)[2:] < 0).all()


def test_the_policy_is_told_only_if_asked_for():
    assert not budget_mix.make().told
    assert budget_mix.make(told=True).told
