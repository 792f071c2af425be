"""What `compare` found, as Markdown: for a comment, or for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slop_code.cli.compare_differences import MOST_EXPLAINED, differences, lines_of
from slop_code.cli.compare_words import MOST_CASES, TITLES, cases, counts_line, ended, more, named_files, totals_cells
from slop_code.cli.markdown import code, fenced, markdown_table
from slop_code.cli.styling import seconds

if TYPE_CHECKING:
    from slop_code.runs.breakage import Breakage, Step
    from slop_code.runs.comparison import Comparison


def comparison_markdown(comparison: Comparison) -> str:
    """Two results: how many changes there are, the groups, and each case that changed with why.

    Raises:
        ReportError: the reports of cases that changed cannot be read.
    """
    lines = [f"{counts_line(comparison)[0].upper()}{counts_line(comparison)[1:]}."]
    notes = [f"- {code(f'{item.name}: {text}')}" for item in comparison.checkpoints for text in item.notes]
    lines += ["", *notes] if notes else []
    if comparison.is_same:
        return "\n".join(lines)
    rows = []
    for checkpoint in comparison.checkpoints:
        rows.append((f"**{code(checkpoint.name)}**", *totals_cells(checkpoint.before, checkpoint.after)))
        rows += [(code(group.name), *totals_cells(group.before, group.after)) for group in checkpoint.groups]
    lines += ["", *markdown_table(("group", "passed", "score", "time"), rows)]
    several = len(comparison.checkpoints) > 1
    for kind, title in TITLES.items():
        changes = [case for case in comparison.cases if case.kind == kind]
        if not changes:
            continue
        known = differences(case.telling for case in changes[:MOST_EXPLAINED])
        lines += ["", f"## {title.capitalize()}: {len(changes)}", ""]
        for case in changes[:MOST_CASES]:
            place = f"{case.problem}/{case.checkpoint}/" if several else ""
            lines.append(_item(f"{place}{case.group}/{case.id}", ended(case.before, case.after), case.why))
            lines += _block(lines_of(case, known))
        lines += [f"- {line}" for line in more(changes, MOST_CASES)]
    return "\n".join(lines)


def breakage_markdown(problems: Sequence[Breakage]) -> str:
    """One submission across checkpoints: how each went, and where which cases broke.

    Raises:
        ReportError: the reports of cases that broke cannot be read.
    """
    return "\n\n".join("\n".join(_problem(breakage)) for breakage in problems)


def _problem(breakage: Breakage) -> Iterator[str]:
    yield from (f"# {code(breakage.problem)}", "")
    yield from (f"{cases(breakage.followed)} in more than one checkpoint, {breakage.broken or 'none'} broke.", "")
    rows = []
    for name, totals in breakage.checkpoints.items():
        mark = " (not complete)" if name in breakage.incomplete else ""
        passed = f"{totals.passed}/{totals.cases}"
        rows.append((f"{code(name)}{mark}", passed, f"{totals.score:.2f}", seconds(totals.run_s)))
    yield from markdown_table(("checkpoint", "passed", "score", "time"), rows)
    for step in breakage.steps:
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    yield from ("", f"## Broke at {code(step.checkpoint)}: {len(step.cases)}", "")
    known = differences((step.results, case.after) for case in step.cases[:MOST_EXPLAINED])
    for case in step.cases[:MOST_CASES]:
        again = f", passes again at {code(case.passes_again)}" if case.passes_again else ""
        yield _item(case.name, f"{ended(case.before, case.after)}{again}", case.why)
        yield from _block(known.get((step.results, case.after.number), []))
    yield from (f"- {line}" for line in more(step.cases, MOST_CASES))
    yield ""
    if step.files is None:
        yield f"Files since {code(step.since)} unknown: {code(step.trouble)}"
        return
    named = list(named_files(step.files))
    yield f"Files since {code(step.since)}:{'' if named else ' none changed'}"
    yield from (["", *(f"- {word} {code(path)}" for word, path in named[:MOST_CASES])] if named else [])
    yield from (f"- {line}" for line in more(named, MOST_CASES))


def _item(name: str, ending: str, why: str) -> str:
    return f"- {code(name)}: {ending}{f': {code(why)}' if why else ''}"


def _block(lines: Sequence[str]) -> Iterator[str]:
    """Lines as a part of the item above them."""
    return (f"  {line}" for line in (fenced(lines) if lines else []))
