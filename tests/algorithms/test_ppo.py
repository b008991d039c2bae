from turnscope.algorithms import ppo
from turnscope.algorithms._arm import Critic


def test_credit_is_a_critic_with_the_options():
    made = ppo.make(
        level="turn", discount=0.9, trace=0.8, learning_rate=0.1, clip=0.2, epochs=3, warmup=7
    )
    assert isinstance(made.credit, Critic)
    assert made.credit == Critic(
        level="turn",
        discount=0.9,
        trace=0.8,
        learning_rate=0.1,
        clip=0.2,
        epochs=3,
        warmup=7,
        start=made.credit.start,
    )


def test_without_options_credit_is_that_of_success_in_time():
    critic = ppo.make().credit
    assert isinstance(critic, Critic)
    assert (critic.level, critic.discount, critic.trace) == ("token", 1.0, 1.0)
