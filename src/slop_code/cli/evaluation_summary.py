"""What people see after evaluating snapshots: what could not be judged, how it went, and what was skipped and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slop_code.cli.console import note
from slop_code.cli.matrix import matrix
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.report import PassPolicy
    from slop_code.runs.evaluate import Outcome

_MOST_ERRORS = 5
_MOST_NAMES = 3


def show_one(outcome: Outcome, *, prepare_s: float, reused: int) -> None:
    """The groups and failures of one snapshot, what did not have to run, and where its results are."""
    from slop_code.cli.summary import print_summary
    from slop_code.evaluation.report import CorrectnessResults, iter_reports

    if outcome.summary is None or not outcome.summary.total_cases:
        return
    folder = outcome.target.snapshot.results
    results = CorrectnessResults.from_dir(folder, with_reports=False)
    # That a part was asked for is no interruption.
    results.complete = outcome.status == "evaluated"
    print_summary(results, reports=iter_reports(folder), prepare_s=prepare_s)
    _note_reuse(reused)
    note(f"results: {shown_path(folder)}")


def show_many(outcomes: Sequence[Outcome], policy: PassPolicy, *, reused: int) -> None:
    """A matrix of all checkpoints, how many passed, and how many were skipped or did not have to run."""
    note(matrix(outcomes, policy))
    note("")
    note(_passed_line(outcomes, policy))
    for line in _effort_lines(outcomes):
        note(line)
    _note_reuse(reused)


def show_errors(outcomes: Sequence[Outcome]) -> None:
    """Whatever could not be judged. What is wrong with many of them is said once."""
    names = _names(outcomes)
    failures: dict[str, list[str]] = {}
    for outcome, name in zip(outcomes, names, strict=True):
        if outcome.status in ("refused", "unjudged"):
            failures.setdefault(outcome.text, []).append(name)
    for text, failed in failures.items():
        note(f"error: {_listed(failed)}: not evaluated: {text}")
    for outcome, name in zip(outcomes, names, strict=True):
        errors = outcome.summary.errors if outcome.summary else []
        for error in errors[:_MOST_ERRORS]:
            note(f"error: {name}: {error}")
        if len(errors) > _MOST_ERRORS:
            place = shown_path(outcome.target.snapshot.results / "evaluation.json")
            note(f"error: {name}: and {len(errors) - _MOST_ERRORS} more, in {place}")


def _passed_line(outcomes: Sequence[Outcome], policy: PassPolicy) -> str:
    summaries = [outcome.summary for outcome in outcomes if outcome.summary is not None]
    ended = [outcome.summary for outcome in outcomes if outcome.status in ("evaluated", "skipped") and outcome.summary]
    passed = sum(summary.passes(policy) for summary in ended)
    cases = sum(summary.passed_cases for summary in summaries)
    total = sum(summary.total_cases for summary in summaries)
    return (
        f"{passed} of {_counted(len(outcomes), 'checkpoint')} passed ({policy}), {cases} of {_counted(total, 'case')}"
    )


def _effort_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for outcome, name in zip(outcomes, _names(outcomes), strict=True):
        if outcome.status == "evaluated":
            reasons.setdefault(outcome.text, []).append(name)
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        yield f"evaluated {len(names)}: {reason} ({_listed(names)})"
    skipped = sum(outcome.status == "skipped" for outcome in outcomes)
    if skipped:
        yield f"skipped {skipped}: done before and unchanged"


def _note_reuse(count: int) -> None:
    if count:
        note(f"reused the observations of {_counted(count, 'case')}: nothing that they depend on has changed")


def _names(outcomes: Sequence[Outcome]) -> list[str]:
    """`problem/checkpoint`, and the run too if there are several."""
    several = len({outcome.target.snapshot.run for outcome in outcomes}) > 1
    return [
        f"{shown_path(outcome.target.snapshot.run)}/{outcome.target.name}" if several else outcome.target.name
        for outcome in outcomes
    ]


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:_MOST_NAMES])} and {rest} more"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
