"""What people see while cases run: a live display on terminals, plain lines elsewhere. All of it on stderr."""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slop_code.cli.console import is_terminal, note
from slop_code.cli.styling import seconds
from slop_code.cli.tally import RunView, Tally, View

if TYPE_CHECKING:
    from slop_code.evaluation.listening import RunLabel
    from slop_code.evaluation.verifiers.models import VerifierReport

PLAIN_EVERY_S = 5.0


@contextmanager
def make_progress(quiet: bool = False, total_runs: int | None = None) -> Iterator[Tally]:
    """A listener for one run or many that shows how they go until the block ends.

    `total_runs` is how many runs there will be, where that is known. When `quiet`, the listener only counts.
    """
    if quiet:
        yield Tally(total_runs)
        return
    shown = _LiveTally(total_runs) if is_terminal(sys.stderr) else _PlainTally(total_runs)
    try:
        yield shown
    finally:
        shown.end()


class _ShownTally(Tally, ABC):
    """Is shown by a thread of its own, from the first call on: by then, the processes of authors' code are forked."""

    def __init__(self, total_runs: int | None) -> None:
        super().__init__(total_runs)
        self.ended = threading.Event()
        self._thread: threading.Thread | None = None

    def preparing(self, run: RunLabel) -> None:
        super().preparing(run)
        if self._thread is None:
            self._thread = threading.Thread(target=self.show, name="progress", daemon=True)
            self._thread.start()

    @abstractmethod
    def show(self) -> None:
        """Show how things stand until `ended` is set."""

    def end(self) -> None:
        """Show nothing more."""
        self.ended.set()
        if self._thread is not None:
            self._thread.join()


class _LiveTally(_ShownTally):
    def show(self) -> None:
        from slop_code.cli.live_display import show_live

        show_live(self, self.ended)


class _PlainTally(_ShownTally):
    """Also says at once which cases did not pass."""

    def show(self) -> None:
        while not self.ended.wait(PLAIN_EVERY_S):
            for line in plain_lines(self.view()):
                note(line)

    def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
        super().case_finished(run, report)
        if report.outcome != "passed":
            place = f"{run.problem}/{run.checkpoint}: " if self.has_many else ""
            note(f"{(report.outcome or 'error').upper()} {place}{report.group}/{report.id}")


def plain_lines(view: View) -> list[str]:
    """How things stand, in one line; a second one names what has been running for long."""
    preparing = [run for run in view.runs if not run.prepared]
    if preparing and not view.known:
        longest = max(preparing, key=lambda run: run.seconds)
        return [f"preparing {longest.label.submission} for {seconds(longest.seconds)}"]
    runs = f"{view.runs_ended} of {view.runs_seen} runs, " if view.runs_seen > 1 else ""
    line = f"{runs}{view.done} of {total(view)} cases, {counts_text(view)}, {seconds(view.seconds)}{left_text(view)}"
    running = ", ".join(f"{group}/{case} for {seconds(spent)}" for _, group, case, spent in view.running if spent >= 1)
    return [line, f"  running {running}"] if running else [line]


def counts_text(view: View | RunView) -> str:
    """`12 passed, 1 failed`: whatever there is any of, and always what passed."""
    return ", ".join(f"{count} {name}" for name, count in view.counts.items() if count or name == "passed")


def total(view: View | RunView) -> str:
    """How many cases there are, with a plus where more may turn up."""
    return f"{view.known}" if view.all_known else f"{view.known}+"


def left_text(view: View) -> str:
    """`, about 12.0 s left`, where that can be guessed."""
    if view.left_s is None or view.done >= view.known:
        return ""
    return f", {'about' if view.all_known else 'at least'} {seconds(view.left_s)} left"
