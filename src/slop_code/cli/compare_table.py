"""What `compare` found, as text for people. Nothing in it can steer a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slop_code.cli.compare_differences import MOST_EXPLAINED, Differences, differences, lines_of
from slop_code.cli.compare_words import MOST_CASES, TITLES, cases, counts_line, ended, more, named_files, totals_cells
from slop_code.cli.styling import Paint, columns, one_line, seconds, terminal_width

if TYPE_CHECKING:
    from slop_code.runs.breakage import Breakage, BrokenCase, Step
    from slop_code.runs.comparison import CaseChange, Comparison

_STYLES = {
    "worse": "red",
    "score_down": "red",
    "other_reason": "yellow",
    "better": "green",
    "score_up": "green",
    "appeared": "cyan",
    "disappeared": "magenta",
}
_MOST_GROUPS = 40
_MOST_FILES = 20
_NAME_WIDTH = 80
_INDENT = " " * 6
# What matters often stands at the end of a long line, so that is left to the terminal.
_WHY_WIDTH = 1_000


def comparison_table(comparison: Comparison, paint: Paint) -> str:
    """Two results: the groups, each case that changed with why, and how many there are of each kind.

    Raises:
        ReportError: the reports of cases that changed cannot be read.
    """
    notes = [one_line(f"{item.name}: {text}", _WHY_WIDTH) for item in comparison.checkpoints for text in item.notes]
    if comparison.is_same:
        return "\n".join([counts_line(comparison), *notes])
    lines = [*_groups(comparison, paint), *notes]
    several = len(comparison.checkpoints) > 1
    for kind, title in TITLES.items():
        changes = [case for case in comparison.cases if case.kind == kind]
        if changes:
            known = differences((case.telling for case in changes[:MOST_EXPLAINED]), _width())
            lines += ["", paint(f"{title}: {len(changes)}", _STYLES[kind])]
            lines += [line for case in changes[:MOST_CASES] for line in _case_lines(case, known, several=several)]
            lines += [f"  {line}" for line in more(changes, MOST_CASES)]
    return "\n".join([*lines, "", counts_line(comparison)])


def breakage_table(problems: Sequence[Breakage], paint: Paint) -> str:
    """One submission across checkpoints: how each went, and where which cases broke.

    Raises:
        ReportError: the reports of cases that broke cannot be read.
    """
    return "\n\n".join("\n".join(_problem(breakage, paint)) for breakage in problems)


def _groups(comparison: Comparison, paint: Paint) -> list[str]:
    rows = [("", "passed", "score", "time")]
    left_out = 0
    is_long = sum(len(checkpoint.groups) + 1 for checkpoint in comparison.checkpoints) > _MOST_GROUPS
    for checkpoint in comparison.checkpoints:
        shown = [group for group in checkpoint.groups if group.changes or not is_long]
        left_out += len(checkpoint.groups) - len(shown)
        if shown or not is_long:
            name = one_line(checkpoint.name, _NAME_WIDTH)
            rows.append((name, *totals_cells(checkpoint.before, checkpoint.after)))
        rows += [
            (f"  {one_line(group.name, _NAME_WIDTH)}", *totals_cells(group.before, group.after)) for group in shown
        ]
    head, *lines = _aligned(rows)
    rest = [f"and {left_out} groups in which nothing changed"] if left_out else []
    return [paint(head, "dim"), *lines, *rest]


def _case_lines(case: CaseChange, known: Differences, *, several: bool) -> Iterator[str]:
    place = f"{case.problem}/{case.checkpoint}/" if several else ""
    yield f"  {one_line(f'{place}{case.group}/{case.id}', _NAME_WIDTH)}: {ended(case.before, case.after)}"
    if case.why:
        yield f"    {one_line(case.why, _WHY_WIDTH)}"
    yield from (f"{_INDENT}{line}" for line in lines_of(case, known))


def _problem(breakage: Breakage, paint: Paint) -> Iterator[str]:
    rows = [(one_line(breakage.problem, _NAME_WIDTH), "passed", "score", "time")]
    for name, totals in breakage.checkpoints.items():
        mark = " (not complete)" if name in breakage.incomplete else ""
        passed = f"{totals.passed}/{totals.cases}"
        rows.append((f"{one_line(name, _NAME_WIDTH)}{mark}", passed, f"{totals.score:.2f}", seconds(totals.run_s)))
    head, *lines = _aligned(rows)
    yield from (paint(head, "dim"), *lines)
    for step in breakage.steps:
        yield ""
        yield paint(one_line(f"broke at {step.checkpoint}: {len(step.cases)}", _NAME_WIDTH), "red")
        known = differences(((step.results, case.after) for case in step.cases[:MOST_EXPLAINED]), _width())
        for case in step.cases[:MOST_CASES]:
            yield from _broken_lines(case)
            yield from (f"{_INDENT}{line}" for line in known.get((step.results, case.after.number), []))
        yield from (f"  {line}" for line in more(step.cases, MOST_CASES))
        yield from _file_lines(step)
    yield ""
    yield f"{cases(breakage.followed)} in more than one checkpoint, {breakage.broken or 'none'} broke"


def _broken_lines(case: BrokenCase) -> Iterator[str]:
    again = one_line(f", passes again at {case.passes_again}", _NAME_WIDTH) if case.passes_again else ""
    yield f"  {one_line(case.name, _NAME_WIDTH)}: {ended(case.before, case.after)}{again}"
    if case.why:
        yield f"    {one_line(case.why, _WHY_WIDTH)}"


def _file_lines(step: Step) -> Iterator[str]:
    if step.files is None:
        yield f"  files since {one_line(step.since, _NAME_WIDTH)} unknown: {one_line(step.trouble, _WHY_WIDTH)}"
        return
    named = list(named_files(step.files))
    yield f"  files since {one_line(step.since, _NAME_WIDTH)}:{'' if named else ' none changed'}"
    yield from (f"    {word:<7}  {one_line(path, _NAME_WIDTH)}" for word, path in named[:_MOST_FILES])
    yield from (f"    {line}" for line in more(named, _MOST_FILES))


def _width() -> int:
    return terminal_width() - len(_INDENT)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(columns(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(text + " " * (width - columns(text)) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
