"""YAML and JSON files whose every value knows the line it was written on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from slop_code.findings import Finding, Findings, listed
from slop_code.paths import shown_path

Location = Sequence[str | int]

# Aliases can make a few lines stand for billions of values; no honest file comes near this.
MAX_VALUES = 2_000_000
# The parser recurses in C, where going too deep is not an exception but the end of the process.
MAX_DEPTH = 200

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Place(NamedTuple):
    """Where something stands in a file: line and column from 1, and how many characters it takes."""

    line: int
    column: int
    width: int


@dataclass
class Document:
    """One document of a file: the plain data, and where each part of it was written."""

    path: Path
    text: str
    data: Any
    _root: yaml.Node | None = field(default=None, repr=False)
    _keys: dict[int, dict[str, tuple[yaml.Node, yaml.Node]]] = field(default_factory=dict, repr=False)

    def place(self, at: Location = ()) -> Place | None:
        """Where the value at `at` stands: its key in a mapping, its start in a list.

        Parts that the file does not have are passed over, so a missing key gives its mapping's place.
        """
        node = shown = self._nodes()
        for part in at:
            found = self._child(node, part)
            if found is not None:
                shown, node = found
        return _place_of(shown) if shown is not None else None

    def written(self, at: Location) -> str | None:
        """The text of a scalar exactly as the author wrote it (`1.50`, `yes`, `08`), if there is one."""
        node = self._nodes()
        for part in at:
            found = self._child(node, part)
            if found is None:
                return None
            node = found[1]
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None

    def as_text(self, value: Any, at: Location) -> Any:
        """`value`, which stands at `at`, with every number and boolean in it as the text that the author wrote."""
        if isinstance(value, dict):
            return {str(key): self.as_text(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.as_text(item, (*at, index)) for index, item in enumerate(value)]
        return value if value is None or isinstance(value, str) else self.written(at) or value

    def excerpt(self, place: Place) -> str:
        """The line at `place` with a caret below it."""
        return _excerpt(self.text, place)

    def _child(self, node: yaml.Node | None, part: str | int) -> tuple[yaml.Node, yaml.Node] | None:
        """The node to point at, and the node to go on from, for one part of a location."""
        if isinstance(node, yaml.MappingNode):
            if id(node) not in self._keys:
                # Later pairs win, as they do when the mapping is constructed.
                self._keys[id(node)] = {
                    str(key.value): (key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)
                }
            return self._keys[id(node)].get(str(part))
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            return node.value[part], node.value[part]
        return None

    def _nodes(self) -> yaml.Node | None:
        if self._root is None and self.text.strip():
            # JSON files are read with the JSON parser; their positions are wanted only when something is wrong.
            try:
                _check_depth(self.text)
                self._root = _Loader(self.text).get_single_node()
            except (yaml.YAMLError, RecursionError):
                return None
        return self._root


def read_document(path: Path, findings: Findings) -> Document | None:
    """Read a file that holds one YAML document; report what is wrong and return None if it cannot be read."""
    documents = read_documents(path, findings)
    if documents is None:
        return None
    if len(documents) > 1:
        findings.error("holds several YAML documents where one is expected; remove the '---' lines", path=path)
        return None
    return documents[0] if documents else Document(path, "", None)


def read_documents(path: Path, findings: Findings) -> list[Document] | None:
    """Read every document of a YAML file (or the one of a `.json` file); None if it cannot be read."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            findings.error("is not a regular file", path=path)
            return None
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        findings.error("no such file", path=path)
        return None
    except IsADirectoryError:
        findings.error("is a folder where a file is expected", path=path)
        return None
    except UnicodeDecodeError as error:
        findings.error(f"is not UTF-8 text (byte {error.start}: {error.reason})", path=path)
        return None
    except OSError as error:
        findings.error(f"cannot be read: {error.strerror or error}", path=path)
        return None
    return _parse_json(path, text, findings) if path.suffix.lower() == ".json" else _parse_yaml(path, text, findings)


def _parse_yaml(path: Path, text: str, findings: Findings) -> list[Document] | None:
    known = len(findings.errors)
    documents: list[Document] = []
    try:
        _check_depth(text)
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            document = Document(path, text, None, node)
            _check_nodes(node, document, findings)
            if len(findings.errors) > known:
                return None
            document.data = loader.construct_document(node)
            documents.append(document)
    except yaml.MarkedYAMLError as error:
        _report_yaml_error(path, text, error, findings)
        return None
    except yaml.reader.ReaderError as error:
        findings.error(f"holds a character that YAML does not allow ({error.reason})", path=path)
        return None
    except RecursionError:
        findings.error(f"nests deeper than {MAX_DEPTH} levels", path=path)
        return None
    except (ValueError, OverflowError, TypeError, LookupError, AttributeError) as error:
        # What a tag such as !!int makes of a text that does not fit is whatever Python's own functions raise.
        findings.add(_unreadable_value(path, text, str(error)))
        return None
    return documents


def _unreadable_value(path: Path, text: str, reason: str) -> Finding:
    message = f"holds a value that cannot be read: {reason}"
    loader = _Loader(text)
    while loader.check_node():
        pending = [loader.get_node()]
        while pending:
            node = pending.pop()
            pending.extend(_children(node))
            if isinstance(node, yaml.ScalarNode) and not _can_be_read(loader, node):
                return _at_node(message, node, Document(path, text, None))
    return Finding("error", message, shown_path(path))


