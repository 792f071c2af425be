"""One conversation on one socket: a request goes out, an answer comes back, against one deadline.

h11 is used directly, below httpx and httpcore: the bytes of the request are exactly those that the caller wrote,
every wait is a poll of ours that counts against the same deadline, and an answer is heard while a body is still
being sent. Nothing comes from the environment, nothing is followed, decoded or remembered.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import h11

from slop_code.errors import SlopCodeError

_METHODS_WITH_A_BODY = {"POST", "PUT", "PATCH"}
_ALIVE_CHECK_S = 0.02
_LAST_WORDS_S = 0.1
_LONGEST_WAIT_S = 60.0
_READ_SIZE = 1 << 16


class ExchangeError(SlopCodeError):
    """No connection, a connection that broke, or an answer that is not HTTP; the text says which on one line."""


class ExchangeTimeoutError(ExchangeError):
    """The answer was not complete in time; the text says how far it got."""


class UnansweredError(ExchangeError):
    """The connection ended before a single byte of an answer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an answer may take of our memory. A longer body is cut; anything else beyond is an `ExchangeError`."""

    body_bytes: int = 50 << 20
    head_bytes: int = 256 << 10
    headers: int = 1000
    interim_answers: int = 20


@dataclass(frozen=True, slots=True)
class Request:
    """`headers` need a Host and may hold Latin-1; a Content-Length among them is replaced by the true one."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Header names are in lower case, in the order of the wire. The body is what was sent, or its start if `cut`."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    cut: bool = False


