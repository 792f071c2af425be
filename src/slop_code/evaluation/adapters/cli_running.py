"""Command-line cases: one shell line each, in the session's workspace."""

from __future__ import annotations

import re
from typing import Any

from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.adapters.models import CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.adapters.running import Adapter, SpoiledWorkspaceError

_NOT_FOUND = 127
"""What a shell ends with when there is no such command."""


class CLIAdapter(Adapter):
    """The environment's command and entry file, then the case's arguments as they are, joined by single spaces."""

    def run(self, case: CLICase, expected: CaseResult) -> Observation:
        filled = self.filled_in(case)
        line = " ".join([self.command, *filled.arguments])
        try:
            self.write_inputs(filled)
        except SpoiledWorkspaceError as error:
            spoiled = f"an earlier case spoiled this one: {error}"
            return Observation(_result(case, line, status_code=-1, stderr=spoiled), fault=spoiled)
        stdin = (filled.stdin or "").encode("utf-8", "surrogatepass")
        fault = self.fault()
        outcome = self.session.run(line, stdin=stdin, timeout=filled.timeout_s, env=self.env)
        files, notes = self.collect(filled, expected)
        stderr = outcome.stderr.decode("utf-8", "replace")
        result = _result(
            case,
            line,
            elapsed=outcome.wall_s,
            status_code=outcome.status,
            output=outcome.stdout.decode("utf-8", "replace"),
            stderr=stderr,
            timed_out=outcome.timed_out,
            files=files,
        )
        streams = [f"{name} was cut: only the first part of it was kept" for name in outcome.cut]
        ended = [f"the program was ended: {outcome.note}"] if outcome.note else []
        return Observation(
            result,
            run_s=outcome.wall_s,
            cpu_s=outcome.cpu_s,
            peak_memory=outcome.peak_memory,
            cut=bool(outcome.cut or notes),
            warnings=(*streams, *ended, *notes),
            fault=fault or (self._not_found(stderr) if outcome.status == _NOT_FOUND else ""),
            met_limit=bool(outcome.note),
        )

    def _not_found(self, stderr: str) -> str:
        """What is said if the shell did not find the environment's own command; nothing if it was another one."""
        name = re.escape(self.command.partition(" ")[0])
        said = re.search(rf"(?:^|: )({name}: (?:command )?not found)$", stderr, re.MULTILINE)
        return said[1] if said else ""

    def close(self) -> None:
        """There is nothing that outlives a case."""


def _result(case: CLICase, line: str, **fields: Any) -> CLIResult:
    return CLIResult(id=case.id, group=case.group, group_type=case.group_type, command=line, **fields)
