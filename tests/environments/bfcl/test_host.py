import base64
import pickle
import random
from functools import cache
from pathlib import Path

import pytest

from turnscope import sandbox
from turnscope.environments.bfcl import host, official, worker

pytestmark = pytest.mark.usefixtures("package")
FILES = {
    "category": "base",
    "classes": ["GorillaFileSystem", "MathAPI"],
    "config": {
        "GorillaFileSystem": {
            "root": {
                "home": {
                    "type": "directory",
                    "contents": {"a.txt": {"type": "file", "content": "one"}},
                }
            }
        }
    },
    "gold": [["mkdir(dir_name='b')"], ["cat(file_name='a.txt')"]],
}
TWEETS = {
    "category": "base",
    "classes": ["TwitterAPI"],
    "config": {"TwitterAPI": {"username": "u", "password": "p", "authenticated": True}},
    "gold": [],
}


@cache
def payloads():
    """Return the payloads of all tasks by name; they need the package."""
    return {task.task_id: task.payload for task in official.tasks(0, train=400, test=400)}


def some():
    """Return names of some tasks."""
    return [name for name in payloads() if int(name.rpartition("_")[2]) % 10 == 1]


@pytest.fixture(scope="module")
def simulator(package):
    return host.simulator()


def fresh(limits=host.SETTINGS.limits) -> host.Simulator:
    """Return a simulator that remembers nothing."""
    return host.Simulator(official.folder(), host.SETTINGS._replace(limits=limits))


def replay(simulator, payload):
    """Make the gold calls one by one; return their outputs and the digests on the way."""
    state, outputs, digests = simulator.start(payload), [], []
    for call in [call for calls in payload["gold"] for call in calls]:
        (output,), state = simulator.act(state, [call])
        outputs.append(output)
        digests.append(state.digest)
    return outputs, digests


def one_by_one(payload):
    return [[[call] for call in calls] for calls in payload["gold"]]


def wrong(payload):
    """Return a trajectory that leaves out the last call of each request and makes others twice."""
    return [[calls[:-1], calls[:-1]] for calls in payload["gold"]]


def check_golds(names):
    """Replay golds alone, all calls at once, and interleaved in rounds; before and after errors."""
    simulator, other, draw = fresh(), fresh(), random.Random(0)
    places = {name: (other.start(payloads()[name]), [*one_calls(name)], [], []) for name in names}
    while waiting := [name for name in names if places[name][1]]:
        chosen = draw.sample(waiting, min(len(waiting), draw.randrange(1, 60)))
        jobs = [(places[name][0], places[name][1][:1]) for name in chosen]
        for name, (outputs, state) in zip(chosen, other.act_all(jobs), strict=True):
            _, left, said, digests = places[name]
            places[name] = state, left[1:], [*said, *outputs], [*digests, state.digest]
    for name in names:
        payload = payloads()[name]
        alone = replay(simulator, payload)
        assert alone == tuple(places[name][2:]), name
        together = simulator.act(simulator.start(payload), one_calls(name))
        assert together.outputs == (*alone[0],), name
        assert together.state.digest == alone[1][-1], name
        assert host.LIMIT not in together.outputs
        if any(len(calls) > 1 for calls in payload["gold"]):
            simulator.verdict(payload, wrong(payload))
        assert simulator.verdict(payload, one_by_one(payload)) == "", name
        assert simulator.verdict(payload, [[calls] for calls in payload["gold"]]) == "", name


def one_calls(name):
    return [call for calls in payloads()[name]["gold"] for call in calls]


def test_some_golds_are_valid_whatever_was_played_before_or_in_between():
    assert {kind for name in some() for kind in payloads()[name]["classes"]} == {*worker.SYSTEMS}
    check_golds(some())


@pytest.mark.slow
def test_all_golds_are_valid_whatever_was_played_before_or_in_between():
    assert len(payloads()) == 800
    check_golds([*payloads()])


def test_golds_agree_with_themselves_and_wrong_ends_do_not(simulator):
    payload = payloads()["multi_turn_base_0"]
    last = len(payload["gold"]) - 1
    assert simulator.agreement(payload, simulator.gold(payload, last), last) == 1.0
    assert simulator.agreement(payload, simulator.gold(payload, -1), last) < 1.0


