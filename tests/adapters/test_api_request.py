"""A case becomes exactly this request, and an answer exactly this result."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.adapters import APICase, APIResult
from slop_code.evaluation.adapters.api_answer import Reading, read_answer
from slop_code.evaluation.adapters.api_request import APIOutcome, build_request, resource_url, run_request
from slop_code.evaluation.adapters.base import AdapterError
from slop_code.evaluation.adapters.http_exchange import Answer, Exchange, Limits, Request, wait_until_ready
from tests.adapters.raw_server import RawServer, Script, Talk

BASE = "http://127.0.0.1:8000"
PARCELS = Path(__file__).parents[1] / "conformance" / "problems" / "parcels"
LEGAL = re.compile(r"/(?:[-._~!$&'()*+,;=:@/?0-9A-Za-z]|%[0-9A-Fa-f]{2})*")


def case(**fields: Any) -> APICase:
    return APICase(**{"id": "c", **fields})


def built(**fields: Any) -> Request:
    return build_request(case(**fields), BASE)


def headers_of(**fields: Any) -> dict[str, str]:
    return dict(built(**fields).headers)


def body_of(body: Any, content_type: str | None = None) -> bytes | None:
    return built(body=body, headers={} if content_type is None else {"content-type": content_type}).body


def on_the_wire(request: Request) -> bytes:
    """What a server that answers at once is sent."""
    ours, theirs = socket.socketpair()
    with theirs, Exchange(lambda left: ours) as exchange:
        theirs.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        exchange.send(request, 1)
        return theirs.recv(1 << 20)


def run(script: Script, response_is_json: bool = False, timeout: float | None = 1, **fields: Any) -> APIOutcome:
    with RawServer(script) as server, Exchange(server.connect) as exchange:
        return run_request(
            case(**fields), exchange, server.base_url, response_is_json=response_is_json, timeout=timeout
        )


@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("", {}, "/"),
        ("/a", {}, "/a"),
        ("items", {}, "/items"),
        ("/a b/ü", {}, "/a%20b/%C3%BC"),
        ("/a%2Fb", {}, "/a%2Fb"),
        ("/a", {"q": "x y&z=ü+"}, "/a?q=x%20y%26z%3D%C3%BC%2B"),
        ("/a?b=c", {"d": 1}, "/a?b=c&d=1"),
        ("/a?", {"d": 1}, "/a?d=1"),
        ("/a?b&", {"d": 1}, "/a?b&d=1"),
        ("/a&", {"d": 1}, "/a&?d=1"),
        ("?b=c", {}, "/?b=c"),
        ("", {"a": [1, "two", None], "b": []}, "/?a=1&a=two&a="),
        ("", {"t": True, "f": False, "n": None, "x": 1.5}, "/?t=true&f=false&n=&x=1.5"),
        ("", {"m": {"k": [1]}, "raw": b"\xff"}, "/?m=%7B%22k%22%3A%20%5B1%5D%7D&raw=%FF"),
    ],
)
def test_the_target_is_the_path_as_written_and_the_query(path: str, query: dict[str, Any], target: str) -> None:
    assert built(path=path, query=query).target == target


def test_arguments_stand_for_a_query() -> None:
    assert built(path="/a", arguments=["k=v", "k=w", "x="]).target == "/a?k=v&k=w&x="
    with pytest.raises(AdapterError, match='"novalue" is not of the form key=value'):
        built(arguments=["novalue"])


@pytest.mark.parametrize(
    ("base", "path", "url", "target"),
    [
        (BASE, "", BASE, "/"),
        (BASE, "/a?b=c", BASE + "/a", "/a?b=c"),
        (BASE, "a ü", BASE + "/a ü", "/a%20%C3%BC"),
        (BASE + "/", "/a", BASE + "/a", "/a"),
        (BASE + "/v1/", "/a", BASE + "/v1/a", "/v1/a"),
        ("http://[::1]:80", "/", "http://[::1]:80/", "/"),
    ],
)
def test_the_resource_is_the_full_url_without_the_query(base: str, path: str, url: str, target: str) -> None:
    assert resource_url(case(path=path), base) == url
    request = build_request(case(path=path), base)
    assert request.target == target
    assert dict(request.headers)["Host"] == urlsplit(base).netloc


def test_the_method_goes_out_in_upper_case_and_stays_as_written_in_the_result() -> None:
    def echo(talk: Talk) -> None:
        talk.answer(talk.read().split(b" ")[0])

    result = run(echo, method="pAtch").result
    assert (result.output, result.method) == ("PATCH", "pAtch")


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        (None, None),
        ({"a": ["ü", 1.5, None]}, '{"a": ["ü", 1.5, null]}'.encode()),
        ([], b"[]"),
        (b"\xff\x00", b"\xff\x00"),
        (bytearray(b"x"), b"x"),
        ("plain ü", "plain ü".encode()),
        ("", b""),
        (5, b"5"),
        (True, b"True"),
    ],
)
def test_a_body_is_sent_as_documented(body: Any, wire: bytes | None) -> None:
    assert body_of(body) == wire


def test_only_json_gets_a_content_type_and_only_if_the_case_has_none() -> None:
    assert headers_of(body={"a": 1})["Content-Type"] == "application/json"
    assert headers_of(body=[1])["Content-Type"] == "application/json"
    kept = headers_of(body=[1], headers={"content-TYPE": "application/vnd.api+json"})
    assert [value for name, value in kept.items() if name.lower() == "content-type"] == ["application/vnd.api+json"]
    for body in (None, b"x", "x", 5):
        assert "content-type" not in {name.lower() for name in headers_of(body=body)}


@pytest.mark.parametrize("content_type", ["application/zip", "APPLICATION/X-TAR; a=b", "application/gzip"])
def test_an_archive_is_sent_from_bytes_or_base64(content_type: str) -> None:
    assert body_of(b"PK", content_type) == b"PK"
    assert body_of("UEs=", content_type) == b"PK"
    assert body_of("UE\n s=\n", content_type) == b"PK"
    assert body_of(None, content_type) is None


@pytest.mark.parametrize("body", ["not base64!", "UEs", "ü", {"a": 1}, 5])
def test_bad_base64_is_an_adapter_error(body: Any) -> None:
    outcome = run(lambda talk: None, method="POST", body=body, headers={"Content-Type": "application/zip"})
    assert (outcome.result.adapter_error, outcome.result.status_code, outcome.result.output) == (True, -1, None)
    assert 'case "c": the body cannot be sent: ' in outcome.result.stderr
    assert "base64" in outcome.result.stderr


@pytest.mark.parametrize("body", [{"a": {1, 2}}, {"a": float("nan")}, "\ud800", {(1, 2): 3}])
def test_a_body_that_cannot_be_written_is_an_adapter_error(body: Any) -> None:
    with pytest.raises(AdapterError, match="the body cannot be sent"):
        built(body=body)


def test_bodies_and_queries_that_are_nested_without_end_are_adapter_errors() -> None:
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(AdapterError, match="the body cannot be sent"):
        build_request(case().model_copy(update={"body": deep}), BASE)
    with pytest.raises(AdapterError, match="the query cannot be sent"):
        build_request(case().model_copy(update={"query": {"a": deep}}), BASE)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"headers": {"X": "a\r\nEvil: yes"}}, r"the header X holds '\\r' at position 1"),
        ({"headers": {"X": "a\nb"}}, "one line of Latin-1"),
        ({"headers": {"X": "\0"}}, "without control characters"),
        ({"headers": {"X": "5 €"}}, "holds '€' at position 2"),
        ({"headers": {"X: y\r\nZ": "a"}}, "is not the name of an HTTP header"),
        ({"headers": {"": "a"}}, "is not the name of an HTTP header"),
        ({"headers": {"ü": "a"}}, "is not the name of an HTTP header"),
        ({"method": "GET / HTTP/1.1\r\nX:"}, "is not an HTTP method"),
        ({"method": ""}, "is not an HTTP method"),
        ({"headers": {"Host": "a", "host": "b"}}, "Host"),
        ({"headers": {"Transfer-Encoding": "gzip"}}, "Transfer-Encoding"),
    ],
)
def test_what_http_cannot_say_is_a_clear_adapter_error(fields: dict[str, Any], reason: str) -> None:
    result = run(lambda talk: None, **fields).result
    assert (result.adapter_error, result.status_code, result.retries) == (True, -1, 0)
    assert re.search(reason, result.stderr)


def test_the_headers_of_a_case_win() -> None:
    headers = {"host": "virtual", "User-agent": "me", "ACCEPT": "text/html", "X-O": " caf\xe9\t"}
    assert built(headers=headers).headers == [
        ("host", "virtual"),
        ("User-agent", "me"),
        ("ACCEPT", "text/html"),
        ("X-O", "caf\xe9"),
    ]
    assert headers_of() == {"Host": "127.0.0.1:8000", "Accept": "*/*", "User-Agent": "slop-code"}


def test_a_content_length_of_the_case_is_replaced_by_the_true_one() -> None:
    wire = on_the_wire(built(method="POST", body="12345", headers={"content-length": "99"}))
    assert wire.lower().count(b"content-length") == 1
    assert b"Content-Length: 5\r\n" in wire


@given(
    st.text(max_size=20),
    st.dictionaries(
        st.text(min_size=1, max_size=10) | st.sampled_from(["X", "Host", "Cookie"]), st.text(max_size=20), max_size=3
    ),
    st.sampled_from(["get", "POST", "Weird-1"]) | st.text(max_size=8),
)
def test_no_case_can_smuggle_anything_into_a_request(path: str, headers: dict[str, str], method: str) -> None:
    try:
        wire = on_the_wire(built(path=path, headers=headers, method=method))
    except (AdapterError, ValueError):
        return
    server = h11.Connection(h11.SERVER)
    server.receive_data(wire)
    event = server.next_event()
    assert isinstance(event, h11.Request)
    assert LEGAL.fullmatch(event.target.decode())
    sent = sorted((name.decode(), value.decode("latin-1")) for name, value in event.headers)
    meant = {"host": "127.0.0.1:8000", "accept": "*/*", "user-agent": "slop-code"}
    if method.upper() == "POST":
        meant["content-length"] = "0"
    given_ = [(name.lower(), value.strip(" \t")) for name, value in headers.items()]
    assert sent == sorted([*given_, *((name, value) for name, value in meant.items() if name not in dict(given_))])
    assert isinstance(server.next_event(), h11.EndOfMessage)
    assert server.trailing_data == (b"", False)


@given(st.text(max_size=40))
def test_a_target_is_always_legal_and_means_the_path(path: str) -> None:
    target = built(path=path).target
    assert LEGAL.fullmatch(target)
    meant = path if path.startswith("/") else "/" + path
    assert unquote_to_bytes(target) == unquote_to_bytes(meant.encode())


class Echo(BaseHTTPRequestHandler):
    """Answers with what http.server makes of the request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        seen = {"path": self.path, "headers": list(self.headers.items()), "body": base64.b64encode(body).decode()}
        answer = json.dumps(seen).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *values: object) -> None:
        pass


