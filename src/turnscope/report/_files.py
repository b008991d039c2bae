"""Files that can be got from the page."""

import base64
import gzip

LARGE = 100_000
"""Size of a file beyond which it is packed, so that the page stays light, bytes."""


def download(name: str, text: str) -> tuple[str, str]:
    """Pack a CSV file into the page.

    Args:
        name: Name of the file.
        text: What is in it.

    Returns:
        The name it is got under, which ends in `.gz` if it is packed, and its address.
    """
    kind, content = "text/csv", text.encode()
    if len(content) > LARGE:
        name, kind, content = f"{name}.gz", "application/gzip", gzip.compress(content, mtime=0)
    return name, f"data:{kind};base64,{base64.b64encode(content).decode()}"