def test_agreement_is_the_share_of_public_attributes(simulator):
    # The file system has `long_context` and `root`, mathematics has nothing public.
    state = simulator.start(FILES)
    assert simulator.agreement(FILES, state, 0) == 0.5
    assert simulator.agreement(FILES, simulator.act(state, ["mkdir(dir_name='b')"]).state, 0) == 1.0
    assert simulator.agreement(FILES, simulator.act(state, ["mkdir(dir_name='c')"]).state, 0) == 0.5
    assert simulator.agreement(TWEETS | {"gold": [[]]}, simulator.start(TWEETS), 0) == 1.0


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ([[["mkdir(dir_name='b')"]], [["cat('a.txt')"]]], ""),
        ([[["pwd()"], ["mkdir(dir_name='b')", "cat('a.txt')"]], [["pwd()"]]], ""),
        ([[["mkdir(dir_name='b')"], []], [["cat('a.txt')"]]], ""),
        ([[["mkdir(dir_name='c')"]], [["cat('a.txt')"]]], "multi_turn:instance_state_mismatch"),
        ([[["mkdir(dir_name='b')"]], [["pwd()"]]], "multi_turn:execution_response_mismatch"),
        ([[], [["cat('a.txt')"]]], "multi_turn:empty_turn_model_response"),
        ([[[]], [["cat('a.txt')"]]], "multi_turn:empty_turn_model_response"),
        ([[["mkdir(dir_name='b')"]]], "multi_turn:force_terminated"),
        (
            [[["mkdir(dir_name='b')"]], [["open('a.txt')"]]],
            "multi_turn:execution_response_mismatch",
        ),
        (
            [[["mkdir(dir_name='b')"]], [["power(base=7,exponent=999999999)"]]],
            "turnscope:not_checked",
        ),
    ],
)
def test_the_verdict_is_that_of_the_official_checker(simulator, said, verdict):
    assert simulator.verdict(FILES, said) == verdict


HOSTILE = [
    "__import__('os').system('touch /tmp/turnscope-escape')",
    "open('/etc/passwd').read()",
    "open('/etc/passwd')",
    "exit()",
    "eval('1')",
    "cd(folder=(lambda: 'b')())",
    "cd(folder=[x for x in 'b'][0])",
    "cd(folder=f'{1}')",
    "cd(folder=__builtins__)",
    "cd(*['b'])",
    "mkdir.__func__.__globals__",
    "mkdir(dir_name='b') or exit()",
    "(mkdir)(dir_name='b') if 1 else 2",
    "turn_0_GorillaFileSystem_instance.mkdir('b')",
    "_load_scenario({})",
    "__init__()",
    "mkdir(dir_name='b'); mkdir(dir_name='c')",
    "mkdir(dir_name='b'",
    "x = 1",
    "",
    " ",
    "\0",
    "\ud800",
    "mkdir(dir_name=" + "[" * 5000 + "]" * 5000 + ")",
    "mean(numbers=" + "-" * 100_000 + "1)",
    "add(a=" + "9" * 5000 + ", b=1)",
    "multiply(a=" + "9" * 4000 + ", b=" + "9" * 4000 + ")",
    "nobody_knows_me(1)",
]
HUNGRY = [
    "power(base=10, exponent=1000000000)",
    "logarithm(value=2.0, base=10.0, precision=100000000)",
    "square_root(number=2, precision=100000000)",
    "round_number(number=5, decimal_places=-1000000000)",
]


def test_hostile_calls_change_nothing_and_are_answered_in_words(simulator):
    state = simulator.start(FILES)
    for call in HOSTILE:
        (output,), after = simulator.act(state, [call])
        assert output.startswith("Error during execution: "), call
        assert len(output) < 300
        assert after == state, call
    assert simulator.act(state, ["pwd()"]).outputs == ('{"current_working_directory": "/home"}',)
    assert not Path("/tmp/turnscope-escape").exists()


def test_calls_beyond_limits_leave_the_state_and_the_others_alone():
    simulator = fresh(host.SETTINGS.limits._replace(cpu=0.2))
    state = simulator.start(FILES)
    before, after = "mkdir(dir_name='b')", "touch(file_name='c')"
    harmless = simulator.act(state, [before, after])
    found = simulator.act_all([(state, [call]) for call in ("pwd()", HUNGRY[1], "ls()")])
    assert found[1].outputs == (host.LIMIT,)
    assert {one.state.digest for one in found} == {state.digest}
    assert [one.outputs for one in (found[0], found[-1])] == [
        ('{"current_working_directory": "/home"}',),
        ('{"current_directory_content": ["a.txt"]}',),
    ]
    mixed = simulator.act(state, [before, HUNGRY[0], after])
    assert mixed.outputs == (harmless.outputs[0], host.LIMIT, harmless.outputs[1])
    assert mixed.state == harmless.state


@pytest.mark.slow
def test_all_hungry_calls_meet_their_limits():
    simulator = fresh(host.SETTINGS.limits._replace(cpu=0.2))
    state = simulator.start(FILES)
    for call in HUNGRY:
        assert simulator.act(state, [call]) == ((host.LIMIT,), state), call


def test_a_state_that_grows_too_large_is_not_entered(simulator):
    state = simulator.start(FILES)
    long = f"echo(content={'x' * (worker.LARGEST * 2 // 3)!r}, file_name="
    kept = simulator.act(state, ["touch('b')", "touch('c')", f"{long}'b')"]).state
    found = simulator.act(kept, ["pwd()", f"{long}'c')", "ls()"])
    assert found.outputs[1] == host.LIMIT
    assert found.outputs[2] == '{"current_directory_content": ["a.txt", "b", "c"]}'
    assert found.state.digest == kept.digest
    (shown,), _ = simulator.act(kept, ["cat(file_name='b')"])
    assert len(shown) < worker.LONGEST + 100
    assert shown.endswith(" characters in all)")


