"""One request, one answer, whatever the server does."""

from __future__ import annotations

import gzip
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.adapters import http_exchange
from slop_code.evaluation.adapters.http_exchange import (
    Answer,
    Connect,
    Exchange,
    ExchangeError,
    ExchangeTimeoutError,
    Limits,
    Request,
    legal_target,
    wait_until_ready,
)
from tests.adapters.raw_server import RawServer, Script, Talk

GET = Request("GET", "/", [("Host", "here")])
SHORT = 0.1
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


def always(body: bytes = b"ok", *headers: str, status: str = "200 OK") -> Script:
    def script(talk: Talk) -> None:
        while True:
            talk.read()
            talk.answer(body, *headers, status=status)

    return script


def says(data: bytes, then: Callable[[Talk], None] = lambda talk: None) -> Script:
    def script(talk: Talk) -> None:
        talk.read()
        talk.say(data)
        then(talk)

    return script


@contextmanager
def exchange_with(*scripts: Script, limits: Limits | None = None) -> Iterator[tuple[RawServer, Exchange]]:
    """A server and an exchange with it; every socket that the exchange got must be closed at the end."""
    sockets: list[socket.socket] = []
    with RawServer(*scripts) as server:

        def connect(left: float) -> socket.socket:
            sockets.append(server.connect(left))
            return sockets[-1]

        with Exchange(connect, limits=limits) as exchange:
            yield server, exchange
    assert [sock.fileno() for sock in sockets] == [-1] * len(sockets)


def test_an_answer_is_what_the_server_sent() -> None:
    with exchange_with(always(b"\xff\x00", "X-One: 1", "x-one: caf\xe9", status="418 Tea")) as (_, exchange):
        answer = exchange.send(GET, 1)
    assert (answer.status, answer.body, answer.cut) == (418, b"\xff\x00", False)
    assert answer.headers == [("content-length", "2"), ("x-one", "1"), ("x-one", "caf\xc3\xa9")]


def test_a_request_is_exactly_what_was_written() -> None:
    request = Request("PUT", "/a%20b?c=%2f&d", [("Host", "here"), ("x-LoUd", "yes"), ("content-length", "99")], b"body")
    with exchange_with(always()) as (server, exchange):
        exchange.send(request, 1)
    assert server.requests == [
        b"PUT /a%20b?c=%2f&d HTTP/1.1\r\nHost: here\r\nx-LoUd: yes\r\nContent-Length: 4\r\n\r\nbody"
    ]


@pytest.mark.parametrize(("method", "said"), [("POST", True), ("PATCH", True), ("GET", False), ("DELETE", False)])
def test_a_length_of_zero_is_said_where_a_body_is_usual(method: str, said: bool) -> None:
    with exchange_with(always()) as (server, exchange):
        exchange.send(Request(method, "/", [("Host", "here")]), 1)
    assert (b"Content-Length: 0" in server.requests[0]) is said


def test_a_body_goes_out_in_chunks_if_the_headers_say_so() -> None:
    def echo(talk: Talk) -> None:
        data = talk.read()
        while not data.endswith(b"0\r\n\r\n"):
            data += talk.sock.recv(100)
        talk.answer(data)

    request = Request("POST", "/", [("Host", "here"), ("Transfer-Encoding", "chunked")], b"body")
    with exchange_with(echo) as (_, exchange):
        head, _, body = exchange.send(request, 1).body.partition(b"\r\n\r\n")
    assert body == b"4\r\nbody\r\n0\r\n\r\n"
    assert b"Content-Length" not in head


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", "/", []),
        Request("GET", "/", [("Host", "a"), ("host", "b")]),
        Request("GET", "/a b", [("Host", "a")]),
        Request("GET", "/", [("Host", "a\r\nX: y")]),
        Request("POST", "/", [("Host", "a"), ("Transfer-Encoding", "gzip")], b"x"),
        Request("GET", "/", [("Host", "\u20ac")]),
    ],
)
def test_a_request_that_is_not_http_is_never_sent(request_: Request) -> None:
    with exchange_with(always()) as (server, exchange):
        with pytest.raises(ValueError, match=r"not legal HTTP|latin-1"):
            exchange.send(request_, 1)
        assert exchange.send(GET, 1).body == b"ok"
    assert len(server.requests) == 1


