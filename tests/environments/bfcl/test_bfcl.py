import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.bfcl.by_hand import GOLD, PAYLOAD, begin, key, steps, task
from tests.environments.bfcl.hostile import CANARY, HOSTILE
from turnscope.chat import Renderer
from turnscope.environments import bfcl
from turnscope.environments.bfcl import calls, views
from turnscope.policies import expert
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Step

pytestmark = pytest.mark.usefixtures("package")
SOLVED = Step("all requests are done", 1.0, True, True)
WRONG = Step("not all requests are done", 0.0, True)


def block(name: str, **arguments: object) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def wanting(text: str) -> Step:
    return Step(text, 0.0, False)


def test_an_episode_by_hand():
    assert begin().reset(task(), 0) == "make a folder docs and say what is here"
    assert steps(*GOLD) == [
        wanting("None ; current_directory_content a.txt docs"),
        wanting("new cat"),
        wanting("read a.txt"),
        wanting("file_content red"),
        SOLVED,
    ]
    assert bfcl.gold(task(), 0) == GOLD


@pytest.mark.parametrize(
    "actions",
    [
        ("done",) * 3,
        ("mkdir docs", "done", "done", "cat a.txt", "done"),
        ("mkdir docs ; ls", "done", "done", "done"),
        ("mkdir docs ; ls ; touch b", "done", "done", "cat a.txt", "done"),
        ("ls ; mkdir docs", "done", "done", "cat a.txt", "done"),
        ("mkdir docs ; ls", "done", "touch b", "done", "cat a.txt", "done"),
    ],
)
def test_a_request_that_went_wrong_is_told_at_the_end_alone(actions):
    *before, last = steps(*actions)
    assert not any(step.terminated for step in before)
    assert last == WRONG


@pytest.mark.parametrize(
    "actions",
    [
        ("mkdir docs", "ls", "done", "done", "cat a.txt", "done"),
        ("ls ; pwd", "mkdir docs", "cat a.txt", "ls", "done", "done", "cat no", "done"),
        ("mkdir docs ; ls ; cat a.txt", "done", "done", "pwd", "done"),
        ("oops", "mkdir docs ; ls", "", "done", "done", "mkdir", "cat a.txt", "done"),
    ],
)
def test_other_ways_are_right_as_well(actions):
    assert steps(*actions)[-1] == SOLVED


def test_each_format_says_the_same():
    for form in calls.FORMATS:
        of = task(format=form)
        actions = bfcl.gold(of, 0)
        assert steps(*actions, of=of, view="full")[-1] == SOLVED
        assert [key(*actions[:n], of=of) for n in range(6)] == [key(*GOLD[:n]) for n in range(6)]


def test_full_views_show_outputs_as_the_benchmark_does():
    content = '{"current_directory_content": ["a.txt"]}'
    of = task(format="qwen3")
    (step,) = steps(block("ls") + block("nope", a=1), of=of, view="full")
    unknown = "Error during execution: name 'nope' is not defined"
    assert step.observation == (
        f"<tool_response>\n{content}\n</tool_response>\n"
        f"<tool_response>\n{unknown}\n</tool_response>"
    )
    (step,) = steps("[ls(), nope(a=1)]", of=task(format="python"), view="full")
    assert step.observation == repr(
        [
            {"role": "tool", "name": "ls()", "content": content},
            {"role": "tool", "name": "nope(a=1)", "content": unknown},
        ]
    )
    (step,) = steps("ls ; pwd", view="full")
    assert step.observation == content + '\n{"current_working_directory": "/home"}'


def test_arguments_that_do_not_fit_are_answered_by_the_systems():
    of = task(format="python")
    missing, extra, wrong = steps("[mkdir()]", "[ls(b=1)]", "[cd(folder='../..')]", of=of)
    assert missing.observation.endswith("missing 1 required positional argument dir_name")
    assert extra.observation.endswith("got an unexpected keyword argument b")
    assert wrong.observation.startswith("error cd")
    assert missing.valid


