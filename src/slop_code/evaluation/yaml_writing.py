"""Values as YAML or JSON text, for a place in a file that people wrote."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from typing import Any

import yaml

INDENT = 2
_WIDTH = 1 << 20
_FLOW_FITS = 80
# What a literal block cannot hold: other line ends and control characters.
_NOT_LITERAL = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class Writer(ABC):
    """Writes a value in the place of `node`, whose key stands at `column`, within brackets if `in_flow`."""

    owns_lines = True
    """Whether what takes several lines has them for itself."""

    def __init__(self, node: yaml.Node, column: int, in_flow: bool) -> None:
        self.node = node
        self.column = column
        self.within = in_flow

    @abstractmethod
    def key(self, name: str) -> str:
        """A key, as it is written."""

    @abstractmethod
    def after_key(self, value: Any) -> str:
        """The value behind its key's colon; from the next line on if it begins with a newline."""

    @abstractmethod
    def at_column(self, value: Any, column: int) -> str:
        """The same, for a new key at `column`."""

    @abstractmethod
    def in_flow(self, value: Any) -> str:
        """The value on one line, between brackets."""


class JsonWriter(Writer):
    owns_lines = False

    def key(self, name: str) -> str:
        return json.dumps(name, ensure_ascii=False)

    def after_key(self, value: Any) -> str:
        node = self.node
        on_one_line = node.start_mark.line == node.end_mark.line
        if on_one_line and (isinstance(node, yaml.ScalarNode) is not isinstance(value, (dict, list))):
            return self.in_flow(value)
        text = json.dumps(value, ensure_ascii=False, indent=INDENT)
        return text.replace("\n", "\n" + " " * max(self.column, 0))

    def at_column(self, value: Any, column: int) -> str:
        return self.in_flow(value)

    def in_flow(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)


class YamlWriter(Writer):
    def key(self, name: str) -> str:
        return _one_line(name)

    def after_key(self, value: Any) -> str:
        node = self.node
        if self.within:
            return self.in_flow(value)
        style = node.style if isinstance(node, yaml.ScalarNode) else None
        if isinstance(value, (dict, list)) and isinstance(node, yaml.CollectionNode) and node.flow_style:
            flow = _one_line(value)
            if len(flow) <= _FLOW_FITS:
                return flow
        return _block(value, self.column, style)

    def at_column(self, value: Any, column: int) -> str:
        return _block(value, column, None)

    def in_flow(self, value: Any) -> str:
        return _one_line(value, within=True)


def _block(value: Any, column: int, style: str | None) -> str:
    """A value behind a key at `column`, in the style of the one before where that can hold it."""
    margin = " " * (column + INDENT)
    if isinstance(value, (dict, list)) and value:
        dumped = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
        )
        return "".join(f"\n{margin}{line}" if line else "\n" for line in dumped.rstrip("\n").split("\n"))
    if isinstance(value, str):
        many = value.rstrip("\n").count("\n") > 0
        if (many or style in ("|", ">")) and _fits_literal(value):
            return _literal(value, margin)
        if style == '"' or "\n" in value:
            return _quoted(value)
        if style == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
    return _one_line(value)


def _fits_literal(value: str) -> bool:
    return bool(value.strip()) and not value.endswith("\n\n") and not _NOT_LITERAL.search(value)


def _literal(value: str, margin: str) -> str:
    body = value.rstrip("\n")
    ends = len(value) - len(body)
    chomping = "" if ends else "-"
    indicator = str(INDENT) if body.lstrip("\n")[:1] in (" ", "\t") else ""
    lines = [f"{margin}{line}" if line else "" for line in body.split("\n")]
    return f"|{indicator}{chomping}\n" + "\n".join(lines)


def _quoted(value: str) -> str:
    return _scalar(value, '"')


def _one_line(value: Any, *, within: bool = False) -> str:
    if isinstance(value, str) and (within or "\n" in value):
        plain = _scalar(value, None)
        is_safe = plain == value and not re.search(r"[,\[\]{}#:&*!|>'\"%@`?]", value) and value.strip() == value
        return plain if is_safe and "\n" not in plain else _quoted(value)
    if isinstance(value, (dict, list)):
        dumped = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=True
        )
        return dumped.rstrip("\n")
    return _scalar(value, None)


def _scalar(value: Any, style: str | None) -> str:
    dumped = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=_WIDTH, default_style=style, explicit_end=False)
    return dumped.removesuffix("\n").removesuffix("\n...").removesuffix("...").rstrip("\n")


class _Dumper(yaml.SafeDumper):
    """Writes lists below keys indented, and no aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        # Where a literal block has no place, it means double quotes.
        style = '"' if _NOT_LITERAL.search(data) else None
        if "\n" in data:
            style = "|" if _fits_literal(data) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=self.default_style or style)


_Dumper.add_representer(str, _Dumper.represent_text)