def test_a_connection_is_kept_where_the_server_allows() -> None:
    with exchange_with(always()) as (server, exchange):
        for _ in range(3):
            exchange.send(GET, 1)
        exchange.close()
        exchange.send(GET, 1)
    assert server.connections == 2


@pytest.mark.parametrize(
    "script",
    [
        always(b"ok", "Connection: close"),
        says(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", Talk.hang),
        says(b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nno", Talk.hang),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more than announced", Talk.hang),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" * 2, Talk.hang),
    ],
    ids=["close", "http-1.0", "body-after-204", "longer-than-it-said", "two-answers-at-once"],
)
def test_a_connection_is_not_kept_where_it_cannot_be_trusted(script: Script) -> None:
    with exchange_with(script, always(b"second")) as (_, exchange):
        assert exchange.send(GET, 1).body in (b"ok", b"")
        assert exchange.send(GET, 1).body == b"second"


def test_a_kept_connection_that_has_ended_is_replaced_without_a_word() -> None:
    closed = threading.Event()

    def closes(talk: Talk) -> None:
        talk.read()
        talk.answer(b"first")
        talk.sock.close()
        closed.set()

    with exchange_with(closes, always(b"second")) as (server, exchange):
        assert exchange.send(GET, 1).body == b"first"
        assert closed.wait(1)
        assert exchange.send(GET, 1).body == b"second"
    assert len(server.requests) == 2


def test_a_kept_connection_that_ends_upon_the_next_request_is_replaced_too() -> None:
    def hangs_up(talk: Talk) -> None:
        talk.read()
        talk.answer(b"first")
        talk.read()

    with exchange_with(hangs_up, always(b"second")) as (server, exchange):
        assert exchange.send(GET, 1).body == b"first"
        assert exchange.send(Request("POST", "/", [("Host", "here")], b"again"), 1).body == b"second"
    assert server.requests[2].endswith(b"again")


def test_a_kept_connection_that_breaks_within_the_answer_is_a_failure() -> None:
    def breaks(talk: Talk) -> None:
        talk.read()
        talk.answer(b"first")
        talk.read()
        talk.say(LONG)

    with exchange_with(breaks) as (server, exchange):
        exchange.send(GET, 1)
        with pytest.raises(ExchangeError, match="received 0 bytes, expected 1000"):
            exchange.send(GET, 1)
    assert server.connections == 1


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    go, gone = threading.Event(), threading.Event()

    def script(talk: Talk) -> None:
        talk.read()
        talk.answer(b"first")
        go.wait(1)
        talk.answer(b"unasked")
        gone.set()
        talk.hang()

    with exchange_with(script, always(b"second")) as (_, exchange):
        assert exchange.send(GET, 1).body == b"first"
        go.set()
        assert gone.wait(1)
        assert exchange.send(GET, 1).body == b"second"


def test_a_server_may_answer_before_it_is_asked() -> None:
    def script(talk: Talk) -> None:
        talk.answer(b"early")
        talk.hang()

    with exchange_with(script) as (_, exchange):
        assert exchange.send(GET, 1).body == b"early"


@pytest.mark.parametrize("then", [Talk.hang, lambda talk: None], ids=["hangs", "closes"])
def test_an_answer_is_heard_while_the_body_is_still_being_sent(then: Callable[[Talk], None]) -> None:
    def refuses(talk: Talk) -> None:
        talk.answer(b"too large", status="413 Content Too Large")
        then(talk)

    with exchange_with(refuses, always()) as (_, exchange):
        answer = exchange.send(Request("POST", "/", [("Host", "here")], bytes(16 << 20)), 1)
        assert (answer.status, answer.body) == (413, b"too large")
        assert exchange.send(GET, 1).body == b"ok"


def test_a_server_that_writes_head_and_body_apart_is_not_slow() -> None:
    def apart(talk: Talk) -> None:
        while True:
            talk.read()
            talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            talk.say(b"ok")

    with exchange_with(apart) as (_, exchange):
        started = time.monotonic()
        for _ in range(20):
            exchange.send(GET, 1)
        assert time.monotonic() - started < 20 * 0.04


def test_a_large_body_arrives_whole() -> None:
    body = bytes(range(256)) * (1 << 14)
    with exchange_with(always()) as (server, exchange):
        exchange.send(Request("POST", "/", [("Host", "here")], body), 5)
    assert server.requests[0].endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://127.0.0.1:1/", "//host/", "/again"])
def test_redirects_are_not_followed(location: str) -> None:
    with exchange_with(always(b"", f"Location: {location}", status="302 Found")) as (server, exchange):
        answer = exchange.send(GET, 1)
    assert (answer.status, dict(answer.headers)["location"], len(server.requests)) == (302, location, 1)


def test_bodies_are_not_decompressed_and_cookies_not_remembered() -> None:
    packed = gzip.compress(b"text")
    with exchange_with(always(packed, "Content-Encoding: gzip", "Set-Cookie: a=b")) as (server, exchange):
        assert exchange.send(GET, 1).body == packed
        exchange.send(GET, 1)
    assert server.requests[0] == server.requests[1]


@pytest.mark.parametrize(
    ("request_", "wire", "answer"),
    [
        (GET, b"HTTP/1.0 200 OK\r\n\r\nto the end", (200, b"to the end")),
        (GET, b"HTTP/1.1 200 OK\r\n\r\nto the end", (200, b"to the end")),
        (GET, b"HTTP/1.1 200\nContent-Length: 2\n\nok", (200, b"ok")),
        (GET, CHUNKED + b"3;x=y\r\nabc\r\n1 \r\nd\r\n0\r\nTrailer: t\r\n\r\n", (200, b"abcd")),
        (GET, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", (304, b"")),
        (GET, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 999 Odd\r\n\r\nx", (999, b"x")),
        (GET, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", (200, b"")),
        (Request("HEAD", "/", [("Host", "h")]), LONG, (200, b"")),
        (Request("CONNECT", "h:1", [("Host", "h")]), b"HTTP/1.1 200 OK\r\n\r\nraw", (200, b"")),
        (
            Request("GET", "/", [("Host", "h"), ("Upgrade", "x"), ("Connection", "upgrade")]),
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nraw",
            (101, b""),
        ),
    ],
)
def test_every_kind_of_framing_is_understood(request_: Request, wire: bytes, answer: tuple[int, bytes]) -> None:
    with exchange_with(says(wire)) as (_, exchange):
        got = exchange.send(request_, 1)
    assert (got.status, got.body) == answer


@pytest.mark.parametrize(
    ("script", "progress"),
    [
        (Talk.hang, "nothing"),
        (says(b"", Talk.hang), "nothing"),
        (says(b"HTTP/1.1 200 OK\r\nContent-", Talk.hang), "a part of its head"),
        (says(LONG, Talk.hang), "0 bytes of its body"),
        (says(LONG + b"12345", Talk.hang), "5 bytes of its body"),
        (says(CHUNKED + b"5\r\n12345\r\n7", Talk.hang), "5 bytes of its body"),
        (says(CHUNKED + b"5\r\n12345\r\n0\r\n", Talk.hang), "5 bytes of its body"),
        (says(b"HTTP/1.1 200 OK\r\nX: ", lambda talk: talk.drip(b"x")), "a part of its head"),
        (says(b"HTTP/1.1 200 OK\r\n", lambda talk: talk.drip(b"X: y\r\n")), "a part of its head"),
        (says(LONG, lambda talk: talk.drip(b"x")), "bytes of its body"),
        (says(CHUNKED, lambda talk: talk.drip(b"1\r\nx\r\n")), "bytes of its body"),
        (says(CHUNKED + b"1;", lambda talk: talk.drip(b"x")), "bytes of its body"),
        (says(CHUNKED + b"0\r\n", lambda talk: talk.drip(b"X: y\r\n")), "bytes of its body"),
        (says(b"HTTP/1.1 200 OK\r\n\r\n", lambda talk: talk.drip(b"x")), "bytes of its body"),
    ],
)
def test_a_server_that_hangs_or_drips_is_left_at_the_total_timeout(script: Script, progress: str) -> None:
    with exchange_with(script) as (_, exchange):
        started = time.monotonic()
        with pytest.raises(ExchangeTimeoutError, match=rf"within 0\.1 s: received .*{progress}"):
            exchange.send(GET, SHORT)
        assert SHORT <= time.monotonic() - started < 0.9


def test_a_flood_of_tiny_chunks_cannot_outlast_the_timeout() -> None:
    with exchange_with(says(CHUNKED, lambda talk: talk.flood(b"1\r\nx\r\n" * 10_000))) as (_, exchange):
        started = time.monotonic()
        with pytest.raises(ExchangeTimeoutError):
            exchange.send(GET, SHORT)
        assert time.monotonic() - started < 0.9


def test_a_server_that_never_accepts_or_reads_is_left_at_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with Exchange(lambda left: socket.create_connection(address, left)) as exchange:
            for body in (None, bytes(16 << 20)):
                with pytest.raises(ExchangeTimeoutError, match="received nothing"):
                    exchange.send(Request("POST", "/", [("Host", "h")], body), SHORT)


def test_connecting_counts_against_the_same_timeout() -> None:
    asked: list[float] = []

    def connect(left: float) -> socket.socket:
        asked.append(left)
        raise TimeoutError

    with pytest.raises(ExchangeTimeoutError, match=r"no connection within 0\.5 s"):
        Exchange(connect).send(GET, 0.5)
    with pytest.raises(ExchangeTimeoutError):
        Exchange(connect).send(GET, None)
    with pytest.raises(ExchangeTimeoutError):
        Exchange(connect).send(GET, 0)
    assert 0.4 < asked[0] <= 0.5
    assert asked[1:] == [3600.0]


def test_without_a_timeout_an_answer_is_waited_for() -> None:
    with exchange_with(always()) as (_, exchange):
        assert exchange.send(GET, None).body == b"ok"


def test_a_refused_connection_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with pytest.raises(ExchangeError, match=r"^cannot connect: connection refused$"):
        Exchange(lambda left: socket.create_connection(address, left)).send(GET, 1)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lambda talk: None, "without an answer|connection broke"),
        (says(b""), "without an answer"),
        (says(b"HTTP/1.1 200 OK\r\nConte"), "within the head"),
        (says(b"HTTP/1.1 100 Continue\r\n\r\n"), "within the head"),
        (says(LONG + b"12345"), "received 5 bytes, expected 1000"),
        (says(CHUNKED + b"5\r\n123"), "incomplete chunked read"),
        (says(CHUNKED + b"5\r\n12345\r\n"), "incomplete chunked read"),
        (says(CHUNKED + b"5\r\n123456789\r\n0\r\n\r\n"), "malformed chunk footer"),
        (says(CHUNKED + b"-5\r\n12345\r\n0\r\n\r\n"), "illegal chunk header"),
        (says(CHUNKED + b"zz\r\n"), "illegal chunk header"),
        (says(CHUNKED + b"f" * 30 + b"\r\n"), "illegal chunk header"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), "bad Content-Length"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n"), "bad Content-Length"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "conflicting Content-Length"),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), "Only Transfer-Encoding: chunked"),
        (says(b"HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n"), "illegal header line"),
        (says(b"HTTP/1.1 99 Low\r\n\r\n"), "illegal status line"),
        (says(b"HTTP/1.1 101 Unasked\r\n\r\n"), "not valid HTTP"),
        (says(b"hello, who is there?\r\n\r\n"), "illegal status line"),
        (says(b"\x16\x03\x01\x02\x00\x01\x00", Talk.hang), "illegal"),
        (says(b"<html>" + b"x" * 100_000 + b"</html>\r\n\r\n"), "illegal status line"),
        (says(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1001 + b"\r\n"), "more than 1000 headers"),
        (says(b"HTTP/1.1 200 OK\r\n", lambda talk: talk.flood(b"A: b\r\n" * 1000)), "larger than 262144 bytes"),
        (says(b"HTTP/1.1 200 OK\r\nA: ", lambda talk: talk.flood(b"b" * 9999)), "larger than 262144 bytes"),
        (says(CHUNKED + b"0\r\n", lambda talk: talk.flood(b"A: b\r\n" * 1000)), "larger than 262144 bytes"),
        (says(CHUNKED + b"1;", lambda talk: talk.flood(b"x" * 9999)), "larger than 262144 bytes"),
        (says(b"", lambda talk: talk.flood(b"HTTP/1.1 103 Hints\r\n\r\n")), "more than 20 interim answers"),
    ],
)
def test_an_answer_that_breaks_off_or_is_not_http_is_a_failure_with_a_reason(script: Script, reason: str) -> None:
    with exchange_with(script) as (_, exchange), pytest.raises(ExchangeError, match=reason) as failure:
        exchange.send(GET, 1)
    assert not isinstance(failure.value, ExchangeTimeoutError)
    assert len(str(failure.value).splitlines()) == 1
    assert len(str(failure.value)) < 300


@pytest.mark.parametrize(
    "script",
    [
        says(b"HTTP/1.1 200 OK\r\n\r\n", lambda talk: talk.flood(b"x" * 5000)),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", lambda talk: talk.flood(b"x" * 5000)),
        says(CHUNKED, lambda talk: talk.flood(b"1000\r\n" + b"x" * 4096 + b"\r\n")),
        says(CHUNKED + b"fffffffffffffff\r\n", lambda talk: talk.flood(b"x" * 5000)),
    ],
)
def test_a_body_beyond_the_limit_is_cut_there(script: Script) -> None:
    with exchange_with(script, always(), limits=Limits(body_bytes=1_000_000)) as (_, exchange):
        answer = exchange.send(GET, 2)
        assert (answer.status, answer.body, answer.cut) == (200, b"x" * 1_000_000, True)
        assert exchange.send(GET, 1).body == b"ok"


def test_a_body_of_just_the_limit_is_whole() -> None:
    with exchange_with(always(b"12345"), limits=Limits(body_bytes=5)) as (_, exchange):
        assert exchange.send(GET, 1) == Answer(200, [("content-length", "5")], b"12345", cut=False)


def test_a_server_that_dies_is_a_failure_and_another_in_its_place_is_found() -> None:
    with RawServer(always(b"old")) as old, Exchange(old.connect) as exchange:
        assert exchange.send(GET, 1).body == b"old"
        old.stop()
        with pytest.raises(ExchangeError, match="cannot connect"):
            exchange.send(GET, 1)
        with RawServer(always(b"new"), listener=socket.create_server(old.address)):
            assert exchange.send(GET, 1).body == b"new"


def test_two_servers_on_one_port_are_one_to_us() -> None:
    first = socket.create_server(("127.0.0.1", 0), reuse_port=True)
    second = socket.create_server(first.getsockname(), reuse_port=True)
    one, two = RawServer(always(b"same"), listener=first), RawServer(always(b"same"), listener=second)
    with one, two, Exchange(one.connect) as exchange:
        assert exchange.send(GET, 1).body == b"same"
        one.stop()
        assert exchange.send(GET, 1).body == b"same"


def test_a_server_that_is_dead_is_not_waited_for_even_if_its_connection_stays_open() -> None:
    with RawServer(Talk.hang) as server, Exchange(server.connect, still_alive=lambda: False) as exchange:
        started = time.monotonic()
        with pytest.raises(ExchangeError, match="ended before its answer was complete: received nothing"):
            exchange.send(GET, 5)
        assert time.monotonic() - started < 0.9


def over_a_pair(data: bytes) -> Connect:
    def connect(left: float) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(data)
            theirs.shutdown(socket.SHUT_WR)
            return ours

    return connect


def test_what_a_server_said_before_it_died_is_heard() -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nlast words"
    with Exchange(over_a_pair(said), still_alive=lambda: False) as exchange:
        assert exchange.send(GET, 1).body == b"last words"


@given(
    st.lists(
        st.sampled_from([b"HTTP/1.1 ", b"200 ", b"101 ", b"OK", b"\r\n", b"\n", b"Content-Length: ", b"5", b"0", b": "])
        | st.sampled_from(
            [b"Transfer-Encoding: chunked", b"Connection: close", b"HTTP/1.0 200 OK\r\n", b"100 \r\n\r\n"]
        )
        | st.binary(max_size=8),
        max_size=20,
    )
)
def test_no_bytes_whatever_give_anything_but_an_answer_or_a_reason(pieces: list[bytes]) -> None:
    with Exchange(over_a_pair(b"".join(pieces))) as exchange:
        try:
            answer = exchange.send(GET, 1)
        except ExchangeError as error:
            assert len(str(error).splitlines()) == 1
        else:
            assert 101 <= answer.status < 1000


def alive() -> bool:
    return True


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "404 Not Found", "500 Broken"])
def test_any_http_answer_means_ready(status: str) -> None:
    with RawServer(always(status=status)) as server:
        assert wait_until_ready(server.connect, "/health ö", 1, alive, host="there").state == "ready"
    assert server.requests[0].startswith(b"GET /health%20%C3%B6 HTTP/1.1\r\nHost: there\r\n")


