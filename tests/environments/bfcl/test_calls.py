import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.bfcl.hostile import HOSTILE
from turnscope.environments.bfcl import calls, official
from turnscope.environments.bfcl.calls import FORMATS, Call, Fault, from_python, parse, spell
from turnscope.environments.bfcl.compact import Signature, signature

KNOWN = {
    "ls": Signature({"a": "boolean"}, frozenset()),
    "mv": Signature({"source": "string", "destination": "string"}, frozenset({"source"})),
    "add": Signature({"a": "float", "b": "integer"}, frozenset({"a"})),
    "mean": Signature({"numbers": "array of float"}, frozenset({"numbers"})),
    "post": Signature({"content": "string", "tags": "array of string"}, frozenset({"content"})),
    "edit": Signature({"id": "integer", "updates": "dict"}, frozenset({"id", "updates"})),
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ANY_CALLS = st.lists(
    st.builds(
        Call,
        st.from_regex(r"[a-z_][a-z_0-9]{0,8}", fullmatch=True),
        st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), JSON, max_size=3),
    ),
    max_size=4,
)
TYPED_CALLS = st.lists(
    st.builds(Call, st.just("ls"), st.fixed_dictionaries({}, optional={"a": st.booleans()}))
    | st.builds(
        Call,
        st.just("mv"),
        st.fixed_dictionaries({"source": TEXTS}, optional={"destination": TEXTS}),
    )
    | st.builds(Call, st.just("add"), st.fixed_dictionaries({"a": NUMBERS}))
    | st.builds(
        Call, st.just("mean"), st.fixed_dictionaries({"numbers": st.lists(NUMBERS, max_size=3)})
    )
    | st.builds(
        Call,
        st.just("post"),
        st.fixed_dictionaries({"content": TEXTS, "tags": st.lists(TEXTS, max_size=3)}),
    ),
    max_size=4,
)


def block(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def call(name: str, **arguments: object) -> Call:
    return Call(name, arguments)


LS, MV = call("ls"), call("mv", source="a.txt", destination="docs")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("done", []),
        ("ls", [LS]),
        ("ls True", [call("ls", a=True)]),
        ("mv a.txt docs ; ls", [MV, LS]),
        ("mv a.txt", [call("mv", source="a.txt")]),
        ("mv destination=docs source=a.txt", [call("mv", destination="docs", source="a.txt")]),
        ("mv x=1 docs", [call("mv", source="x=1", destination="docs")]),
        ('mv "two words" "\\u00e9"', [call("mv", source="two words", destination="é")]),
        ("add 1 -2", [call("add", a=1, b=-2)]),
        ("add -0.5", [call("add", a=-0.5)]),
        ("mean 1,2.5", [call("mean", numbers=[1, 2.5])]),
        ("mean []", [call("mean", numbers=[])]),
        ("post hi #a,#b", [call("post", content="hi", tags=["#a", "#b"])]),
        ('post hi ["a b","c,d"]', [call("post", content="hi", tags=["a b", "c,d"])]),
        ('edit 3 {"priority":2}', [call("edit", id=3, updates={"priority": 2})]),
        ('edit "t-1" {}', [call("edit", id="t-1", updates={})]),
    ],
)
def test_compact_calls_are_typed_by_the_signature(text, found):
    assert parse(text, "compact", KNOWN) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "say calls such as"),
        ("done.", "there is no function done."),
        ("done ; ls", "there is no function done"),
        ("lss", "there is no function lss"),
        ("ls ", "say calls such as"),
        (" ls", "say calls such as"),
        ("ls  True", "say calls such as"),
        ("ls; ls", "say calls such as"),
        ("ls ; ", "say calls such as"),
        ("ls ;", "between two ; there must be a call"),
        ("ls ; ; ls", "between two ; there must be a call"),
        ("ls true", "ls a is not of type boolean"),
        ("ls True True", "ls has 1 arguments, not 2"),
        ("mv", "mv needs source"),
        ("mv destination=docs", "mv needs source"),
        ("mv a source=b", "mv is given source twice"),
        ("add 1 2.0", "add b is not of type integer"),
        ("add 01", "add a is not of type float"),
        ("add 1.", "add a is not of type float"),
        ("add nan", "add a is not of type float"),
        ("add 1e9999", "say calls such as"),
        ("mean 1,,2", "mean numbers is not of type float"),
        ("edit 1 {", "edit updates cannot be read"),
        ("edit 1 []", "edit updates cannot be read"),
        ('edit 1 {"a":NaN}', "edit updates cannot be read"),
    ],
)
def test_all_else_is_a_fault_that_says_why(text, why):
    found = parse(text, "compact", KNOWN)
    if text == "add 1e9999":
        assert found == Fault("a number is not finite")
    else:
        assert isinstance(found, Fault)
        assert found.why.startswith(why)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (block('{"name": "ls", "arguments": {}}'), [LS]),
        ("<think>\nls?\n</think>\n\n" + block('{"name": "ls", "arguments": {}}'), [LS]),
        (block('{"name": "ls", "arguments": {}}') + "</think> no", []),
        ("I go.\n" + block('{"arguments": {"a": 1}, "name": "f"}') + "\n.", [call("f", a=1)]),
        (block('{"name": "f", "arguments": "{\\"a\\": [null]}"}'), [call("f", a=[None])]),
        (block('{"name": "a", "arguments": {}}') * 2, [call("a")] * 2),
        ("Nothing to do.", []),
        ("", []),
        ("<tool_call", []),
        (block('{"name": "f", "arguments": {"a": "</tool_call>"}}'), [call("f", a="</tool_call>")]),
    ],
)
def test_blocks_of_tool_calls_are_read_and_all_around_them_is_not(text, found):
    assert parse(text, "qwen3", {}) == found


