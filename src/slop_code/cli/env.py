"""`slop-code env`: which environments there are, and what works on this machine."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from slop_code.cli.console import emit, note, table, wants_colour
from slop_code.cli.styling import Paint

if TYPE_CHECKING:
    from slop_code.execution.diagnosis import Check

app = typer.Typer(help="Show environments, and what works on this machine.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("ls")
def list_environments(as_json: AsJson = False) -> None:
    """List the environments that -e takes by name: those in configs/environments here, and the shipped ones.

    \b
    Examples:
      slop-code env ls
      slop-code env ls --json | jq -r '.[].name'
    """
    from slop_code.execution.environment import CONVENTIONAL_FOLDER, read_environment, shipped_environments
    from slop_code.findings import Findings

    shipped = shipped_environments()
    local = {file.stem: file for file in sorted(CONVENTIONAL_FOLDER.glob("*.yaml"))}
    rows: list[dict[str, str]] = []
    for name, file in sorted({**shipped, **local}.items()):
        findings = Findings()
        spec = read_environment(file, findings)
        for finding in findings.errors:
            note(f"error: {finding}")
        where = str(file) if name in local else "shipped"
        rows.append({"name": name, "type": spec.type if spec and not findings.errors else "broken", "where": where})
    if as_json:
        emit(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        emit(table(["environment", "type", "where"], [[row["name"], row["type"], row["where"]] for row in rows]))


@app.command("check")
def check_machine(as_json: AsJson = False) -> None:
    """Try what environments build on, and say how to get what does not work.

    Exits with 0 if the environment that is used by default works, else with 1.

    \b
    Examples:
      slop-code env check
      slop-code env check --json | jq '.checks[] | select(.ok | not)'
    """
    from slop_code.execution.diagnosis import diagnose

    found = diagnose()
    if as_json:
        emit(json.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        paint = Paint(wants_colour(sys.stdout))
        width = max(len(check.name) for check in found.checks)
        emit("\n".join(line for check in found.checks for line in _lines(check, width, paint)))
    if not found.default_works:
        note(f"the default environment, {found.default}, does not work here")
        raise typer.Exit(1)


def _lines(check: Check, width: int, paint: Paint) -> list[str]:
    mark = paint("ok ", "green") if check.ok else paint("not", "red")
    lines = [f"{mark}  {check.name.ljust(width)}  {check.detail}"]
    if not check.ok and check.remedy:
        lines.append(f"{' ' * (width + 7)}→ {check.remedy}")
    return lines