@pytest.fixture(scope="module")
def echo() -> Iterator[Callable[[APICase], Any]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    port = server.server_port
    base = f"http://127.0.0.1:{port}"
    with server, Exchange(lambda left: socket.create_connection(("127.0.0.1", port), left)) as exchange:
        yield lambda case: run_request(case, exchange, base, response_is_json=True, timeout=5).result.output
        exchange.close()
        server.shutdown()
        thread.join()


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    words,
    st.dictionaries(words, words | st.lists(words, min_size=1, max_size=3), max_size=3),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    st.binary(max_size=200),
)
def test_a_server_receives_what_the_case_says(
    echo: Callable[[APICase], Any], path: str, query: dict[str, Any], header: str, body: bytes
) -> None:
    path = path.replace("?", "").replace("%", "")
    seen = echo(case(method="post", path=path, query=query, headers={"X-Test": header}, body=body))
    url = seen["path"].partition("?")
    # http.server itself folds leading slashes into one.
    assert unquote_to_bytes(url[0]).lstrip(b"/") == path.encode().lstrip(b"/")
    expected = {key: value if isinstance(value, list) else [value] for key, value in query.items()}
    assert parse_qs(url[2], keep_blank_values=True) == expected
    assert dict(seen["headers"])["X-Test"] == header.strip()
    assert base64.b64decode(seen["body"]) == body


