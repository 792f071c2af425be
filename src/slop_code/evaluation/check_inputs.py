"""Input files of a case: where they go, whether they can be written, and whether they give the answer away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.check_arguments import uses_operators
from slop_code.evaluation.check_places import Spot
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.models import VerifierProtocol
from slop_code.evaluation.verifiers.ready import ReadyVerifier
from slop_code.execution.file_ops import InputFile, InputFileError, check_relative
from slop_code.findings import Findings, listed


def check_inputs(case: BaseCase, spot: Spot, findings: Findings) -> dict[str, bytes]:
    """Report bad paths and contents; returns the bytes of each file that can be written, by its path."""
    written: dict[str, bytes] = {}
    for index, file in enumerate(case.input_files):
        place = _key(spot, index, file)
        try:
            path = str(check_relative(file.path))
            content = file.to_bytes()
        except InputFileError as error:
            spot.report("error", str(error), findings, *place)
            continue
        if ".." in file.path.parts:
            spot.report("warning", f'input file {file.path} goes through "..": write it as {path}', findings, *place)
        if path in written:
            message = f"input file {path} is given twice; the second replaces the first"
            spot.report("warning", message, findings, *place)
        clash = next((other for other in written if _is_below(path, other) or _is_below(other, path)), None)
        if clash is not None:
            folder, below = sorted((path, clash), key=len)
            message = f"input file {below} cannot be written: {folder} is an input file as well, so it is no folder"
            spot.report("error", message, findings, *place)
        written[path] = content
    return written


def check_given_away(
    case: BaseCase,
    expected: CaseResult,
    inputs: Mapping[str, bytes],
    verifier: VerifierProtocol,
    spot: Spot,
    findings: Findings,
) -> None:
    """Warn of a case that a program passes by doing nothing, since the files it should leave are there already.

    That a file stays as it is may well be expected, beside something that only a working program does. How a
    verifier of the author's judges cannot be known: for that one, the contents have to be the same.
    """
    if not isinstance(case, CLICase) or uses_operators(case.arguments):
        return
    wanted = {name.removeprefix("./"): content for name, content in expected.files_by_name().items()}
    given = [name for name in wanted if name in inputs]
    if not given or len(given) < len(wanted):
        return
    idle = CLIResult(status_code=0, output="", stderr="", files={name: _as_collected(inputs[name]) for name in given})
    if isinstance(verifier, ReadyVerifier):
        try:
            verdicts = verifier(case.group, case.id, idle, expected)
        except VerifierError:
            return
        passes = all(verdict.is_correct for verdict in verdicts.values())
    else:
        passes = (
            expected.status_code == 0
            and expected.output in (None, "")
            and all(_is_same(wanted[name], case, name, inputs[name]) for name in given)
        )
    if passes:
        plural = "s" if len(given) > 1 else ""
        message = f"the expected file{plural} {listed(given)} would be there if the submission did nothing: "
        message += f"{'they are' if plural else 'it is'} among the input files, with that content"
        spot.report("warning", message, findings, "expected", "files")


def _key(spot: Spot, index: int, file: InputFile) -> tuple[str | int, ...]:
    data: Any = spot.document.data if spot.document is not None else None
    for part in spot.at:
        data = data[part]
    listed_files = isinstance(data, Mapping) and isinstance(data.get("input_files"), list)
    return ("input_files", index if listed_files else str(file.path))


def _is_below(path: str, other: str) -> bool:
    return path.startswith(f"{other}/")


def _as_collected(content: bytes) -> str | bytes:
    try:
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return content


def _is_same(wanted: Any, case: BaseCase, name: str, content: bytes) -> bool:
    if wanted is None:
        return False
    if isinstance(wanted, (str, bytes)):
        return wanted in (content, _as_collected(content))
    return any(str(file.path) == name and file.content == wanted for file in case.input_files)