def test_tools_are_those_that_are_known_from_the_start():
    environment = begin(of=task(format="qwen3"), view="full")
    assert [one["function"]["name"] for one in environment.tools] == PAYLOAD["functions"]
    assert [one["type"] for one in environment.tools] == ["function"] * 6
    lines = environment.step("done").observation.splitlines()
    assert [lines[0], *lines[2:]] == ["<tools>", "</tools>", "", views.MORE]
    assert json.loads(lines[1])["function"]["name"] == "cat"
    assert begin().tools == begin(of=task(format="python")).tools == []


def test_a_format_without_tools_lists_them_in_the_first_observation():
    of = task(format="python")
    told = bfcl.Environment(view="full").reset(of, 0)
    how, listed, asked = told.split("\n\n")
    assert how == views.HOW
    assert [one["name"] for one in json.loads(listed)] == PAYLOAD["functions"]
    assert asked == PAYLOAD["requests"][0]
    assert bfcl.Environment().reset(of, 0) == asked


def test_outputs_are_cut():
    assert steps("ls", cut=9) == [wanting("current_d...")]
    assert steps("ls", view="full", cut=3) == [wanting('{"c...')]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("None", "None"),
        ('{"a": [1, 2.5, true, null], "b": {"c": "x y"}}', "a 1 2.5 True None b c x y"),
        ('{"error": "cd: \'x\': No such file."}', "error cd x No such file"),
        ('{"matches": ["/docs/a.txt"]}', "matches / docs / a.txt"),
        ('"text"', "text"),
        ("{}", "ok"),
        ("", "ok"),
        ("[" * 9_000, "ok"),
        ("[" * 900 + "1" + "]" * 900, "1"),
        ("a\n\tb", "a b"),
    ],
)
def test_short_outputs_are_words_with_blanks_between(output, shown):
    assert views.outputs(["f()"], [output], "compact", "compact", 100) == shown


def test_what_cannot_be_read_wastes_a_turn_or_closes_the_request():
    bad = block("ls") + "<tool_call>\nls()\n</tool_call>"
    why = "nothing was done: a <tool_call> block holds no JSON"
    wasted = begin(of=task(format="qwen3"), penalty=0.25)
    assert wasted.step(bad) == Step(why, -0.25, False, valid=False)
    assert wasted.state_key() == key()
    closes = begin(of=task(format="qwen3", undecodable="closes"), penalty=0.25)
    assert closes.step(bad)._replace(observation="") == Step("", -0.25, False, valid=False)
    assert closes.state_key() == key("ls")
    closed = closes.step("<tool_call>\nls()\n</tool_call>")
    assert not closed.valid
    assert closes.state_key() == key("ls", "done")


def test_a_last_request_can_be_closed_by_what_cannot_be_read():
    of = task(undecodable="closes")
    assert steps(*GOLD[:-1], "oops", of=of)[-1] == SOLVED._replace(valid=False)


def test_more_responses_than_steps_end_the_episode():
    *before, last = steps(*["pwd"] * 4, steps=3)
    assert not any(step.terminated for step in before)
    assert last == Step("too many responses to one request", 0.0, True)
    in_time = ["ls", "oops", "pwd", "mkdir docs", "done", "ls", "ls", "ls", "done", "cat a.txt"]
    assert not any(step.terminated for step in steps(*in_time, steps=3))
    assert not any(step.terminated for step in steps(*["pwd"] * 40))


def test_keys_hold_what_has_a_part_in_the_future():
    start = json.loads(key())
    assert start == {"calls": [None]}
    assert json.loads(key("pwd")) == json.loads(key("pwd", "pwd")) == {"calls": [[]]}
    assert json.loads(key("pwd ; touch b"))["calls"] == [["pwd()", "touch(file_name='b')"]]
    assert key("oops") == key()
    assert json.loads(key(*GOLD[:2])) == {"calls": [["mkdir(dir_name='docs')", "ls()"], None]}
    # An output that the solution needs counts, but once only.
    assert key("cat a.txt") != key("pwd")
    assert key("cat a.txt", "cat a.txt") == key("cat a.txt")
    assert json.loads(key("pwd", "pwd", steps=5)) == {"calls": [[]], "used": 2}
    assert json.loads(key("pwd", "done", steps=5)) == {"calls": [[], None]}
    assert json.loads(key(*GOLD))["over"] == "solved"
    assert json.loads(key("done", "done", "done"))["over"] == "unsolved"
    assert json.loads(key("pwd", "pwd", steps=1)) == {"calls": [[]], "used": 2, "over": "unsolved"}


