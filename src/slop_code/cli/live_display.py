"""The display on a terminal: a few lines that are drawn again some times a second, and gone at the end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from slop_code.cli.console import harmless
from slop_code.cli.progress import counts_text, left_text, total
from slop_code.cli.styling import OUTCOME_STYLES, seconds
from slop_code.cli.tally import OUTCOMES, RunView, Tally, View

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.text import Text

# What is over sooner needs no display, and need not wait for Rich to be imported.
QUIET_S = 0.4
REFRESH_S = 0.12
MOST_RUNS = 8
_BAR = 20


def show_live(tally: Tally, ended: threading.Event) -> None:
    """Draw the tally again and again until `ended` is set."""
    if ended.wait(QUIET_S):
        return
    from rich.console import Console
    from rich.live import Live

    live = Live(
        console=Console(stderr=True),
        get_renderable=lambda: drawn(tally.view()),
        auto_refresh=False,
        transient=True,
        # Lines that others print to stderr meanwhile go above the display.
        redirect_stdout=False,
        redirect_stderr=True,
    )
    with live:
        while not ended.wait(REFRESH_S):
            live.refresh()


def drawn(view: View) -> Group:
    """The view as lines."""
    from rich.console import Group

    lines: list[RenderableType] = [_head(view)]
    if view.runs_seen > 1:
        lines += [_run_line(run) for run in view.runs[:MOST_RUNS]]
        if len(view.runs) > MOST_RUNS:
            lines.append(_text(f"  and {len(view.runs) - MOST_RUNS} more runs", "dim"))
    for label, group, case, spent in view.running:
        place = f"{label.problem}/{label.checkpoint} " if view.runs_seen > 1 else ""
        lines.append(_text(f"  {seconds(spent):>8}  {place}{group}/{case}", "dim"))
    return Group(*lines)


def _head(view: View) -> Text:
    preparing = [run for run in view.runs if not run.prepared]
    if preparing and not view.known:
        return _text(f"preparing {preparing[0].label.submission}  {seconds(view.seconds)}", "cyan")
    line = _text("", "")
    if view.runs_seen > 1:
        line.append(f"{view.runs_ended}/{view.runs_seen} runs  ")
    filled = _BAR * view.done // view.known if view.known else 0
    line.append("━" * filled, style=_bar_style(view)).append("━" * (_BAR - filled), style="dim")
    line.append(f" {view.done}/{total(view)}")
    for outcome in OUTCOMES:
        if view.counts[outcome] or outcome == "passed":
            line.append(f"  {view.counts[outcome]} {outcome}", style=OUTCOME_STYLES[outcome])
    return line.append(f"  {seconds(view.seconds)}{left_text(view)}", style="dim")


def _run_line(run: RunView) -> Text:
    name = f"  {run.label.problem}/{run.label.checkpoint}"
    if not run.prepared:
        return _text(f"{name}  preparing {run.label.submission}  {seconds(run.seconds)}", "cyan")
    return _text(f"{name}  {run.done}/{total(run)}  {counts_text(run)}  {run.label.submission}", "")


def _bar_style(view: View) -> str:
    worst = next((outcome for outcome in reversed(OUTCOMES) if view.counts[outcome]), "passed")
    return OUTCOME_STYLES[worst]


def _text(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(harmless(text).replace("\n", " "), style=style, no_wrap=True, overflow="ellipsis")
