"""YAML with line numbers, so that an error can say file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from harness.errors import HarnessError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DEEPEST = 100
_MOST_VALUES = 1_000_000
"""What no file of ours comes near: deeper nesting overflows the parser's stack, more values are a bomb of aliases."""


def read_utf8(path: Path, *, encoding: str = "utf-8") -> str:
    """Read a text file; one that cannot be read raises one sentence."""
    try:
        return path.read_text(encoding=encoding)
    except FileNotFoundError:
        raise HarnessError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise HarnessError(f"{path}, line {line}: not UTF-8; save the file as UTF-8.") from None
    except OSError as error:
        raise HarnessError(f"{path}: cannot be read ({error.strerror}).") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; a broken file raises one sentence with its line."""
    text = read_utf8(path)
    try:
        _refuse_endless(path, text)
        loader = _Loader(text)
        node = loader.get_single_node()
        _refuse_duplicate_keys(path, node)
        data = None if node is None else loader.construct_document(node)
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise HarnessError(
            f"{path}, line {line}: not valid YAML (holds the control character {error.character:#04x})."
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        raise HarnessError(f"{path}{where}: not valid YAML ({error.problem or error.context}).") from None
    if not isinstance(data, dict):
        raise HarnessError(f"{path}: a mapping of keys to values is needed, found {type(data).__name__}.")
    return data


def _refuse_endless(path: Path, text: str) -> None:
    """Raise one sentence for aliases that stand for themselves or for millions of values, and for endless nesting."""
    sizes: dict[str | None, int] = {}
    within: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=_Loader):
        where = f"{path}, line {event.start_mark.line + 1}" if event.start_mark else str(path)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(within) == _DEEPEST:
                raise HarnessError(f"{where}: nested more than {_DEEPEST} deep.")
            within.append((event.anchor, 1))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = within.pop()
        elif isinstance(event, yaml.AliasEvent):
            if any(event.anchor == anchor for anchor, _ in within):
                raise HarnessError(f"{where}: the alias *{event.anchor} stands inside what it refers to.")
            anchor, size = None, sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        if within:
            within[-1] = within[-1][0], within[-1][1] + size
            if within[-1][1] > _MOST_VALUES:
                raise HarnessError(f"{where}: written out, its aliases are more than {_MOST_VALUES:,} values.")


def _refuse_duplicate_keys(path: Path, node: yaml.Node | None) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise HarnessError(f"{path}, line {key.start_mark.line + 1}: the key {key.value!r} is given twice.")
            seen.add(key.value)
            _refuse_duplicate_keys(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_duplicate_keys(path, value)


def line_of(path: Path, keys: tuple[str | int, ...]) -> int | None:
    """Return the line on which the value under ``keys`` stands."""
    node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
    for key in keys:
        children: list[tuple[object, yaml.Node]] = []
        if isinstance(node, yaml.MappingNode):
            children = [(k.value, v) for k, v in node.value]
        elif isinstance(node, yaml.SequenceNode):
            children = list(enumerate(node.value))
        found = [value for name, value in children if name == key]
        if not found:
            break
        node = found[0]
    return node.start_mark.line + 1 if node is not None else None


def explain(error: ValidationError, origin: Path | str) -> HarnessError:
    """Turn pydantic's first complaint into one sentence: file, line, key, what to do."""
    first = error.errors(include_url=False)[0]
    keys = tuple(first["loc"])
    key = ".".join(str(k) for k in keys) or "the file"
    line = line_of(origin, keys) if isinstance(origin, Path) and origin.is_file() else None
    what = {
        "missing": "is required and missing",
        "extra_forbidden": "is not a key that this file may have",
    }.get(first["type"], first["msg"].removeprefix("Value error, "))
    return HarnessError(f"{origin}{f', line {line}' if line else ''}: {key}: {what}.")
