"""API cases: one server for the group, a request for each case."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterable, Mapping

from slop_code.evaluation.adapters.api import APIAdapterConfig, APICase, APIResult
from slop_code.evaluation.adapters.api_request import resource_url, run_request
from slop_code.evaluation.adapters.http_exchange import Exchange, wait_until_ready
from slop_code.evaluation.adapters.models import CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.adapters.running import Adapter, SpoiledWorkspaceError
from slop_code.execution.assets import Assets
from slop_code.execution.commands import Outcome
from slop_code.execution.errors import ExecutionError
from slop_code.execution.session import Session

_TAIL = 4000
_LAST_GASP_S = 0.5
_SERVER_ERROR = 500


class APIAdapter(Adapter):
    """Starts the server with the first case, starts it again for the case after the one that found it dead.

    A server that ends is quickly seen to, and may do better with the next case. One that goes on without answering
    costs all the time that it has for that, so it is waited for once: the cases after that one fail at once, until a
    case resets what others did to the workspace.
    """

    def __init__(
        self,
        session: Session,
        assets: Assets,
        tracked_files: Iterable[str],
        env: Mapping[str, str],
        command: str,
        config: APIAdapterConfig,
        entry: str | None = None,
    ) -> None:
        super().__init__(session, assets, tracked_files, env, command, entry)
        self._config = config
        self._port = config.port or session.free_port()
        self._line = self._server_line(command)
        self._exchange: Exchange | None = None
        self._given_up = ""
        """Why the server is not started any more, if so."""
        self._had_cases = False
        """Whether a server has answered in the workspace as it is."""

    @property
    def base_url(self) -> str:
        host = f"[{self._config.address}]" if ":" in self._config.address else self._config.address
        return f"http://{host}:{self._port}"

    def run(self, case: APICase, expected: CaseResult) -> Observation:
        filled = self.filled_in(case)
        try:
            self.write_inputs(filled)
        except SpoiledWorkspaceError as error:
            return self._unanswered(filled, f"an earlier case spoiled this one: {error}")
        exchange = self._exchange or self._given_up or self._start(filled.id)
        if isinstance(exchange, str):
            return self._unanswered(filled, exchange)
        self._had_cases = True
        started = time.monotonic()
        outcome = run_request(
            filled,
            exchange,
            self.base_url,
            response_is_json=self._config.response_is_json,
            timeout=self.session.at_most(filled.timeout_s),
        )
        run_s = time.monotonic() - started
        result, warnings, met_limit = outcome.result, list(outcome.warnings), False
        if result.status_code == -1 and not result.adapter_error:
            ended = self._ended_soon(0.0 if result.timed_out else _LAST_GASP_S)
            if ended is not None:
                self._forget()
                met_limit = bool(ended.note)
                text = f"{result.stderr}\n{_how_it_ended(ended)}"
                result = result.model_copy(update={"stderr": text})
        if result.status_code >= _SERVER_ERROR:
            warnings += self._last_words()
        tracked, notes = self.collect(filled, expected)
        result = result.model_copy(update={"files": {**tracked, **result.files}})
        return Observation(
            result,
            run_s=run_s,
            cut=outcome.cut or bool(notes),
            warnings=(*warnings, *notes),
            attempts=1 + result.retries,
            met_limit=met_limit,
        )

    def reset(self) -> None:
        super().reset()
        # From a workspace that nobody had used, it would start no better.
        if self._had_cases:
            self._given_up = ""
        self._had_cases = False

    def close(self) -> None:
        if self._exchange is not None:
            self._forget()
            # One whose helper is gone is gone already.
            with contextlib.suppress(ExecutionError):
                self.session.stop()

    def _server_line(self, command: str) -> str:
        values = {"address": self._config.address, "port": str(self._port)}
        parts = [command]
        for name, value in values.items():
            if f"{{{name}}}" in command:
                parts[0] = parts[0].replace(f"{{{name}}}", value)
            else:
                parts.append(f"--{name} {value}")
        parts += [self.assets.fill_in(argument, self.session.layout.assets) for argument in self._config.arguments]
        return " ".join(parts)

    def _start(self, case_id: str) -> Exchange | str:
        """Start the server and wait until it answers; or what went wrong, in words."""
        self.session.start(self._line, env=self.env)
        ready = wait_until_ready(
            self._connect,
            self._config.health_path,
            self._config.startup_budget_s,
            lambda: self.session.ended() is None,
            host=self.base_url.removeprefix("http://"),
        )
        if ready.state == "ready":
            self._exchange = Exchange(self._connect)
            return self._exchange
        outcome = self.session.stop()
        trouble = f"the server did not become ready: {ready.reason}"
        if ready.state == "late":
            self._given_up = f'{trouble}; that was for case "{case_id}", and it was not started again for this one'
            return f"{trouble}\nit was stopped then{_last_words_of(outcome)}"
        return f"{trouble}\n{_how_it_ended(outcome)}"

    def _connect(self, timeout: float) -> socket.socket:
        return self.session.connect(self._config.address, self._port, timeout)

    def _ended_soon(self, patience_s: float) -> Outcome | None:
        """How the server ended, if it did; a connection breaks a moment before its process is gone."""
        deadline = time.monotonic() + patience_s
        while (outcome := self.session.ended()) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return outcome

    def _last_words(self) -> list[str]:
        try:
            tail = self.session.last_words()[-_TAIL:].decode("utf-8", "replace").strip()
        except ExecutionError:
            return []
        return [f"the server's last words on stderr:\n{tail}"] if tail else []

    def _forget(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    def _unanswered(self, case: APICase, trouble: str) -> Observation:
        result = APIResult(
            id=case.id,
            group=case.group,
            group_type=case.group_type,
            method=case.method,
            resource_path=resource_url(case, self.base_url),
            status_code=-1,
            stderr=trouble,
        )
        return Observation(result, fault=self.fault() or trouble.partition("\n")[0])


def _how_it_ended(outcome: Outcome) -> str:
    signalled = f"killed by signal {-outcome.status}" if outcome.status < -1 else "nobody saw how"
    how = signalled if outcome.status < 0 else f"exit code {outcome.status}"
    reason = f": {outcome.note}" if outcome.note else ""
    return f"the server has ended ({how}{reason}){_last_words_of(outcome)}"


def _last_words_of(outcome: Outcome) -> str:
    tail = (
        outcome.stderr[-_TAIL:].decode("utf-8", "replace").strip()
        or outcome.stdout[-_TAIL:].decode("utf-8", "replace").strip()
    )
    return f"; its last words:\n{tail}" if tail else " without a word"