class Deadline:
    """A number of seconds from now on; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = math.inf if seconds is None else seconds
        self._end = time.monotonic() + self.seconds

    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())


class Connection:
    """A connected socket, which it owns, and where the conversation on it stands.

    `ask` (or `ask_for_head`, and then no more), then `reusable`; if that is True it can be asked again. After an
    exception it can only be closed. Raises `ExchangeError`, and ValueError for a request that is not legal HTTP.
    """

    def __init__(self, sock: socket.socket, limits: Limits, still_alive: Callable[[], bool] | None) -> None:
        self._sock = sock
        self._limits = limits
        self._still_alive = still_alive
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=limits.head_bytes)
        self._outgoing = memoryview(b"")
        self._received = 0
        self._body: bytearray | None = None
        self._used = False
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._tcp = sock.family in (socket.AF_INET, socket.AF_INET6)
        sock.setblocking(False)
        self._hurry(socket.TCP_NODELAY)

    def close(self) -> None:
        self._sock.close()

    def reusable(self) -> bool:
        """Make ready for another request, if both sides are done and willing."""
        done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if not done or self._outgoing or self._http.trailing_data != (b"", False):
            return False
        self._http.start_next_cycle()
        return True

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        head = self.ask_for_head(request, deadline)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
        body = self._body = bytearray()
        while isinstance(event := self._next(deadline), h11.Data):
            body += event.data
            if len(body) > self._limits.body_bytes:
                return Answer(head.status_code, headers, bytes(body[: self._limits.body_bytes]), cut=True)
        return Answer(head.status_code, headers, bytes(body))

    def ask_for_head(self, request: Request, deadline: Deadline) -> h11.Response | h11.InformationalResponse:
        # Since the last answer nothing may have come: neither the end of the connection nor an answer unasked.
        if self._used and self._poll.poll(0):
            raise UnansweredError("the kept connection has ended")
        self._outgoing = memoryview(_wire(self._http, request))
        self._received, self._body, self._used = 0, None, True
        for _ in range(self._limits.interim_answers + 1):
            head = self._next(deadline)
            if isinstance(head, h11.InformationalResponse) and head.status_code != 101:
                continue
            if isinstance(head, (h11.Response, h11.InformationalResponse)):
                if len(head.headers) > self._limits.headers:
                    raise ExchangeError(f"the answer has more than {self._limits.headers} headers")
                return head
        raise ExchangeError(f"more than {self._limits.interim_answers} interim answers came instead of an answer")

    def progress(self) -> str:
        """How much of the answer has come, as a fragment."""
        if self._body is not None:
            return f"received {len(self._body)} bytes of its body"
        return "received a part of its head" if self._received else "received nothing"

    def _next(self, deadline: Deadline) -> object:
        while True:
            if deadline.left() <= 0:
                raise ExchangeTimeoutError(f"no complete answer within {deadline.seconds:g} s: {self.progress()}")
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise ExchangeError(self._complaint(error)) from error
            if event is not h11.NEED_DATA:
                return event
            self._send()
            if self._wait(deadline):
                self._receive()

    def _complaint(self, error: h11.RemoteProtocolError) -> str:
        if error.error_status_hint == 431:
            return f"the head of the answer, or of a chunk of it, is larger than {self._limits.head_bytes} bytes"
        return f"the answer is not valid HTTP: {one_line(str(error))}"

    def _wait(self, deadline: Deadline) -> bool:
        """Whether something can be read; returns when that is so, or when there may be something else to do."""
        self._poll.modify(self._sock, select.POLLIN | (select.POLLOUT if self._outgoing else 0))
        longest = _LONGEST_WAIT_S if self._still_alive is None else _ALIVE_CHECK_S
        found = self._poll.poll(math.ceil(min(deadline.left(), longest) * 1000))
        if not found and self._still_alive is not None and not self._still_alive():
            # What it sent before it ended may still be on its way.
            found = self._poll.poll(math.ceil(_LAST_WORDS_S * 1000))
            if not found:
                raise ExchangeError(f"the server ended before its answer was complete: {self.progress()}")
        return any(events & ~select.POLLOUT for _, events in found)

    def _send(self) -> None:
        while self._outgoing:
            try:
                self._outgoing = self._outgoing[self._sock.send(self._outgoing) :]
            except BlockingIOError:
                return
            except OSError:
                # The server hung up on the request; it may have answered before it did.
                self._outgoing = memoryview(b"")
                self._http.send_failed()

    def _receive(self) -> None:
        try:
            data = self._sock.recv(_READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            kind = ExchangeError if self._received else UnansweredError
            raise kind(f"the connection broke: {reason(error)}; {self.progress()}") from error
        if not data and not self._received:
            raise UnansweredError("the server closed the connection without an answer")
        if not data and self._body is None:
            raise ExchangeError("the server closed the connection within the head of its answer")
        # Most servers write head and body apart; theirs waits with the body until ours acknowledges the head, which
        # by itself it does after 40 ms. The option holds only for a while.
        self._hurry(socket.TCP_QUICKACK)
        self._received += len(data)
        self._http.receive_data(data)

    def _hurry(self, option: int) -> None:
        if self._tcp:
            with contextlib.suppress(OSError):
                self._sock.setsockopt(socket.IPPROTO_TCP, option, 1)


def reason(error: OSError) -> str:
    """What the system says about `error`, as a fragment for one line."""
    return one_line((error.strerror or str(error) or type(error).__name__).lower())


def one_line(text: str) -> str:
    """`text` without line breaks and, if it is long, without its end."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200] + "…"


def _wire(http: h11.Connection, request: Request) -> bytes:
    """The bytes of `request`, framed by its true length unless it says `Transfer-Encoding: chunked`."""
    headers = [(name, value) for name, value in request.headers if name.lower() != "content-length"]
    chunked = any(name.lower() == "transfer-encoding" for name, _ in headers)
    if not chunked and (request.body is not None or request.method in _METHODS_WITH_A_BODY):
        headers.append(("Content-Length", str(len(request.body or b""))))
    try:
        encoded = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
        pieces = [http.send(h11.Request(method=request.method, target=request.target, headers=encoded))]
        if request.body:
            pieces.append(http.send(h11.Data(data=request.body)))
        return b"".join([*pieces, http.send(h11.EndOfMessage())])
    except h11.LocalProtocolError as error:
        raise ValueError(f"the request is not legal HTTP: {one_line(str(error))}") from error