def answered(body: bytes, content_type: str = "", *headers: tuple[str, str], is_json: bool = False) -> Reading:
    pairs = [*([("content-type", content_type)] if content_type else []), *headers]
    return read_answer(Answer(200, pairs, body), response_is_json=is_json, at_most=1 << 20)


def output(body: bytes, content_type: str = "", *headers: tuple[str, str], is_json: bool = False) -> Any:
    return answered(body, content_type, *headers, is_json=is_json).fields["output"]


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("grüße".encode(), "", "grüße"),
        ("grüße".encode("latin-1"), "text/plain; charset=ISO-8859-1", "grüße"),
        ("grüße".encode("utf-16"), 'text/plain; charset="utf-16"', "grüße"),
        (b"a\xffb", "", "a\ufffdb"),
        (b"a\r\n b \n", "text/plain", "a\r\n b \n"),
        (b"", "", ""),
        (b"caf\xc3\xa9", "text/plain; charset=nonsense", "café"),
        (b"abc-", "text/plain; charset=punycode", "abc-"),
        (b"abc", "text/plain; charset=idna", "abc"),
        (b"abc", "text/plain; charset=undefined", "abc"),
        (b"YWJj", "text/plain; charset=base64", "YWJj"),
        (b"abc", "text/plain; charset=", "abc"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
    ],
)
def test_an_answer_is_text_in_its_charset(body: bytes, content_type: str, text: str) -> None:
    assert output(body, content_type) == text


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, "\xc3\xbc"]}', {"a": [1, "ü"]}),
        (b"5", 5),
        (b"null", None),
        (b"\xef\xbb\xbf[1]", [1]),
        (b"", ""),
        (b"not json", "not json"),
        (b'{"a": 1', '{"a": 1'),
        (b'["\xff"]', '["\ufffd"]'),
        (b"1e999", float("inf")),
    ],
)
def test_json_is_parsed_or_stays_the_text_that_it_is(body: bytes, value: Any) -> None:
    reading = answered(body, is_json=True)
    assert reading.fields["output"] == value
    assert reading.warnings == []


