"""The page: a template of HTML, filled in."""

from importlib import resources
from typing import Any

import jinja2

from turnscope.report import _words


def fill(**values: Any) -> str:
    """Fill in the template, which lies beside this module.

    Args:
        values: All that it names.

    Returns:
        A whole HTML document.
    """
    source = resources.files("turnscope.report").joinpath("_page.html.jinja").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = _words.number
    return environment.from_string(source).render(**values)