@pytest.mark.parametrize(
    ("text", "why", "rest"),
    [
        (block("ls()"), "a <tool_call> block holds no JSON", ()),
        (block("ls()") + block('{"name": "ls", "arguments": {}}'), "a <tool_call> block", (LS,)),
        ("<tool_call>{}</tool_call>", "a block must be <tool_call>, JSON and </tool_call>", ()),
        ('<tool_call>\n{"name": "ls", "arguments": {}}', "a block must be", ()),
        (block("[]"), 'a <tool_call> block must hold {"name": ..., "arguments": {...}}', ()),
        (block('{"name": "ls"}') + block('{"name": "ls", "arguments": {}}'), "a <tool_", ()),
        (block('{"name": "ls", "arguments": []}'), "the name of a call must be a text", ()),
        (block('{"name": "ls", "arguments": "a"}'), "the arguments of a call are no JSON", ()),
        (block('{"name": "l s", "arguments": {}}'), "the name of a function has characters", ()),
        (
            block('{"name": "l s", "arguments": {}}') + block('{"name": "ls", "arguments": {}}'),
            "the name of a function has characters",
            (LS,),
        ),
        (block('{"name": "ls", "arguments": {}}') * 51, "the response has 51 calls", ()),
        (block('{"name": "ls", "arguments": {"a.b": 1}}'), "the name of an argument has", ()),
        (block('{"name": "ls", "arguments": {"a": NaN}}'), "a <tool_call> block holds no JSON", ()),
        (block('{"name": "ls", "arguments": {"a": 1e999}}'), "a number is not finite", ()),
    ],
)
def test_blocks_that_cannot_be_read_leave_those_that_the_benchmark_would_run(text, why, rest):
    found = parse(text, "qwen3", {})
    assert isinstance(found, Fault)
    assert found.why.startswith(why)
    assert found.calls == rest


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[ls()]", [LS]),
        ("ls()", [LS]),
        ("```\n[ls(), mv(source='a.txt', destination='docs')]\n```", [LS, MV]),
        ("ls(), ls()", [LS, LS]),
        ("[a.b(c=-1, d=(1, 'x'), e={'f': None})]", [call("a.b", c=-1, d=[1, "x"], e={"f": None})]),
        ("[f(a=true)]", [call("f", a="true")]),
        ("[f(1, a=2)]", [call("f", a=2)]),
        ("[]", []),
        ("", []),
        ("All is done.", []),
        ("I did it (twice).", []),
        ("done", []),
    ],
)
def test_calls_in_python_are_read_as_the_benchmark_reads_them(text, found):
    assert parse(text, "python", {}) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[f(a=g())]", "arguments must be literals"),
        ("[f(a=1 + 1)]", "arguments must be literals"),
        ("[f(a=b'x')]", "arguments must be literals"),
        ("[f(a={1: 2})]", "arguments must be literals"),
        ("[f(a=-True)]", "arguments must be literals"),
        ("[f(**{'a': 1})]", "arguments must be given by name"),
        ("[f(a=1), 2]", "the response is no list of calls"),
        ("[f(a=1]", "the response is no list of calls"),
        ("f(a=1) and more", "the response is no list of calls"),
        ("[f(a=1)()]", "what is called must be the name of a function"),
        (f"[f(a={1 << 63})]", "a number needs more than 64 bits"),
        ("[f(a='\\ud800')]", "a text has half of a character"),
        ("[f(a=[[[[[[[[[1]]]]]]]]])]", "values are nested deeper than 8"),
    ],
)
def test_what_is_no_literal_is_refused(text, why):
    found = parse(text, "python", {})
    assert isinstance(found, Fault)
    assert found.why.startswith(why)