def test_nan_is_read_as_python_reads_it() -> None:
    value = output(b"[NaN]", is_json=True)[0]
    assert value != value


@pytest.mark.parametrize(
    "body", [b"[" * 201 + b"]" * 201, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 300 + b"1" + b"}" * 300, b"9" * 5000]
)
def test_json_that_nothing_can_work_with_stays_text_with_a_warning(body: bytes) -> None:
    reading = answered(body, is_json=True)
    assert reading.fields["output"] == body.decode()
    assert len(reading.warnings) == 1
    assert "it is kept as text" in reading.warnings[0]


def test_json_may_be_nested_deeply_within_reason() -> None:
    assert isinstance(output(b"[" * 199 + b"]" * 199, is_json=True), list)


def test_header_names_are_in_lower_case_and_repeated_ones_are_joined() -> None:
    reading = answered(b"", "", ("X-A", "1"), ("set-cookie", "a=1"), ("x-a", "2"), ("set-cookie", "b=2"))
    assert reading.fields["headers"] == {"x-a": "1, 2", "set-cookie": "a=1, b=2"}


def test_an_unasked_gzip_is_undone() -> None:
    assert output(gzip.compress(b'{"a": 1}'), "", ("content-encoding", "GZip"), is_json=True) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "coding", "text", "cut"),
    [
        (b"not gzip", "gzip", "not gzip", False),
        (b"as it is", "br", "as it is", False),
        (gzip.compress(bytes(2 << 20), mtime=0), "gzip", "\0" * (1 << 20), True),
    ],
)
def test_a_coding_that_cannot_be_undone_is_a_warning(body: bytes, coding: str, text: str, cut: bool) -> None:
    reading = answered(body, "", ("content-encoding", coding))
    assert (reading.fields["output"], reading.cut, len(reading.warnings)) == (text, cut, 1)