def test_calls_of_unknown_functions_are_no_calls_to_the_checker():
    of = task(format="python")
    assert json.loads(key("[nope()]", of=of)) == {"calls": [None]}
    assert json.loads(key("[nope(), pwd()]", of=of)) == {"calls": [[]]}
    (step,) = steps("[eval(a='1')]", of=of, view="full")
    assert "Error during execution: name 'eval' is not defined" in step.observation


def test_a_call_beyond_a_limit_is_answered_and_is_no_call_to_the_checker():
    large = {"root": {"home": {"type": "directory", "contents": {}}}}
    large["root"]["home"]["contents"]["a"] = {"type": "file", "content": "x" * (1 << 20)}
    of = task(config={"GorillaFileSystem": large}, gold=[[], [], []])
    assert steps("ls", of=of, view="full") == [wanting("Error during execution: limit exceeded")]
    assert key("ls", of=of) == key(of=of)
    assert steps("ls", "done", "done", "done", of=of)[-1] == SOLVED


def test_actions_need_an_episode():
    environment = bfcl.Environment()
    with pytest.raises(RuntimeError, match="call reset first"):
        environment.step("done")
    environment.reset(task(), 0)
    environment.close()
    with pytest.raises(RuntimeError, match="call reset first"):
        environment.step("done")


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"view": "terse"}, "unknown view 'terse'; known: compact, full"),
        ({"steps": 0}, "steps is 0; legal is 1 or more"),
        ({"cut": 0}, "cut is 0; legal is 1 or more"),
        ({"penalty": -1.0}, "penalty is -1.0; legal is 0 or more"),
        ({"penalty": float("nan")}, "penalty is nan; legal is 0 or more"),
    ],
)
def test_options_out_of_range_are_refused(options, about):
    with pytest.raises(ValueError, match=about):
        bfcl.Environment(**options)


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"source": "hub"}, "unknown source 'hub'; known: small_requests, official"),
        ({"format": "xml"}, "unknown format 'xml'; known: compact, qwen3, python"),
        ({"undecodable": "ends"}, "unknown undecodable 'ends'; known: wasted, closes"),
        ({"classes": []}, r"classes is \[\]; legal is a list of GorillaFileSystem"),
        ({"classes": "GorillaFileSystem"}, "classes is 'GorillaFileSystem'; legal is a list"),
        ({"classes": ["MathAPI"]}, "legal is a list of GorillaFileSystem"),
        ({"classes": ["MessageAPI"] * 2}, "legal is each of them once"),
        ({"categories": ["live"]}, r"categories is \['live'\]; legal is a list of base"),
        ({"train": -1}, "train is -1; legal is 0 or more"),
        ({"source": "official", "train": 900}, "train 900 and test 2"),
    ],
)
def test_tasks_out_of_range_are_refused(options, about):
    for call in (lambda **given: bfcl.tasks(0, **given), bfcl.least_turns):
        with pytest.raises(ValueError, match=about):
            call(**{"train": 2, "test": 2} | options)


def test_tasks_carry_how_they_are_played():
    (one,) = bfcl.tasks(3, train=0, test=1, format="qwen3", undecodable="closes")
    assert one.payload["format"] == "qwen3"
    assert one.payload["undecodable"] == "closes"
    assert one.payload["source"] == "small_requests"
    (plain,) = bfcl.tasks(3, train=0, test=1)
    assert {**plain.payload, "format": "qwen3", "undecodable": "closes"} == one.payload