@pytest.mark.parametrize("body", [LONG, CHUNKED, CHUNKED + b"broken", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_the_head_of_an_answer_is_enough(body: bytes) -> None:
    with RawServer(says(body, Talk.hang)) as server:
        assert wait_until_ready(server.connect, "/", 1, alive).state == "ready"


def test_readiness_is_noticed_within_milliseconds() -> None:
    asked: list[float] = []
    with RawServer(always()) as server:

        def connect(left: float) -> socket.socket:
            asked.append(time.monotonic())
            if len(asked) < 12:
                raise ConnectionRefusedError(111, "Connection refused")
            return server.connect(left)

        assert wait_until_ready(connect, "/", 5, alive).state == "ready"
    assert len(asked) == 12
    assert asked[3] - asked[0] < 0.1
    assert asked[-1] - asked[0] < 0.9


@pytest.mark.parametrize(
    ("script", "seen"),
    [
        (says(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "illegal status line"),
        (lambda talk: None, "without an answer|connection broke"),
        (says(b"HTTP/1.1 200 OK\r\n"), "within the head"),
        (Talk.hang, "received nothing"),
        (says(b"HTTP/1.1 200 OK\r\n", lambda talk: talk.drip(b"A: b\r\n")), "a part of its head"),
    ],
)
def test_what_is_not_http_does_not_mean_ready(script: Script, seen: str) -> None:
    with RawServer(script) as server:
        readiness = wait_until_ready(server.connect, "/up", 0.5, alive)
    assert readiness.state == "late"
    assert readiness.reason.startswith("it did not answer at http://localhost/up within 0.5 s: ")
    assert any(word in readiness.reason for word in seen.split("|"))


def test_a_last_probe_that_is_cut_short_does_not_hide_what_the_one_before_it_saw() -> None:
    talks: list[Talk] = []

    def answer(talk: Talk) -> None:
        talks.append(talk)
        if len(talks) == 1:
            says(b"HTTP/1.1 200 OK\r\n")(talk)
        else:
            talk.hang()

    with RawServer(answer) as server:
        readiness = wait_until_ready(server.connect, "/up", 0.2, alive)
    assert len(talks) > 1
    assert "within the head" in readiness.reason


SILENT = (
    r"it did not answer at http://localhost/ within 0\.5 s: it accepted the connection and did not answer within (.*) s"
)


def test_what_a_server_did_with_the_connection_is_told_and_not_that_there_was_none_before() -> None:
    """The probe that it leaves without an answer is cut short by the end of the time."""
    refusals = iter(range(3))

    def connect(left: float) -> socket.socket:
        if next(refusals, None) is not None:
            raise ConnectionRefusedError(111, "Connection refused")
        return server.connect(left)

    with RawServer(Talk.hang) as server:
        readiness = wait_until_ready(connect, "/", 0.5, alive)
    found = re.fullmatch(f"{SILENT}: received nothing", readiness.reason)
    assert found is not None
    assert float(found[1]) < 0.5


def test_the_longest_wait_for_an_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "_FIRST_PROBE_S", 0.3)
    with RawServer(Talk.hang) as server:
        readiness = wait_until_ready(server.connect, "/", 0.5, alive)
    found = re.fullmatch(f"{SILENT}: received nothing", readiness.reason)
    assert found is not None
    assert found[1] == "0.3", "and not the rest of the time, after that"


def test_a_first_connection_that_hangs_does_not_hide_that_the_server_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "_FIRST_PROBE_S", 0.05)
    with RawServer(Talk.hang, always()) as server:
        assert wait_until_ready(server.connect, "/", 1, alive).state == "ready"
    assert server.connections == 2


def test_a_slow_health_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "_FIRST_PROBE_S", 0.02)

    def slow(talk: Talk) -> None:
        talk.read()
        talk.server.over.wait(0.1)
        talk.answer()

    with RawServer(slow) as server:
        assert wait_until_ready(server.connect, "/", 1, alive).state == "ready"