def zipped(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_an_archive_answer_fills_every_field_for_it() -> None:
    data = zipped(a=b"hello", b=b"\xff\x00")
    encoded = base64.b64encode(data).decode()
    disposition = ("content-disposition", 'attachment; filename="bundle.zip"')
    fields = answered(data, "application/zip; x=y", disposition, is_json=True).fields
    assert fields["output"] == {
        "content_b64": encoded,
        "encoding": "base64",
        "size": len(data),
        "content_type": "application/zip; x=y",
        "is_archive": True,
        "filename": "bundle.zip",
    }
    assert fields["files"] == {"a": "hello", "b": "/wA="}
    assert (fields["binary_response_base64"], fields["binary_response_size"]) == (encoded, len(data))
    assert fields["binary_response_filename"] == "bundle.zip"


def test_an_archive_without_a_name_has_none() -> None:
    fields = answered(zipped(), "application/zip").fields
    assert "filename" not in fields["output"]
    assert fields["binary_response_filename"] is None


def test_a_file_named_like_an_archive_is_one_where_the_type_says_nothing() -> None:
    named = ("content-disposition", "attachment; filename=x.zip")
    assert output(zipped(a=b"1"), "application/octet-stream", named)["is_archive"] is True
    assert isinstance(output(b"text", "text/plain", named), str)
    assert isinstance(output(b"text", "application/octet-stream"), str)


def test_a_broken_archive_is_still_an_archive_answer_with_a_warning() -> None:
    reading = answered(b"garbage", "application/zip")
    assert (reading.fields["output"]["size"], reading.fields["files"]) == (7, {})
    assert reading.warnings == ["the archive is damaged: it is neither zip nor tar nor gzip"]


@pytest.mark.parametrize(
    ("disposition", "filename"),
    [
        ('attachment; filename="a b.zip"', "a b.zip"),
        ("attachment; filename=a.zip; size=1", "a.zip"),
        (r'attachment; filename="say \"hi\".zip"', 'say "hi".zip'),
        ("attachment; filename=plain; filename*=UTF-8''gr%C3%BC%C3%9Fe.zip", "grüße.zip"),
        ('attachment; filename="gr\xc3\xbc\xc3\x9fe.zip"', "grüße.zip"),
        ('attachment; filename="gr\xfc.zip"', "grü.zip"),
        ("attachment; nofilename=x", None),
        ("attachment; filename=", None),
        ('filename="' * 100_000, "filename="),
    ],
)
def test_the_file_name_is_what_the_server_called_it(disposition: str, filename: str | None) -> None:
    fields = answered(zipped(), "application/zip", ("content-disposition", disposition)).fields
    assert (fields["binary_response_filename"] or None) == filename


def test_a_result_says_what_was_asked_and_what_was_answered() -> None:
    def script(talk: Talk) -> None:
        talk.read()
        talk.answer(b'{"ok": true}', "X-Id: 7", status="201 Created")

    with RawServer(script) as server, Exchange(server.connect) as exchange:
        asked = case(id="one", group="g", group_type="Core", path="/a", query={"b": 1})
        outcome = run_request(asked, exchange, server.base_url, response_is_json=True, timeout=1)
    result = outcome.result
    assert isinstance(result, APIResult)
    assert (result.id, result.group, result.group_type, result.type) == ("one", "g", "Core", "api")
    assert (result.status_code, result.output, result.stderr, result.retries) == (201, {"ok": True}, None, 0)
    assert (result.method, result.resource_path) == ("GET", server.base_url + "/a")
    assert result.headers["x-id"] == "7"
    assert 0 < result.elapsed < 1
    assert (result.timed_out, result.adapter_error, outcome.warnings, outcome.cut) == (False, False, [], False)


def test_a_timeout_is_minus_one_without_output_and_says_why() -> None:
    result = run(Talk.hang, timeout=0.05, path="/slow").result
    assert (result.status_code, result.output, result.timed_out, result.adapter_error) == (-1, None, True, False)
    assert result.stderr == "no complete answer within 0.05 s: received nothing"
    assert result.elapsed >= 0.05


def test_a_failure_is_minus_one_without_output_and_says_why() -> None:
    def garbage(talk: Talk) -> None:
        talk.read()
        talk.say(b"garbage\r\n\r\n")

    result = run(garbage).result
    assert (result.status_code, result.output, result.timed_out, result.adapter_error) == (-1, None, False, False)
    assert result.stderr.startswith("the answer is not valid HTTP: ")


def test_retries_are_extra_attempts_and_the_result_says_how_many_were_used() -> None:
    def works(talk: Talk) -> None:
        talk.read()
        talk.answer()

    with RawServer(Talk.hang, Talk.read, works) as server, Exchange(server.connect) as exchange:  # type: ignore[arg-type]
        asked = case(retries=5)
        result = run_request(asked, exchange, server.base_url, response_is_json=False, timeout=0.1).result
    assert (result.status_code, result.output, result.retries, result.timed_out) == (200, "ok", 2, False)


def test_retries_end() -> None:
    attempts: list[float] = []

    def refuse(left: float) -> socket.socket:
        attempts.append(left)
        raise ConnectionRefusedError(111, "Connection refused")

    result = run_request(case(retries=2), Exchange(refuse), BASE, response_is_json=False, timeout=0.5).result
    assert (len(attempts), result.retries, result.status_code) == (3, 2, -1)
    assert min(attempts) > 0.4
    assert result.stderr == "cannot connect: connection refused"


def test_an_error_status_is_an_answer_and_not_tried_again() -> None:
    def broken(talk: Talk) -> None:
        talk.read()
        talk.answer(b"oops", status="503 Unavailable")

    result = run(broken, retries=3).result
    assert (result.status_code, result.output, result.retries) == (503, "oops", 0)


def test_a_cut_goes_beside_the_result_and_never_into_it() -> None:
    def endless(talk: Talk) -> None:
        talk.read()
        talk.say(b"HTTP/1.1 200 OK\r\n\r\n")
        talk.flood(b"x" * 1000)

    with RawServer(endless) as server, Exchange(server.connect, limits=Limits(body_bytes=10)) as exchange:
        outcome = run_request(case(), exchange, server.base_url, response_is_json=True, timeout=1)
    assert (outcome.result.output, outcome.cut) == ("x" * 10, True)
    assert outcome.warnings == ["the body of the answer was cut at 10 bytes"]


@contextmanager
def parcels() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "checkpoint_1/solution/parcels.py", "--port", str(port), "--seed", "seed_data"]
    with subprocess.Popen(command, cwd=PARCELS) as process:
        try:
            yield port, process
        finally:
            process.kill()


def test_the_cases_of_a_real_package_give_what_they_expect() -> None:
    with parcels() as (port, process):

        def connect(left: float) -> socket.socket:
            return socket.create_connection(("127.0.0.1", port), left)

        assert wait_until_ready(connect, "/healthz", 10, lambda: process.poll() is None).state == "ready"
        with Exchange(connect) as exchange:
            for path in sorted((PARCELS / "checkpoint_1").glob("[fs]*/*.json")):
                data = json.loads(path.read_text())
                expected = data.pop("expected")
                if data.pop("as_bytes", False):
                    data["body"] = bytes(data["body"])
                asked = case(id=path.stem, **data)
                base = f"http://127.0.0.1:{port}"
                result = run_request(asked, exchange, base, response_is_json=True, timeout=5).result
                assert result.status_code == expected["status_code"], path
                if expected["output"] != "an archive":
                    assert result.output == expected["output"], path
                assert result.files == expected.get("files", {}), path
