"""Models that exist already: the folder that a study keeps of one.

It is an ordinary Hugging Face folder with one file of weights and a chat template that can be
played: prefix-preserving, and with nothing left to be chosen by who reads it.
"""

import logging
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turnscope import atomic, folders, hub, templates, weights
from turnscope.chat import Renderer
from turnscope.records import DIARY, MARK

log = logging.getLogger(__name__)

WEIGHTS = "model.safetensors"
KEPT = (".safetensors", ".json", ".txt", ".model", ".jinja")
"""Ends of names of files that are weights, configuration or a tokenizer's."""
RECORDS = (MARK, DIARY)


def make(name: str, settings: Mapping[str, Any], folder: Path, scratch: Path) -> None:
    """Write the folder of a model.

    Args:
        name: What the study calls the model.
        settings: `path`, `revision`, `template`, `thinking` and `dtype`, see config.yaml; those
            that are missing are null.
        folder: Where it goes.
        scratch: A folder for files on the way.

    Raises:
        ValueError: Something is no model, or its chat template cannot be played.
        RuntimeError: The model is not here, and the hub is out of reach.
    """
    found = _files(settings["path"], settings.get("revision"))
    source = _gathered(found, scratch / "source")
    if why := folders.damage(source):
        raise ValueError(
            f"models.{name}.path: {settings['path']!r} holds no model: {why}; "
            f"legal is {folders.LEGAL}"
        )
    with atomic.filling(folder) as draft:
        _words(name, settings, source, draft)
        _config(name, settings, source, draft)
        numbers = weights.merge(_weights(found), draft / WEIGHTS, settings.get("dtype"))
    log.info("%s: %d parameters", name, numbers)


def link(source: Path, folder: Path) -> None:
    """Put a model into another folder; weights are not copied where both are on one file system.

    Args:
        source: A folder that `make` wrote.
        folder: Where it goes.
    """
    with atomic.filling(folder) as draft:
        for path in sorted(source.iterdir()):
            if path.name in RECORDS or path.name.startswith(".") or path.is_dir():
                continue
            if path.name == WEIGHTS:
                try:
                    os.link(path, draft / path.name)
                except OSError:  # another file system, or one without hard links
                    shutil.copyfile(path, draft / path.name)
            else:
                shutil.copyfile(path, draft / path.name)


def _files(path: str, revision: str | None) -> dict[str, Path]:
    """Find the files of a model, in a folder or on a hub."""
    if Path(path).is_dir():
        return {one.name: one for one in Path(path).iterdir() if one.is_file() and _kept(one.name)}
    with hub.online():
        return hub.collect(hub.Repository(path, str(revision), "model"), _kept)


def _kept(name: str) -> bool:
    return name.endswith(KEPT) and not name.startswith(".") and name not in RECORDS


def _weights(found: Mapping[str, Path]) -> list[Path]:
    """List files of weights, as transformers calls them: some models bring others as well."""
    names = [name for name in found if name.startswith("model") and name.endswith(".safetensors")]
    return [found[name] for name in sorted(names)]


def _gathered(found: Mapping[str, Path], folder: Path) -> Path:
    """Make a folder of links to files that may lie anywhere."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, path in found.items():
        (folder / name).symlink_to(path.resolve())
    return folder


def _words(name: str, settings: Mapping[str, Any], source: Path, folder: Path) -> None:
    """Write the tokenizer with a chat template that can be played."""
    from transformers import AutoTokenizer

    words = _loaded(name, settings, "tokenizer", AutoTokenizer.from_pretrained, source)
    template = settings.get("template")
    if template is not None:
        words.chat_template = templates.text(template, bool(settings.get("thinking")))
    try:
        Renderer(words)
    except ValueError as fault:
        known = ", ".join(templates.names())
        raise ValueError(
            f"models.{name}.template: {'null, the own one' if template is None else template} of "
            f"{settings['path']} cannot be played: {fault}; legal is one that can; known: {known}"
        ) from fault
    words.save_pretrained(folder)


def _config(name: str, settings: Mapping[str, Any], source: Path, folder: Path) -> None:
    """Write the configuration, with the number format in which the weights are kept."""
    from transformers import AutoConfig

    config = _loaded(name, settings, "configuration", AutoConfig.from_pretrained, source)
    dtype = settings.get("dtype")
    if dtype is not None:
        config.dtype = dtype
    config.save_pretrained(folder)
    if (source / "generation_config.json").is_file():
        shutil.copyfile(source / "generation_config.json", folder / "generation_config.json")


def _loaded(
    name: str, settings: Mapping[str, Any], part: str, load: Callable[[Path], Any], source: Path
) -> Any:
    """Load a part of a model.

    Raises:
        ValueError: It cannot be loaded, whatever transformers calls that.
    """
    try:
        return load(source)
    except Exception as fault:
        raise ValueError(
            f"models.{name}.path: the {part} of {settings['path']!r} cannot be loaded: {fault}; "
            f"legal is {folders.LEGAL}"
        ) from fault