def test_limits_are_the_last_legal_values():
    fits = [
        f"[{', '.join(['ls()'] * 50)}]",
        f"[f(a={[0] * 1_997})]",
        "[f(a='" + "x" * 19_990 + "')]",
    ]
    fits.append(f"[f(a={'[' * 8}{']' * 8}, b={(1 << 63) - 1}, c={-(1 << 63)})]")
    for text in fits:
        assert isinstance(parse(text, "python", {}), list), text[:50]
    over = [
        f"[{', '.join(['ls()'] * 51)}]",
        f"[f(a={[0] * 1_998})]",
        "[f(a='" + "x" * 19_993 + "')]",
    ]
    for text in over:
        found = parse(text, "python", {})
        assert isinstance(found, Fault), text[:50]
        assert "legal" in found.why


@given(ANY_CALLS, st.sampled_from(["qwen3", "python"]))
def test_calls_survive_being_said(made, form):
    assert parse(spell(made, form, {}), form, {}) == made


@given(TYPED_CALLS)
def test_calls_survive_being_said_in_few_words(made):
    said = spell(made, "compact", KNOWN)
    assert said.isascii() or '"' in said
    found = parse(said, "compact", KNOWN)
    assert found == made
    assert isinstance(found, list)
    written = [
        [json.dumps(one.arguments, sort_keys=True) for one in some] for some in (found, made)
    ]
    assert written[0] == written[1]  # True, 1 and 1.0 are equal, but not the same


def test_what_the_compact_format_lacks_is_not_said():
    for value in (None, float("inf")):
        with pytest.raises(ValueError, match="compact format"):
            spell([call("mv", source=value)], "compact", KNOWN)


def test_python_of_a_solution_may_leave_names_out():
    assert from_python("mv('a.txt', destination='docs')", KNOWN) == MV
    with pytest.raises(ValueError, match="is not a call"):
        from_python("1", KNOWN)


@pytest.mark.parametrize("form", FORMATS)
def test_there_are_hostile_responses_enough(form):
    assert len(HOSTILE[form]) >= 40


def safe(made: Call) -> bool:
    """Say whether the text of a call is a name and literals, and means what was read."""
    node = ast.parse(made.text, mode="eval").body
    assert isinstance(node, ast.Call)
    assert not node.args
    given = {one.arg: ast.literal_eval(one.value) for one in node.keywords}
    return ast.unparse(node.func) == made.name and given == made.arguments


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form in FORMATS for name in HOSTILE[form]]
)
def test_hostile_responses_become_names_and_literals_or_faults(form, name):
    found = parse(HOSTILE[form][name], form, KNOWN)
    if isinstance(found, Fault):
        assert found.why.isprintable()
        assert found.why.isascii()
        assert 10 < len(found.why) < 120
        found = found.calls
    for made in found:
        if made.name in KNOWN or not set(made.arguments) & {"class"}:
            assert safe(made)


@given(st.text(), st.sampled_from(FORMATS))
def test_any_text_is_calls_or_a_fault(text, form):
    found = parse(text, form, KNOWN)
    assert isinstance(found, Fault | list)


@given(
    st.lists(
        st.sampled_from("()[]'\"=a,; \n{}\\1-")
        | st.sampled_from(
            ["<tool_call>\n", "\n</tool_call>", '{"name": "ls", "arguments": {}}', "ls", "mv"]
        ),
        max_size=14,
    ).map("".join),
    st.sampled_from(FORMATS),
)
def test_pieces_of_calls_are_calls_or_a_fault(text, form):
    found = parse(text, form, KNOWN)
    for made in found.calls if isinstance(found, Fault) else found:
        assert safe(made)


@pytest.mark.usefixtures("package")
def test_all_official_functions_have_a_signature():
    documents = official.documents(list(official.DOCUMENTS))
    kinds = {kind for one in documents.values() for kind in signature(one).kinds.values()}
    assert kinds == {
        *("string", "integer", "float", "boolean", "dict", "array of string", "array of float")
    }


def test_lengths_count_without_reasoning():
    thought = "x" * 30_000 + "</think>"
    assert parse(thought + block(json.dumps({"name": "ls", "arguments": {}})), "qwen3", {}) == [LS]
    assert isinstance(parse("x" * (calls.LENGTH + 1), "qwen3", {}), Fault)
