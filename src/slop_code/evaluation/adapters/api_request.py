"""An API case put to a server: the exact request it means, its attempts, and the result they give.

Where a case leaves something open, or says what only we can know:

- The URL is the base and the path as written; a path without a leading "/" gets one. What is illegal in a request
  target is percent-encoded ("#" too: a path has no fragment), everything else stays as it is.
- Query values: a list repeats its key, true and false are written so, None is empty, a mapping is JSON. A path that has
  a query already is continued with "&".
- A Host of the case replaces ours. A Content-Length is replaced by the true one. `Transfer-Encoding: chunked` sends the
  body in chunks. Accept and User-Agent are added where they are missing, Accept-Encoding never.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from slop_code.evaluation.adapters.api import APICase, APIResult
from slop_code.evaluation.adapters.api_answer import read_answer
from slop_code.evaluation.adapters.archives import names_archive
from slop_code.evaluation.adapters.base import AdapterError
from slop_code.evaluation.adapters.http_exchange import (
    Answer,
    Exchange,
    ExchangeError,
    ExchangeTimeoutError,
    Request,
    legal_target,
)

_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_NOT_IN_A_HEADER = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class APIOutcome:
    """A case's result, and what goes into its report besides: warnings, and whether something was cut."""

    result: APIResult
    warnings: list[str] = field(default_factory=list)
    cut: bool = False


def run_request(
    case: APICase, exchange: Exchange, base_url: str, *, response_is_json: bool, timeout: float | None
) -> APIOutcome:
    """Put `case` to the server behind `exchange`. The timeout is total, and for each of the attempts.

    Never raises for what a case or a server does: a case that cannot be sent gives an `adapter_error`. `elapsed` is
    until the answer was there, failed attempts included.
    """
    started = time.monotonic()
    fields: dict[str, Any] = {
        "id": case.id,
        "group": case.group,
        "group_type": case.group_type,
        "method": case.method,
        "resource_path": resource_url(case, base_url),
    }
    try:
        answer, fields["retries"] = _attempt(exchange, build_request(case, base_url), case.retries, timeout)
    except (AdapterError, ValueError) as error:
        return APIOutcome(APIResult(**fields, status_code=-1, adapter_error=True, stderr=str(error)))
    fields["elapsed"] = time.monotonic() - started
    if isinstance(answer, ExchangeError):
        late = isinstance(answer, ExchangeTimeoutError)
        return APIOutcome(APIResult(**fields, status_code=-1, timed_out=late, stderr=str(answer)))
    reading = read_answer(answer, response_is_json=response_is_json, at_most=exchange.limits.body_bytes)
    return APIOutcome(APIResult(**fields, **reading.fields), reading.warnings, reading.cut)


def build_request(case: APICase, base_url: str) -> Request:
    """The request that `case` means.

    Raises:
        AdapterError: the case cannot be sent as it is written; the text says what to change.
    """
    if not _TOKEN.fullmatch(case.method):
        raise AdapterError(f'case "{case.id}": {case.method!r} is not an HTTP method')
    headers = [(name, _header_value(case, name, value)) for name, value in case.headers.items()]
    given = {name.lower(): value for name, value in headers}
    defaults = {"Host": urlsplit(base_url).netloc, "Accept": "*/*", "User-Agent": "slop-code"}
    if isinstance(case.body, (dict, list)):
        defaults["Content-Type"] = "application/json"
    headers += [(name, value) for name, value in defaults.items() if name.lower() not in given]
    return Request(case.method.upper(), _target(case, base_url), headers, _body(case, given.get("content-type", "")))


def resource_url(case: APICase, base_url: str) -> str:
    """The full URL of the request without its query, the path as the case has it."""
    path = case.path.partition("?")[0]
    return base_url.rstrip("/") + (path if not path or path.startswith("/") else "/" + path)


def _attempt(
    exchange: Exchange, request: Request, retries: int, timeout: float | None
) -> tuple[Answer | ExchangeError, int]:
    """The answer or the last failure, and how many extra attempts it took."""
    pause = _FIRST_PAUSE_S
    for attempt in range(retries + 1):
        try:
            return exchange.send(request, timeout), attempt
        except ExchangeError as error:
            failure = error
        if attempt < retries:
            # A server that is refused or broken now may be back in a moment; at once it is not.
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
    return failure, retries


def _target(case: APICase, base_url: str) -> str:
    prefix = urlsplit(base_url).path.rstrip("/")
    path = case.path if case.path.startswith("/") else "/" + case.path
    try:
        pairs = [(key, text) for key, value in case.get_query_params().items() for text in _query_texts(value)]
    except (TypeError, ValueError, RecursionError) as error:
        raise AdapterError(f'case "{case.id}": the query cannot be sent: {error}') from error
    query = urlencode(pairs, quote_via=quote, safe="", errors="surrogatepass")
    if query:
        path += ("" if path.endswith(("?", "&")) else "&") if "?" in path else "?"
    return legal_target(prefix + path + query)


def _query_texts(value: Any) -> list[str | bytes]:
    return [_query_text(item) for item in value] if isinstance(value, (list, tuple)) else [_query_text(value)]


def _query_text(value: Any) -> str | bytes:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value if isinstance(value, bytes) else str(value)


def _header_value(case: APICase, name: str, value: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise AdapterError(f'case "{case.id}": {name!r} is not the name of an HTTP header')
    if bad := _NOT_IN_A_HEADER.search(value):
        raise AdapterError(
            f'case "{case.id}": the header {name} holds {bad[0]!r} at position {bad.start()}: '
            "a header is one line of Latin-1 without control characters"
        )
    return value.strip(" \t")


def _body(case: APICase, content_type: str) -> bytes | None:
    body = case.body
    if body is None:
        return None
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    try:
        if names_archive(content_type):
            return _archive_bytes(body)
        if isinstance(body, (dict, list)):
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        return str(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise AdapterError(f'case "{case.id}": the body cannot be sent: {error}') from error


def _archive_bytes(body: Any) -> bytes:
    if not isinstance(body, str):
        raise TypeError(f"an archive is bytes or a str in base64, not {type(body).__name__}")
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the str for an archive is not base64 ({error})") from error