def test_official_tasks_are_solved_by_their_solutions():
    for form in calls.FORMATS:
        for one in bfcl.tasks(3, train=4, test=8, source="official", format=form):
            actions = bfcl.gold(one, 0)
            assert len(actions) == one.min_turns
            assert steps(*actions, of=one, steps=20)[-1] == SOLVED


def test_who_has_no_expert_says_so():
    with pytest.raises(ValueError, match="small_requests"):
        bfcl.expert(begin(), 0, 0, 0.5, 9)


def test_calls_made_ahead_change_nothing_that_is_said():
    tasks = bfcl.tasks(5, train=12, test=0)
    starts = [Start(one, 0, 0, Budget(9, 64)) for one in tasks]
    policy = expert.Policy(env="bfcl", skill=0.6)

    class Alone(bfcl.Environment):
        ahead = staticmethod(lambda asked: None)

    assert rollout(bfcl.Environment, starts, policy) == rollout(Alone, starts, policy)
    bfcl.Environment.ahead([(begin(), text) for text in ("ls", "oops", "done", "mkdir b")])


@pytest.mark.parametrize("form", calls.FORMATS)
def test_hostile_responses_are_turns_with_a_reply_and_the_next_is_answered_as_ever(form):
    of = task(format=form, functions=[*PAYLOAD["functions"], "find"])
    ls = calls.spell([calls.Call("ls", {})], form, {"ls": begin().asked.signatures["ls"]})
    (as_ever,) = steps(ls, of=of)
    for name, text in HOSTILE[form].items():
        environment = begin(of=of)
        step = environment.step(text)
        assert not step.success, name
        assert step.valid or (step.reward, step.terminated) == (0.0, False), name
        assert step.observation.encode(), name
        assert len(step.observation) < 16_500, name
        if not step.valid:
            assert len(step.observation) < 140, name
            assert step.observation.isprintable(), name
            assert steps(text, ls, of=of)[-1] == as_ever, name
    assert not Path(CANARY).exists()


def test_results_are_written_as_the_chat_template_writes_those_of_tools(words):
    spec = find_spec("trl")
    assert spec is not None
    assert spec.origin is not None
    words = words.__class__.from_pretrained(words.name_or_path)
    folder = Path(spec.origin).parent / "chat_templates"
    words.chat_template = (folder / "qwen3_training.jinja").read_text()
    environment = begin(of=task(format="qwen3"), view="full")
    first = environment.reset(task(format="qwen3"), 0)
    said = block("ls") + "\n" + block("pwd")
    reply = environment.step(said).observation
    outputs = [output for _, output in environment.tried]
    asked = [
        {"role": "user", "content": first},
        {"role": "assistant", "content": said},
    ]
    ours = [*asked, {"role": "user", "content": reply}]
    theirs = [*asked, *({"role": "tool", "content": output} for output in outputs)]
    ours, theirs = (
        words.apply_chat_template(
            some, tools=environment.tools, tokenize=False, add_generation_prompt=True
        )
        for some in (ours, theirs)
    )
    assert ours == theirs
    assert ours.count("<tool_response>") == 2
    shown = words.decode(Renderer(words).first(first, json.dumps(environment.tools)))
    assert ours.startswith(shown)
    assert '"name": "mkdir"' in shown


SAID = (
    "mkdir docs",
    "ls",
    "pwd",
    "touch b",
    "cat a.txt",
    "cd docs",
    "cd ..",
    "cat no",
    "done",
    "oops",
)


@given(
    st.lists(st.lists(st.sampled_from(SAID), max_size=6), min_size=2, max_size=8),
    st.lists(st.sampled_from([*SAID, "mkdir docs ; ls"]), max_size=8),
)
@settings(max_examples=40, deadline=None)
def test_equal_keys_mean_equal_futures(pasts, future):
    known: dict[str, tuple] = {}
    for past in pasts:
        environment = begin()
        if any(environment.step(action).terminated for action in past):
            continue
        state_key, digest, told = environment.state_key(), environment.stand.state.digest, []
        for action in [*future, *["done"] * 3]:
            told.append(environment.step(action))
            if told[-1].terminated:
                break
        assert known.setdefault(state_key, (digest, told)) == (digest, told)
