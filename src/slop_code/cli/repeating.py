"""`--repeat`: the same cases several times, and whether they agree with themselves."""

from __future__ import annotations

from slop_code.cli.asked import Asked
from slop_code.cli.case_json import brief_entry, full_entry
from slop_code.cli.case_runs import Loaded, report, run_once
from slop_code.cli.console import note
from slop_code.evaluation.listening import Selection
from slop_code.runs.agreement import Agreement, with_reports


def run_repeatedly(asked: Asked, loaded: Loaded, selection: Selection, times: int) -> int:
    """Run everything `times` times, print one entry for each case, and return the exit code of all runs together."""
    agreement = Agreement()
    duration = prepare_s = 0.0
    for number in range(1, times + 1):
        if not asked.quiet:
            note(f"run {number} of {times}")
        last = run_once(asked, loaded, selection)
        agreement.add(last.results)
        duration += last.results.duration
        prepare_s += last.prepare_s
        if last.interrupted or not last.results.complete:
            break
    cases = list(agreement.cases.values())
    merged = with_reports(last.results, [case.shown for case in cases])
    merged.duration = duration
    entry = full_entry if asked.full else brief_entry
    entries = [
        {**entry(case.shown), "runs": case.runs, "agrees": case.agrees(agreement.times), "varies": case.varies}
        for case in cases
    ]
    code = report(asked, loaded, last._replace(results=merged, prepare_s=prepare_s), entries)
    if not asked.quiet and cases:
        _say(agreement)
    return code


def _say(agreement: Agreement) -> None:
    disagreeing = agreement.disagreeing()
    for case in disagreeing:
        outcomes = [run["outcome"] for run in case.runs]
        counts = ", ".join(f"{word} {outcomes.count(word)}" for word in dict.fromkeys(outcomes))
        note(f"does not agree with itself: {case.name} ({counts} of {agreement.times} times)")
    for case in agreement.varying():
        note(f"judged alike, but not always the same: {case.name} ({', '.join(case.varies)})")
    if not disagreeing:
        note(f"all cases agree with themselves in {agreement.times} runs")
