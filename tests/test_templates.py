import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import qwen
from turnscope import templates
from turnscope.chat import Renderer
from turnscope.environments.bfcl import calls

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Says <b>'é'</b> & more.",
            "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    }
    for name in ("look", "go")
]
ASKED = {"role": "user", "content": "Where is it?\n"}
SYSTEM = {"role": "system", "content": "Be brief."}
REASONED = "<think>\nhm\nwhy\n</think>\n\n"
CALLS = [
    {"type": "function", "function": {"name": "look", "arguments": {"x": 1, "s": 'é"<\n'}}},
    {"name": "go", "arguments": '{"x": 2}'},
]
ANSWERS = [
    {"role": "tool", "content": "left"},
    {"role": "tool", "content": "gone"},
]
WORDS: Any = qwen.tokenizer("")


def rendered(template: str, messages: list[Any], **options: Any) -> str:
    return WORDS.apply_chat_template(messages, tokenize=False, chat_template=template, **options)


def ours(thinking: bool) -> str:
    return templates.text("qwen3", thinking)


BOTH = [qwen.bundled("qwen3"), qwen.bundled("qwen3_training")]


@pytest.mark.parametrize("other", BOTH, ids=["stock", "training"])
@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["alone", "tools"])
@pytest.mark.parametrize("before", [[], [SYSTEM]], ids=["user", "system"])
def test_the_first_prompt_is_that_of_other_templates(other, thinking, tools, before):
    messages = [*before, ASKED]
    options: dict[str, Any] = {"tools": tools, "add_generation_prompt": True}
    expected = rendered(other, messages, enable_thinking=thinking, **options)
    assert rendered(ours(thinking), messages, **options) == expected
    assert expected.endswith("<think>\n\n</think>\n\n") != thinking


@pytest.mark.parametrize("other", BOTH, ids=["stock", "training"])
@pytest.mark.parametrize(
    ("thinking", "answer"),
    [
        (True, {"content": f"{REASONED}There."}),
        (True, {"content": "There.", "reasoning_content": "hm\nwhy"}),
        (False, {"content": "There."}),
        (False, {"content": "There.", "reasoning_content": "hm\nwhy"}),
        (True, {"content": f"{REASONED}There.", "tool_calls": CALLS}),
        (False, {"content": "", "tool_calls": CALLS}),
        (False, {"content": "There.", "tool_calls": CALLS[:1]}),
    ],
)
@pytest.mark.parametrize("more", [[], ANSWERS], ids=["answered", "told"])
def test_one_turn_is_that_of_other_templates(other, thinking, answer, more):
    messages = [SYSTEM, ASKED, {"role": "assistant", **answer}, *more]
    options: dict[str, Any] = {"tools": TOOLS, "add_generation_prompt": bool(more)}
    expected = rendered(other, messages, enable_thinking=thinking, **options)
    if other == BOTH[0] and not thinking and more and "reasoning_content" not in answer:
        # The stock one forgets the empty block as soon as a message follows.
        assert rendered(ours(thinking), messages, **options) != expected
        expected = rendered(BOTH[1], messages, enable_thinking=thinking, **options)
    assert rendered(ours(thinking), messages, **options) == expected


@pytest.mark.parametrize("thinking", [True, False])
def test_turns_can_be_appended_and_tools_are_shown(thinking):
    renderer = Renderer(qwen.tokenizer(ours(thinking)))
    opening = "" if thinking else "<think>\n\n</think>\n\n"
    first = renderer.text(list(renderer.first("up", json.dumps(TOOLS))))
    assert first.startswith("<|im_start|>system\n# Tools\n")
    assert first.endswith(f"<|im_start|>user\nup<|im_end|>\n<|im_start|>assistant\n{opening}")
    frame = f"\n<|im_start|>user\nup<|im_end|>\n<|im_start|>assistant\n{opening}"
    assert renderer.text(list(renderer.reply("up", True))) == frame


@given(
    st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=4),
    st.booleans(),
)
def test_what_was_said_once_is_never_rewritten(turns, thinking):
    messages: list[dict[str, str]] = []
    before = ""
    for asked, said in turns:
        messages.append({"role": "user", "content": asked})
        prompt = rendered(ours(thinking), messages, add_generation_prompt=True)
        assert prompt.startswith(before)
        messages.append({"role": "assistant", "content": said})
        before = rendered(ours(thinking), messages)
        assert before == f"{prompt}{said}<|im_end|>\n"


def test_other_templates_are_refused_or_change_what_was_said():
    with pytest.raises(ValueError, match="not prefix-preserving"):
        Renderer(qwen.tokenizer(BOTH[0]))
    asked, said = [ASKED], {"role": "assistant", "content": "Left."}
    prompt = rendered(BOTH[1], asked, add_generation_prompt=True, enable_thinking=True)
    # A policy that may reason and does not: the other one says that it did.
    assert not rendered(BOTH[1], [*asked, said]).startswith(f"{prompt}Left.")
    assert rendered(ours(True), [*asked, said]).startswith(f"{prompt}Left.")


@pytest.mark.parametrize("thinking", [True, False])
def test_calls_that_are_rendered_are_read_as_they_were(thinking):
    messages = [ASKED, {"role": "assistant", "content": "", "tool_calls": CALLS}]
    prompt = rendered(ours(thinking), messages[:1], add_generation_prompt=True)
    text = rendered(ours(thinking), messages).removeprefix(prompt).removesuffix("<|im_end|>\n")
    for said in (text, f"{REASONED}{text}"):
        assert calls.parse(said, "qwen3", {}) == [
            calls.Call("look", {"x": 1, "s": 'é"<\n'}),
            calls.Call("go", {"x": 2}),
        ]
    spelled = calls.spell([calls.Call("look", {"x": 1})], "qwen3", {})
    one = [{"function": {"name": "look", "arguments": {"x": 1}}}]
    said = rendered(
        ours(thinking), [ASKED, {"role": "assistant", "content": "", "tool_calls": one}]
    )
    assert said == f"{prompt}{spelled}<|im_end|>\n"


@pytest.mark.parametrize("thinking", [True, False])
def test_answers_of_functions_look_as_the_environment_writes_them(thinking):
    from turnscope.environments.bfcl import views

    shown = views.outputs(["look(x=1)", "go(x=2)"], ["left", "gone"], "qwen3", "full", 100)
    said = {"role": "assistant", "content": "."}
    as_tool = rendered(ours(thinking), [ASKED, said, *ANSWERS])
    assert rendered(ours(thinking), [ASKED, said, {"role": "user", "content": shown}]) == as_tool


def test_whether_it_reasons_is_decided_in_the_text_and_no_option_changes_it():
    for thinking, option in itertools.product([True, False], repeat=2):
        given = rendered(
            ours(thinking), [ASKED], add_generation_prompt=True, enable_thinking=option
        )
        assert given == rendered(ours(thinking), [ASKED], add_generation_prompt=True)


def test_a_message_in_parts_is_refused():
    parts = {"role": "user", "content": [{"type": "text", "text": "hm"}]}
    with pytest.raises(Exception, match="the content of a message must be a text"):
        rendered(ours(True), [parts])


def test_templates_are_plug_ins():
    assert templates.names() == ["qwen3"]
    with pytest.raises(ValueError, match="unknown template 'qwen'; known: qwen3"):
        templates.text("qwen", True)
