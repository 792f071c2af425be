"""Judges what a run printed and wrote. Reports are compared by what they hold, not by how it is written."""

import csv
import io
import json
from itertools import zip_longest
from pathlib import PurePosixPath

from slop_code.evaluation.verifiers import (
    VerificationResult,
    VerifierError,
    deepdiff_verify,
    matches_status_code,
    parse_json,
    parse_markdown_table,
    parse_yaml,
    text_diff,
)

WEIGHTS = {"status_code": 0.5, "output": 1.0, "stderr": 1.0, "error_place": 2.0, "files": 3.0}


class Verifier:
    def __init__(self, checkpoint_config):
        self.checkpoint_config = checkpoint_config

    def __call__(self, group_name, case_name, actual, expected):
        results = {
            "status_code": matches_status_code(actual.status_code, expected.status_code, WEIGHTS["status_code"]),
            "output": same_text(expected.output, actual.output, WEIGHTS["output"]),
        }
        if expected.stderr is not None:
            results["stderr"] = same_text(expected.stderr, actual.stderr, WEIGHTS["stderr"])
        if hasattr(expected, "error_place"):
            results["error_place"] = names_place(expected.error_place, actual.stderr or "")
        for name in sorted({*expected.files, *actual.files}):
            results[f"files-{name}"] = same_report(name, expected.files.get(name), actual.files.get(name))
        return results


def same_text(expected, actual, weight):
    return VerificationResult.create(text_diff(expected, actual or ""), expected == (actual or ""), weight)


def names_place(place, stderr):
    """Whoever finds the wrong line deserves most of the points, however the reason is worded."""
    is_correct = stderr.startswith(f"error: {place}: ")
    diff = f"✓ Names {place}" if is_correct else f'should begin with "error: {place}: ", and is {stderr[:200]!r}'
    return VerificationResult.create(diff, is_correct, WEIGHTS["error_place"])


def same_report(name, expected, actual):
    if actual is None:
        return failed("the report was not written")
    if expected is None:
        return failed("nothing should have been written here")
    if isinstance(actual, bytes):
        return failed("the report is not UTF-8")
    read = {".csv": csv_rows, ".md": parse_markdown_table, ".jsonl": json_lines, ".yaml": parse_yaml}
    try:
        found = read.get(PurePosixPath(name).suffix, parse_json)(actual)
    except (VerifierError, ValueError, RecursionError, csv.Error) as error:
        return failed(f"the report cannot be read: {error}")
    wanted = read.get(PurePosixPath(name).suffix, parse_json)(expected)
    if not isinstance(wanted, list):
        return deepdiff_verify(found, wanted, WEIGHTS["files"])
    lines = list(different_rows(wanted, found))
    return failed("\n".join(lines)) if lines else VerificationResult.create("✓ Match", True, WEIGHTS["files"])


def failed(text):
    return VerificationResult.create(text, False, WEIGHTS["files"])


def csv_rows(text):
    """The header as a row of its own, so that a report without rows must have the right one, too."""
    reader = csv.DictReader(io.StringIO(text))
    rows = list(reader)
    return [{"header": ",".join(reader.fieldnames or [])}, *rows]


def json_lines(text):
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def different_rows(expected, actual):
    """One line of text for each row that differs, or one for all of them if only their order does."""
    if expected != actual and sorted(map(str, expected)) == sorted(map(str, actual)):
        yield f"the right rows in the wrong order: expected {first_cells(expected)}, got {first_cells(actual)}"
        return
    for number, (wanted, found) in enumerate(zip_longest(expected, actual), start=1):
        if found is None or wanted is None:
            yield f"line {number}: {'missing' if found is None else 'unexpected'} {wanted or found}"
        elif not isinstance(found, dict):
            yield f"line {number}: expected {wanted}, got {found!r}"
        else:
            for key in {**wanted, **found}:
                if wanted.get(key) != found.get(key):
                    yield f"line {number}, {key}: expected {wanted.get(key)!r}, got {found.get(key)!r}"


def first_cells(rows):
    return ", ".join(str(next(iter(row.values()), "")) for row in rows if "header" not in row)