def test_a_dead_server_is_not_waited_for() -> None:
    def connect(left: float) -> socket.socket:
        raise ConnectionRefusedError(111, "Connection refused")

    lives = iter([True, True, True])
    readiness = wait_until_ready(connect, "/", 60, lambda: next(lives, False))
    assert readiness.state == "dead"
    assert readiness.reason == "it ended before it answered: cannot connect: connection refused"
    assert wait_until_ready(connect, "/", 60, lambda: False).state == "dead"


def test_a_server_that_dies_within_a_probe_is_not_waited_for() -> None:
    lives = iter([True, True])
    with RawServer(Talk.hang) as server:
        started = time.monotonic()
        assert wait_until_ready(server.connect, "/", 60, lambda: next(lives, False)).state == "dead"
        assert time.monotonic() - started < 0.9


def test_an_answer_from_somebody_else_on_the_port_of_a_dead_server_does_not_count() -> None:
    lives = iter([True])
    with RawServer(always()) as somebody_else:
        readiness = wait_until_ready(somebody_else.connect, "/", 1, lambda: next(lives, False))
    assert (readiness.state, readiness.reason) == ("dead", "it ended, and something else answers")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("", "/"),
        ("items", "/items"),
        ("/a/b?c=d&e=f", "/a/b?c=d&e=f"),
        ("/ä b", "/%C3%A4%20b"),
        ("/a%20b%2F", "/a%20b%2F"),
        ("/100%", "/100%25"),
        ("/%zz#frag", "/%25zz%23frag"),
        ("/a\r\nHost: evil", "/a%0D%0AHost:%20evil"),
        ('/{a}[b]|\\^"<>`', "/%7Ba%7D%5Bb%5D%7C%5C%5E%22%3C%3E%60"),
        ("//host/../x", "//host/../x"),
        ("http://evil/", "/http://evil/"),
        ("/\ud800", "/%ED%A0%80"),
    ],
)
def test_only_what_is_illegal_in_a_target_is_encoded(path: str, target: str) -> None:
    assert legal_target(path) == target
    assert legal_target(target) == target