def test_folders_that_are_too_deep_are_not_entered(simulator):
    state, deep = simulator.start(FILES), ["mkdir(dir_name='d')", "cd(folder='d')"]
    found = simulator.act(state, deep * 400)
    assert host.LIMIT in found.outputs
    assert found.outputs[:2] == simulator.act(state, deep).outputs
    assert simulator.act(found.state, ["pwd()"]).outputs[0].startswith('{"current_working')


def test_a_useless_call_leaves_the_digest_alone_and_a_draw_does_not(simulator):
    state = simulator.start(FILES)
    assert simulator.act(state, ["ls()", "cat(file_name='a.txt')"]).state.digest == state.digest
    car = simulator.start(payloads()["multi_turn_base_91"])
    assert simulator.act(car, ["check_tire_pressure()"]).state.digest == car.digest
    drawn = simulator.act(car, ["get_current_speed()"])
    assert drawn.state.digest != car.digest
    assert simulator.act(drawn.state, ["get_current_speed()"]).outputs != drawn.outputs


def test_lists_that_methods_share_by_default_belong_to_the_state():
    """Two tweets without mentions share the list of them, and so does every later one."""
    calls = [
        "post_tweet(content='first')",
        "post_tweet(content='second')",
        "mention(tweet_id=0, mentioned_usernames=['@a'])",
        "get_tweet(tweet_id=1)",
        "post_tweet(content='third')",
    ]
    simulator = fresh()
    start = simulator.start(TWEETS)
    together, state, outputs = simulator.act(start, calls), start, []
    for call in calls:
        said, state = simulator.act(state, [call])
        outputs += said
    assert (*outputs,) == together.outputs
    assert state.digest == together.state.digest
    assert '"mentions": ["@a"]' in outputs[3]
    assert '"mentions": ["@a"]' in outputs[4]
    simulator._known.clear()
    assert simulator.start(TWEETS).digest == start.digest
    assert '"mentions": []' in simulator.act(start, calls[:1]).outputs[0]


def test_the_checker_leaves_constants_of_long_context_as_they_were():
    simulator = fresh()
    names = [name for name in payloads() if "long_context" in name][::8]
    before = [simulator.start(payloads()[name]).digest for name in names]
    assert {
        simulator.verdict(payloads()[name], one_by_one(payloads()[name])) for name in names
    } == {""}
    simulator._known.clear()
    assert [simulator.start(payloads()[name]).digest for name in names] == before


def test_today_is_the_day_of_the_package(simulator):
    traveler = {
        "category": "base",
        "classes": ["TravelAPI"],
        "config": {"TravelAPI": {"user_first_name": "A", "user_last_name": "B"}},
        "gold": [],
    }
    ask = "verify_traveler_information('A', 'B', {!r}, 'US123')"
    calls = [ask.format(day) for day in ("2008-03-23", "2008-03-24")]
    assert simulator.act(simulator.start(traveler), calls).outputs == (
        '{"verification_status": true}',
        '{"verification_status": false, "verification_failure":'
        ' "Traveler must be at least 18 years old."}',
    )


def test_a_memory_that_is_full_forgets_and_stays_right(monkeypatch, simulator):
    monkeypatch.setattr(host, "REMEMBERED", 40_000)
    small = fresh()
    for name in some()[:6] * 2:
        assert replay(small, payloads()[name]) == replay(simulator, payloads()[name])
        assert 0 < small._size <= 40_000
        assert small._size == sum(size for _, size in small._known.values())


def test_the_host_never_opens_a_state(monkeypatch, simulator):
    monkeypatch.setattr(pickle, "loads", None)
    state = simulator.start(FILES)
    assert simulator.act(state, ["pwd()"]).outputs
    assert b"GorillaFileSystem" in base64.b64decode(state.blob)


def test_systems_that_do_not_start_are_said_so(simulator):
    with pytest.raises(RuntimeError, match=r"systems \['NoSuchAPI'\] do not start: KeyError"):
        simulator.start({"category": "base", "classes": ["NoSuchAPI"], "config": {}})


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_systems_do_the_same_on_every_rung(rung, simulator):
    settings = host.SETTINGS._replace(rung=rung)
    try:
        sandbox.rung(settings)
    except ValueError as error:
        pytest.skip(str(error))
    other = host.Simulator(official.folder(), settings)
    for name in some()[::8]:
        assert replay(other, payloads()[name]) == replay(simulator, payloads()[name])


def test_behind_some_calls_over_their_limits_no_other_of_the_response_is_made():
    simulator = fresh(host.SETTINGS.limits._replace(cpu=0.2))
    state = simulator.start(FILES)
    calls = ["touch(file_name='c')", *[HUNGRY[0]] * host.TOLERATED, "touch(file_name='d')"]
    outputs, after = simulator.act(state, calls)
    assert outputs[1:] == (host.LIMIT,) * (host.TOLERATED + 1)
    assert after == simulator.act(state, calls[:1]).state
