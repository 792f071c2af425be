"""Setting one value in a YAML or JSON text and leaving every other character as it is: comments, quotes, layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from slop_code.documents import Location
from slop_code.evaluation.yaml_writing import INDENT, JsonWriter, Writer, YamlWriter


class EditError(Exception):
    """The value cannot be set here without touching more than that."""


def set_value(text: str, document: int, at: Location, value: Any, *, as_json: bool = False) -> str:
    """`text` with `value` at `at` in its document of that number (from 0). What is missing on the way is added.

    The caller reads the result again and compares: an anchor, for instance, is not followed.

    Raises:
        EditError: there is no place for it.
    """
    found = _find(text, document, at)
    writer = (JsonWriter if as_json else YamlWriter)(found.node, found.column, found.in_flow)
    edit = _replaced(text, found, writer, value) if not found.missing else _added(text, found, writer, value)
    if "\r\n" in text:
        edit = _Edit(edit.start, edit.end, edit.new.replace("\r\n", "\n").replace("\n", "\r\n"))
    return text[: edit.start] + edit.new + text[edit.end :]


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class _Found:
    """The node at a location, or the nearest mapping above it; the rest of the way; and what surrounds it."""

    node: yaml.Node
    missing: tuple[str | int, ...]
    in_flow: bool
    """Whether the node stands within brackets or braces."""
    column: int
    """Of the key that the node belongs to."""


def _find(text: str, document: int, at: Location) -> _Found:
    # The Python parser: its marks are indexes into the text, whatever characters are in it.
    nodes: list[yaml.Node] = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    if document >= len(nodes):
        raise EditError("the file does not have that document")
    node = nodes[document]
    in_flow, column = False, -INDENT
    for index, part in enumerate(at):
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair is None:
                return _Found(node, tuple(at[index:]), in_flow, column)
            in_flow = in_flow or bool(node.flow_style)
            column = pair[0].start_mark.column
            node = pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            in_flow = in_flow or bool(node.flow_style)
            node = node.value[part]
            column = node.start_mark.column - INDENT
        elif _is_empty(node):
            return _Found(node, tuple(at[index:]), in_flow, column)
        else:
            raise EditError(f'"{part}" has no place in a value that is no mapping')
    return _Found(node, (), in_flow, column)


def _replaced(text: str, found: _Found, writer: Writer, value: Any) -> _Edit:
    node = found.node
    start, end = node.start_mark.index, _end_of(node)
    new = writer.after_key(value)
    is_block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    if is_block:
        # It takes the line ends behind it, which belong to whatever follows now.
        end = start + len(text[start:end].rstrip("\n\r \t"))
    before = text[start - 1 : start]
    starts_own_line = text[:start].rpartition("\n")[2].strip(" ") == ""
    if starts_own_line and isinstance(node, yaml.CollectionNode) and not node.flow_style:
        # A block mapping or list below its key: what replaces it goes back up behind the colon.
        start = len(text[:start].rstrip())
        before = text[start - 1 : start]
    gap = " " if before == ":" and not new.startswith("\n") else ""
    if new.startswith("\n"):
        start = len(text[:start].rstrip(" "))
    if writer.owns_lines and "\n" in new:
        # A comment behind the old value stays on the first line.
        first, _, rest = new.partition("\n")
        line_end = _line_end(text, end)
        missing_end = "\n" if line_end == len(text) else ""
        return _Edit(start, line_end, f"{gap}{first}{text[end:line_end].rstrip()}\n{rest}{missing_end}")
    return _Edit(start, end, gap + new)


def _added(text: str, found: _Found, writer: Writer, value: Any) -> _Edit:
    first, *rest = found.missing
    for part in reversed(rest):
        value = {str(part): value}
    node = found.node
    if _is_empty(node):
        return _replaced(text, found, writer, {str(first): value})
    if not isinstance(node, yaml.MappingNode):
        raise EditError(f'"{first}" has no place in a value that is no mapping')
    key = writer.key(str(first))
    if node.flow_style:
        inner_end = len(text[: node.end_mark.index - 1].rstrip())
        separator = ", " if node.value else ""
        if node.value and text[inner_end - 1] == ",":
            separator = " "
        return _Edit(inner_end, inner_end, f"{separator}{key}: {writer.in_flow(value)}")
    column = node.value[0][0].start_mark.column
    line_end = _line_end(text, _end_of(node))
    pair = f"{key}:{_spaced(writer.at_column(value, column))}"
    missing_end = "\n" if line_end == len(text) and "\n" in pair else ""
    return _Edit(line_end, line_end, f"\n{' ' * column}{pair}{missing_end}")


def _spaced(text: str) -> str:
    return text if text.startswith("\n") else f" {text}"


def _line_end(text: str, index: int) -> int:
    """The end of the line that the character before `index` is on."""
    if index and text[index - 1] == "\n":
        index -= 1
        return index - 1 if text[index - 1 : index] == "\r" else index
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end


def _end_of(node: yaml.Node) -> int:
    """Where a node's own text ends. A block collection's mark is at what follows it, comments included."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end_of(last[1] if isinstance(node, yaml.MappingNode) else last)


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index


def documents_equal(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two files hold the same, types included: `1`, `1.0` and `true` are three things."""
    return repr(list(one)) == repr(list(other))
