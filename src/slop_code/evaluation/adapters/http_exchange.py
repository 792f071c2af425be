"""Requests to a submission's server and its answers, over sockets that somebody else connects.

The server may live in another network namespace, so a `Connect` is all that is known of it.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from slop_code.evaluation.adapters.http_connection import (
    Answer,
    Connection,
    Deadline,
    ExchangeError,
    ExchangeTimeoutError,
    Limits,
    Request,
    UnansweredError,
    reason,
)

__all__ = [
    "Answer",
    "Connect",
    "Exchange",
    "ExchangeError",
    "ExchangeTimeoutError",
    "Limits",
    "Readiness",
    "Request",
    "legal_target",
    "wait_until_ready",
]

Connect = Callable[[float], socket.socket]
"""Takes the seconds that are left; returns a connected stream socket, or raises OSError."""

_CONNECT_AT_MOST_S = 3600.0
_FIRST_PROBE_S = 1.0
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.003, 0.025
# What RFC 3986 does not allow in a path or a query, a percent sign that begins no escape included.
_ILLEGAL = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^-._~!$&'()*+,;=:@/?%0-9A-Za-z]")


class Exchange:
    """Requests to one server, one after the other; the connection is kept between them where the server allows.

    With `still_alive`, an answer is no longer waited for once that says False. Use as a context manager, or `close()`.
    """

    def __init__(
        self, connect: Connect, *, limits: Limits | None = None, still_alive: Callable[[], bool] | None = None
    ) -> None:
        self.limits = limits or Limits()
        self._connect = connect
        self._still_alive = still_alive
        self._kept: Connection | None = None

    def send(self, request: Request, timeout: float | None) -> Answer:
        """The answer to `request`, complete within `timeout` seconds in all; None is no limit.

        A kept connection that ends before a byte of the answer arrived is replaced by a new one, and the request is
        sent again, whatever its method: most servers that close after an answer do not announce it.

        Raises:
            ExchangeTimeoutError: the answer was not complete in time.
            ExchangeError: there was no answer, or none that is HTTP.
            ValueError: the request itself is not legal HTTP.
        """
        deadline = Deadline(timeout)
        kept, self._kept = self._kept, None
        if kept is not None:
            with contextlib.suppress(UnansweredError):
                return self._converse(kept, request, deadline)
        return self._converse(_open(self._connect, deadline, self.limits, self._still_alive), request, deadline)

    def close(self) -> None:
        """Close the kept connection, if there is one. The next request opens a new one."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _converse(self, connection: Connection, request: Request, deadline: Deadline) -> Answer:
        try:
            answer = connection.ask(request, deadline)
        except BaseException:
            connection.close()
            raise
        if connection.reusable():
            self._kept = connection
        else:
            connection.close()
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Readiness:
    """`reason` says what was last seen of a server that is not ready."""

    state: Literal["ready", "dead", "late"]
    reason: str = ""


def wait_until_ready(
    connect: Connect, health_path: str, budget_s: float, still_alive: Callable[[], bool], *, host: str = "localhost"
) -> Readiness:
    """Ask for `health_path` every few milliseconds until something answers in HTTP, whatever its status.

    The head of an answer is enough. An answer that comes when `still_alive` says False is somebody else's: "dead".
    """
    deadline = Deadline(budget_s)
    probe = Request("GET", legal_target(health_path), [("Host", host), ("Accept", "*/*"), ("Connection", "close")])
    pause, patience = _FIRST_PAUSE_S, _FIRST_PROBE_S
    seen, waited, answered = "", 0.0, False
    while still_alive():
        given = min(patience, deadline.left())
        try:
            _ask_for_head(connect, probe, Deadline(given), still_alive)
        except ExchangeTimeoutError as error:
            # A last probe that the budget cut short tells less than a longer one of its kind, or one that had an
            # answer; and one that found nobody to connect to less than one that found somebody.
            whole = given == patience
            if isinstance(error, _SilentError) and given >= waited and (whole or not answered):
                seen, waited, answered = str(error), given, False
            elif not waited and not answered and (whole or not seen):
                seen = str(error)
            # A slow answer needs a longer wait, a connection that hangs needs a new one: give both their turn.
            patience *= 2
        except ExchangeError as error:
            seen, waited, answered = str(error), 0.0, not isinstance(error, _NobodyError)
        else:
            return Readiness("ready") if still_alive() else Readiness("dead", "it ended, and something else answers")
        if deadline.left() <= 0:
            return Readiness("late", f"it did not answer at http://{host}{probe.target} within {budget_s:g} s: {seen}")
        time.sleep(min(pause, deadline.left()))
        pause = min(pause * 1.5, _LAST_PAUSE_S)
    return Readiness("dead", f"it ended before it answered: {seen or 'it was not even asked'}")


def legal_target(path: str) -> str:
    """`path` as a request target: it begins with "/", and only what is illegal in a target is percent-encoded."""
    wire = path.encode("utf-8", "surrogatepass")
    target = _ILLEGAL.sub(lambda found: b"%%%02X" % found[0][0], wire).decode("ascii")
    return target if target.startswith("/") else "/" + target


class _NobodyError(ExchangeError):
    """Nobody listens there."""


class _SilentError(ExchangeTimeoutError):
    """Somebody accepted the connection and did not answer in time."""


def _ask_for_head(
    connect: Connect, request: Request, deadline: Deadline, still_alive: Callable[[], bool] | None
) -> None:
    connection = _open(connect, deadline, Limits(), still_alive)
    try:
        connection.ask_for_head(request, deadline)
    except ExchangeTimeoutError as error:
        late = f"it accepted the connection and did not answer within {deadline.seconds:.2g} s"
        raise _SilentError(f"{late}: {connection.progress()}") from error
    finally:
        connection.close()


def _open(connect: Connect, deadline: Deadline, limits: Limits, still_alive: Callable[[], bool] | None) -> Connection:
    late = f"no connection within {deadline.seconds:g} s"
    if deadline.left() <= 0:
        raise ExchangeTimeoutError(late)
    try:
        sock = connect(min(deadline.left(), _CONNECT_AT_MOST_S))
    except TimeoutError as error:
        raise ExchangeTimeoutError(late) from error
    except OSError as error:
        raise _NobodyError(f"cannot connect: {reason(error)}") from error
    return Connection(sock, limits, still_alive)
