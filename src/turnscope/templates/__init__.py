"""Chat templates of ours, put in place of a model's own where that one cannot be used.

A template is a file `NAME.jinja` here. It must be prefix-preserving: what was said once is rendered
the same when more follows, so that tokens can be carried through an episode. It asks variable
`thinking` whether the model reasons before it speaks.
"""

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """List the templates, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.jinja"))


def source(name: str) -> Path:
    """Return the file of one of `names()`."""
    return FOLDER / f"{name}.jinja"


def text(name: str, thinking: bool) -> str:
    """Return a template that needs no option: whether the model reasons is decided in it.

    Args:
        name: One of `names()`.
        thinking: Whether the model reasons before it speaks.

    Raises:
        ValueError: There is no such template.
    """
    if name not in names():
        raise ValueError(f"unknown template {name!r}; known: {', '.join(names())}")
    decided = f"{{%- set thinking = {str(thinking).lower()} %}}\n"
    return decided + source(name).read_text(encoding="utf-8")
