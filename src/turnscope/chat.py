"""One chat renderer for sampling, training and scoring: text of the environment becomes tokens.

The rollout is token-in, token-out: what a model sampled is never decoded and encoded again. Only
the environment's text is encoded, once, in the frame that the model's chat template puts around a
user message that follows an assistant message. That text may come from anywhere: chat markup in it
stays text and can neither end a turn nor forge one.
"""

import json
from functools import lru_cache
from typing import Any

ACTION, REPLY = "action\u2063", "reply\u2063"  # an invisible separator: no template contains it
OPENING, REASON = "<think>\n", "why\n</think>\n\n"
"""A reasoning block, as reasoning models write it and their templates look for it."""


class Renderer:
    """Encodes observations in the frame of a chat template.

    Args:
        tokenizer: A transformers tokenizer with a chat template and an end-of-turn token.
        options: Keyword arguments of the template, such as `enable_thinking`.

    Raises:
        ValueError: The template is not prefix-preserving, so turns cannot be appended to it.
    """

    def __init__(self, tokenizer: Any, **options: Any):
        self.tokenizer = tokenizer
        self.end_id: int = tokenizer.eos_token_id
        self.end: str = tokenizer.eos_token
        self._options = options
        added = tokenizer.added_tokens_decoder
        self._markup = frozenset(number for number, token in added.items() if token.special)
        self._tail = self._frame([(REPLY, ACTION)])
        self._head = lru_cache(maxsize=1 << 8)(self._checked)
        self._head("")
        self.first = lru_cache(maxsize=1 << 9)(self._first)
        self.reply = lru_cache(maxsize=1 << 14)(self._reply)

    def _first(self, observation: str, tools: str = "") -> tuple[int, ...]:
        """Encode the first observation, up to where the policy speaks.

        Args:
            observation: What the environment says.
            tools: Functions that may be called, a list in JSON; empty is none.

        Raises:
            ValueError: The template does not show tools, or is not prefix-preserving with them.
        """
        return self._encode("", self._head(tools), observation)

    def _reply(self, observation: str, ended: bool) -> tuple[int, ...]:
        """Encode a later observation, from behind the policy's last token to where it speaks.

        Args:
            observation: What the environment replied.
            ended: Whether the policy ended its turn itself; if not, its turn is closed here.
        """
        return self._encode("" if ended else self.end, self._tail, observation)

    def text(self, ids: list[int]) -> str:
        """Decode what the policy said, without the end of its turn.

        Any other markup stays: a policy that says it has said no action.
        """
        said = ids[:-1] if ids[-1:] == [self.end_id] else ids
        return self.tokenizer.decode(said, skip_special_tokens=False)

    def said(self, text: str) -> list[int]:
        """Encode what a policy might have said, with the end of its turn: `text` undone."""
        return [*self._ids(text, split_special_tokens=True), self.end_id]

    def _encode(self, end: str, frame: tuple[str, str], observation: str) -> tuple[int, ...]:
        """Encode an observation in its frame, without a token of markup that is not the frame's."""
        before, after = self._ids(end + frame[0]), self._ids(frame[1])
        ids = self._ids(end + frame[0] + observation + frame[1])
        if self._marks(ids) > self._marks(before + after):
            ids = before + self._ids(observation, split_special_tokens=True) + after
        if self._marks(ids) != self._marks(before + after):
            raise ValueError(f"the tokenizer reads chat markup in an observation: {observation!r}")
        return tuple(ids)

    def _ids(self, text: str, **options: Any) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False, **options)

    def _marks(self, ids: list[int]) -> int:
        return sum(number in self._markup for number in ids)

    def _render(self, turns: list[tuple[str, str]], observation: str, tools: str = "") -> str:
        messages = []
        for said, done in turns:
            messages += [{"role": "user", "content": said}, {"role": "assistant", "content": done}]
        messages.append({"role": "user", "content": observation})
        return self.tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=True,
            **self._options | ({"tools": json.loads(tools)} if tools else {}),
        )

    def _frame(self, turns: list[tuple[str, str]], tools: str = "") -> tuple[str, str]:
        """Return the template's text before and after the last observation."""
        text = self._render(turns, REPLY, tools)
        if turns:
            text = text[text.rfind(ACTION) + len(ACTION) :]
            if not text.startswith(self.end):
                raise ValueError(
                    f"chat template: an assistant message must end with {self.end!r}, "
                    f"but is followed by {text[:20]!r}"
                )
            text = text[len(self.end) :]
        if text.count(REPLY) != 1:
            raise ValueError("chat template: the text of a user message must appear once")
        before, after = text.split(REPLY)
        return before, after

    def _checked(self, tools: str) -> tuple[str, str]:
        """Return the frame of the first observation.

        A template is refused that renders earlier turns differently once later ones exist.
        """
        head = self._frame([], tools)
        opened, closed = head[1].endswith(OPENING), "</think>" in head[1]
        said = "first" if closed else REASON + "first"
        whole = said if closed else OPENING + said
        rest = (said if opened or closed else whole) + self.end
        text = head[0] + "one" + head[1] + rest
        text += self._tail[0] + "two" + self._tail[1] + rest
        text += self._tail[0] + "three" + self._tail[1]
        if text != self._render([("one", whole), ("two", whole)], "three", tools):
            raise ValueError(
                "chat template: not prefix-preserving (it rewrites earlier turns, as templates do "
                "that drop old reasoning); use the model's training template"
            )
        if tools and head == self._frame([]):
            raise ValueError("chat template: it does not show tools; use another one or none")
        return head
