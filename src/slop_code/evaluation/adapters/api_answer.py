"""A server's answer as the fields of an `APIResult`: parsed, text, or an archive with its members.

What the bytes hold never raises: they are a submission's. What could not be read as it claims to be is a warning.
"""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from slop_code.evaluation.adapters.archives import gunzip, is_archive_name, names_archive, read_archive
from slop_code.evaluation.adapters.http_exchange import Answer

_CHARSET = re.compile(r"""charset\s*=\s*["']?([-\w.:]{1,40})""", re.ASCII | re.IGNORECASE)
# Python knows more encodings than there are charsets, and some of those take for ever or raise.
_CHARSETS = ("utf-", "ascii", "iso8859", "iso2022", "cp", "koi8", "mac", "gb", "big5", "euc", "shift_jis", "tis-620")
_FILENAME = re.compile(r"""(?:^|[;\s])filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""", re.ASCII | re.IGNORECASE)
_FILENAME_UTF8 = re.compile(r"(?:^|[;\s])filename\*\s*=\s*utf-8'[^']*'([^\s;]+)", re.ASCII | re.IGNORECASE)
_LONGEST_DISPOSITION = 4096
# What is nested deeper breaks whatever walks it later: comparing, copying, writing.
_DEEPEST_JSON = 200
_TOO_DEEP = f"the JSON of the answer is nested more than {_DEEPEST_JSON} deep: it is kept as text"


@dataclass(frozen=True, slots=True)
class Reading:
    """The fields of an `APIResult` that an answer gives; `cut`: a limit kept a part of it out."""

    fields: dict[str, Any]
    warnings: list[str]
    cut: bool


def read_answer(answer: Answer, *, response_is_json: bool, at_most: int) -> Reading:
    """Read an answer.

    A header that came several times is joined by ", ", cookies too. A Content-Encoding of gzip is undone, `at_most` so
    many bytes of it: we never ask for one, but servers send it. An archive is what its Content-Type says is one, or an
    `application/octet-stream` whose file name does.
    """
    headers = _joined(answer.headers)
    body, warnings, cut = _plain(answer, headers.get("content-encoding", ""), at_most)
    content_type = headers.get("content-type", "")
    filename = _filename(headers.get("content-disposition", ""))
    fields: dict[str, Any] = {"status_code": answer.status, "headers": headers}
    if _is_archive(content_type, filename):
        contents = read_archive(body, filename)
        fields |= _archive_fields(body, content_type, filename)
        fields["files"] = contents.files
        return Reading(fields, warnings + contents.warnings, cut or contents.cut)
    charset = _charset(content_type)
    fields["output"] = body.decode(charset, "replace")
    if response_is_json:
        try:
            fields["output"] = _json(body.decode(charset))
        except _UnusableJSONError as error:
            warnings.append(str(error))
        except ValueError:
            pass  # It is not JSON: the text stands.
    return Reading(fields, warnings, cut)


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    return {name: ", ".join(all_of_it) for name, all_of_it in values.items()}


def _plain(answer: Answer, coding: str, at_most: int) -> tuple[bytes, list[str], bool]:
    """The body without its content coding, warnings, and whether it is cut."""
    warnings = [f"the body of the answer was cut at {len(answer.body)} bytes"] if answer.cut else []
    coding = coding.strip().lower()
    if not answer.body or coding in ("", "identity"):
        return answer.body, warnings, answer.cut
    if coding not in ("gzip", "x-gzip"):
        warnings.append(f"the answer's Content-Encoding {coding[:40]!r} is not known: its body is taken as it is")
        return answer.body, warnings, answer.cut
    expanded = gunzip(answer.body, at_most)
    cut = answer.cut or expanded.cut
    if expanded.problem:
        instead = "the rest is left out" if cut else "it is taken as it is"
        warnings.append(f"the body of the answer could not be expanded in full: {expanded.problem}: {instead}")
    return (answer.body if expanded.problem and not cut else expanded.data), warnings, cut


def _is_archive(content_type: str, filename: str) -> bool:
    unspecific = content_type.partition(";")[0].strip().lower() == "application/octet-stream"
    return names_archive(content_type) or (unspecific and is_archive_name(filename))


def _archive_fields(body: bytes, content_type: str, filename: str) -> dict[str, Any]:
    encoded = base64.b64encode(body).decode()
    output = {
        "content_b64": encoded,
        "encoding": "base64",
        "size": len(body),
        "content_type": content_type,
        "is_archive": True,
    }
    return {
        "output": {**output, "filename": filename} if filename else output,
        "binary_response_base64": encoded,
        "binary_response_filename": filename or None,
        "binary_response_size": len(body),
    }


def _filename(disposition: str) -> str:
    """The file name in a Content-Disposition as the server wrote it, "" if there is none."""
    disposition = disposition[:_LONGEST_DISPOSITION]
    if encoded := _FILENAME_UTF8.search(disposition):
        return unquote(encoded[1])
    if not (found := _FILENAME.search(disposition)):
        return ""
    name = re.sub(r"\\(.)", r"\1", found[1]) if found[1] is not None else found[2]
    try:
        # Headers are Latin-1 by the book; servers write UTF-8.
        return name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return name


def _charset(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    try:
        name = codecs.lookup(found[1]).name if found else "utf-8"
    except LookupError:
        return "utf-8"
    return name if name.startswith(_CHARSETS) else "utf-8"


class _UnusableJSONError(ValueError):
    """JSON that Python cannot hold, or nothing could work with."""


def _json(text: str) -> Any:
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise _UnusableJSONError("the JSON of the answer has a number that is too long: it is kept as text") from error
    except RecursionError as error:
        raise _UnusableJSONError(_TOO_DEEP) from error
    level = [value]
    for _ in range(_DEEPEST_JSON):
        level = [child for item in level if isinstance(item, (dict, list)) for child in _children(item)]
        if not level:
            return value
    raise _UnusableJSONError(_TOO_DEEP)


def _children(item: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item