def _can_be_read(loader: Any, node: yaml.ScalarNode) -> bool:
    try:
        loader.construct_object(node)
    except (ValueError, OverflowError, TypeError, LookupError, AttributeError):
        return False
    return True


def _parse_json(path: Path, text: str, findings: Findings) -> list[Document] | None:
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(items)
        if len(mapping) < len(items):
            names = [name for name, _ in items]
            repeated.extend(name for name in mapping if names.count(name) > 1)
        return mapping

    try:
        document = Document(path, text, json.loads(text, object_pairs_hook=pairs))
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno, 1)
        findings.add(
            Finding("error", f"is not JSON: {error.msg}", shown_path(path), error.lineno, _excerpt(text, place))
        )
        return None
    except RecursionError:
        findings.error(f"nests deeper than {MAX_DEPTH} levels", path=path)
        return None
    except ValueError as error:
        findings.error(f"holds a value that cannot be read: {error}", path=path)
        return None
    if repeated:
        # Read as YAML, where every key has a place.
        known = len(findings.errors)
        _parse_yaml(path, text, findings)
        if len(findings.errors) == known:
            findings.error(f"the key {listed(repeated)} stands twice in one object", path=path)
        return None
    return [document]


class _Loader(_BaseLoader):  # type: ignore[misc]  # its base is chosen at run time
    """The safe loader without timestamps: a date stays the text that the author wrote, as JSON would have it."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _BaseLoader.yaml_implicit_resolvers.items()
}


_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null")}
_MAY_BE_DEEP = re.compile(rf"^ {{{MAX_DEPTH}}}|(?:[-?:][ \t]+){{{MAX_DEPTH}}}", re.MULTILINE)


def _check_depth(text: str) -> None:
    """Raise RecursionError for a text that nests too deeply, looking closely only where it could."""
    if text.count("[") + text.count("{") < MAX_DEPTH and not _MAY_BE_DEEP.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise RecursionError
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_nodes(root: yaml.Node, document: Document, findings: Findings) -> None:
    """Report repeated keys, aliases to themselves, and alias bombs, none of which the constructor minds."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    pending: list[tuple[yaml.Node, bool]] = [(root, False)]
    while pending:
        node, done = pending.pop()
        children = _children(node)
        if done:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
            continue
        if id(node) in open_nodes:
            findings.add(_at_node("an alias refers to the value that it is part of", node, document))
            return
        if id(node) in sizes:
            continue
        open_nodes.add(id(node))
        pending.append((node, True))
        pending.extend((child, False) for child in children)
        if isinstance(node, yaml.MappingNode):
            _read_keys_as_text(node)
            _check_repeated_keys(node, document, findings)
    if sizes[id(root)] > MAX_VALUES:
        findings.error(f"expands to more than {MAX_VALUES:,} values; its aliases multiply", path=document.path)


def _read_keys_as_text(node: yaml.MappingNode) -> None:
    """Keys are names: `01`, `yes` and `1.0` mean what the author sees, as they would in JSON."""
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag in _PLAIN_TAGS:
            key.tag = "tag:yaml.org,2002:str"


def _check_repeated_keys(node: yaml.MappingNode, document: Document, findings: Findings) -> None:
    first: dict[str, yaml.Node] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
            continue
        earlier = first.setdefault(key.value, key)
        if earlier is not key:
            line = earlier.start_mark.line + 1
            findings.add(
                _at_node(f'the key "{key.value}" stands here again; it is already on line {line}', key, document)
            )


def _report_yaml_error(path: Path, text: str, error: yaml.MarkedYAMLError, findings: Findings) -> None:
    what = error.problem or error.context or "cannot be parsed"
    mark = error.problem_mark or error.context_mark
    if mark is None:
        findings.error(f"is not YAML: {what}", path=path)
        return
    lines = text.splitlines()
    start = error.context_mark
    if start is not None and start.line < mark.line:
        what = f"{what} ({error.context}, which starts on line {start.line + 1})"
    place = Place(mark.line + 1, mark.column + 1, 1)
    if mark.line >= len(lines) > 0:
        # The text ended too early; what was left open is more likely on its last line than after it.
        place = Place(len(lines), len(lines[-1]) or 1, 1)
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: mark.column + 1]:
        what = "a tab stands where YAML wants spaces; indent with spaces"
    findings.add(Finding("error", f"is not YAML: {what}", shown_path(path), place.line, _excerpt(text, place)))


def _at_node(message: str, node: yaml.Node, document: Document) -> Finding:
    place = _place_of(node)
    return Finding("error", message, shown_path(document.path), place.line, document.excerpt(place))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _place_of(node: yaml.Node) -> Place:
    start, end = node.start_mark, node.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return Place(start.line + 1, start.column + 1, max(width, 1))


def _excerpt(text: str, place: Place) -> str:
    lines = text.splitlines()
    if not 0 < place.line <= len(lines):
        return ""
    # A tab would put the caret in the wrong column.
    line = lines[place.line - 1].replace("\t", " ")
    start = max(0, place.column - 80)
    shown = line[start : start + 120]
    caret = "^" * max(1, min(place.width, len(line) - place.column + 1, 60))
    number = f"{place.line:>6}"
    return f"{number} | {shown}\n{' ' * len(number)} | {' ' * (place.column - 1 - start)}{caret}"
