"""Authors' code in processes of its own: whatever it does to its process, the run goes on.

    evaluator ── nursery          forked at the start, while the evaluator has no threads; forks a bench when asked
                   └─ bench       one per checkpoint: imports the scripts, makes loader and verifier; forks desks
                        └─ desk   one per group: hands out cases, judges results (see `desk`)

Every group finds loader and verifier as they were made, whatever runs beside it, so the order in which groups run
cannot be told from their results. A desk that hangs in a step that Python cannot interrupt is killed, and so is
everything that it started. All of them end when the evaluator does, however that comes about: the nursery sees its
channel closed, removes what the evaluator left behind, and its children die with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from slop_code.errors import SlopCodeError
from slop_code.evaluation.channel import Channel, ChannelClosed
from slop_code.evaluation.forking import fork_child, fork_on_demand
from slop_code.evaluation.handing_out import SHOW_TRACE, Handful
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.paths import shown_path
from slop_code.quick_imports import quick_imports

if TYPE_CHECKING:
    from slop_code.evaluation.adapters.observation import Observation
    from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
    from slop_code.evaluation.listening import Selection
    from slop_code.evaluation.verifiers.models import VerifierReport

LOADER_PATIENCE_S = 300.0
"""How long a loader may take for its next case, and a script for its import."""
_GRACE_S = 5.0


class DeskError(SlopCodeError):
    """A question to a desk has no answer; the desk can be asked others."""


class DeskLostError(DeskError):
    """The author's code took its process with it, or had to be killed; the text says what is known."""


class Nursery:
    """The evaluator's handle on its author processes. Make it before any thread; `close` it at the end."""

    _ahead: ClassVar[Nursery | None] = None

    @classmethod
    def make_ahead(cls) -> None:
        """Make the one that will be wanted soon, so that it gets ready while this process does other things."""
        Nursery._ahead = Nursery()

    @classmethod
    def get(cls) -> Nursery:
        """The one that was made ahead, if it was and nobody has it, or a new one."""
        made, Nursery._ahead = Nursery._ahead, None
        return made or Nursery()

    @classmethod
    def bench_ahead(cls, problem: ProblemConfig, checkpoint: CheckpointConfig, selection: Selection) -> bool:
        """Have the one that was made ahead begin with the bench that will be wanted first; false if there is none."""
        if cls._ahead is None:
            return False
        wanted = (problem, checkpoint, selection)
        cls._ahead._begun = (wanted, cls._ahead._begin_bench(*wanted))
        return True

    def __init__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        ours, theirs = Channel.pair()
        self._pid = fork_child(lambda: _serve_nursery(theirs), [ours], dies_with_parent=False)
        theirs.close_copy()
        self._channel = ours
        self._sending = threading.Lock()
        self._begun: tuple[tuple[ProblemConfig, CheckpointConfig, Selection], Channel] | None = None
        self._open = True

    def bench(self, problem: ProblemConfig, checkpoint: CheckpointConfig, selection: Selection) -> BenchHandle:
        """Have loader and verifier of a checkpoint made.

        Raises:
            VerifierError: the verifier cannot be made.
        """
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == (problem, checkpoint, selection):
            ours = begun[1]
        else:
            ours = self._begin_bench(problem, checkpoint, selection)
        try:
            trouble = ours.receive(LOADER_PATIENCE_S)
        except TimeoutError:
            ours.close()
            raise VerifierError(f"importing the problem's scripts took more than {LOADER_PATIENCE_S:g} s") from None
        except ChannelClosed:
            ours.close()
            raise VerifierError("one of the problem's scripts ended its process while it was imported") from None
        if trouble is not None:
            ours.close()
            raise VerifierError(trouble)
        return BenchHandle(ours, problem.path)

    def _begin_bench(self, problem: ProblemConfig, checkpoint: CheckpointConfig, selection: Selection) -> Channel:
        ours, theirs = Channel.pair()
        with self._sending:
            self._channel.send((problem, checkpoint, selection), [theirs.fileno()])
        theirs.close_copy()
        return ours

    def remove_at_end(self, folder: Path) -> None:
        """Have a folder removed when the evaluator ends without having done so itself."""
        with self._sending:
            self._channel.send(folder)

    def let_go(self) -> None:
        """Tell them that they are not needed any more, without waiting for their end, as `close` does."""
        self._channel.close()

    def close(self) -> None:
        """End all of them. May be called twice."""
        if self._open:
            self._open = False
            self._channel.close()
            if self._begun is not None:
                self._begun[1].close()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


class BenchHandle:
    """The evaluator's handle on one checkpoint's author code; any thread may use it."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._sending = threading.Lock()
        self._folder = folder

    def desk(self, group: GroupConfig) -> DeskHandle:
        """A new desk for a group.

        Raises:
            LoaderError: there is no loader, or its store cannot be made.
            DeskLostError: the author's code ended its process.
        """
        ours, theirs = Channel.pair()
        trace, trace_in = os.pipe()
        try:
            try:
                with self._sending:
                    self._channel.send(group, [theirs.fileno(), trace_in])
            finally:
                theirs.close_copy()
                os.close(trace_in)
            return DeskHandle(ours, trace, self._folder)
        except ChannelClosed:
            ours.close()
            os.close(trace)
            raise DeskLostError("the author's code ended its process") from None

    def close(self) -> None:
        self._channel.close()


class DeskHandle:
    """The evaluator's handle on one desk; see `desk.Desk`. For one thread at a time."""

    def __init__(self, channel: Channel, trace: int, folder: Path) -> None:
        self._channel = channel
        self._trace = trace
        self._folder = folder
        self._process: int | None = None
        self._pid = 0
        try:
            self._pid = self._answer("the loader", LOADER_PATIENCE_S)
            with contextlib.suppress(ProcessLookupError):
                self._process = os.pidfd_open(self._pid)
            self.independent, self.keeps_store = self._answer("the loader", LOADER_PATIENCE_S)
        except BaseException:
            self.close()
            raise

    def take(self, count: int) -> Handful:
        """The next cases."""
        handful: Handful = self._ask("the loader", LOADER_PATIENCE_S, "take", count)
        return handful

    def judge(self, position: int, observation: Observation, *, is_last: bool = True) -> VerifierReport:
        """The report on a case's result."""
        patience = _verifier_patience()
        report: VerifierReport = self._ask("the verifier", patience, "judge", position, observation, is_last)
        return report

    def judge_some(self, results: Sequence[tuple[int, Observation]]) -> list[VerifierReport]:
        """The reports on the first of these results, as many as are soon had."""
        patience = _verifier_patience()
        reports: list[VerifierReport] = self._ask("the verifier", patience, "judge_some", results)
        return reports

    def last_wanted(self) -> int:
        """The position of the last case that is wanted, or -1; the desk has no more cases then."""
        last: int = self._ask("the loader", LOADER_PATIENCE_S, "last_wanted")
        return last

    def drop(self, position: int) -> None:
        """The case will have no result."""
        self._ask("the loader", LOADER_PATIENCE_S, "drop", position)

    def close(self) -> None:
        """End the desk. May be called twice."""
        self._channel.close()
        for descriptor in (self._process, self._trace):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._process, self._trace = None, -1

    def _ask(self, who: str, patience: float, *request: Any) -> Any:
        try:
            self._channel.send(request)
        except ChannelClosed:
            raise self._gone(who) from None
        return self._answer(who, patience)

    def _answer(self, who: str, patience: float) -> Any:
        try:
            kind, value = self._channel.receive(patience)
        except TimeoutError:
            place = self._where()
            self._kill()
            limit = patience - _GRACE_S if who == "the verifier" else patience
            raise DeskLostError(
                f"{who} was ended: {place}still running after {limit:g} s, in a step that only ends with its process"
            ) from None
        except ChannelClosed:
            raise self._gone(who) from None
        if kind == "loader error":
            raise LoaderError(value)
        if kind == "failed":
            raise DeskError(value)
        return value

    def _gone(self, who: str) -> DeskLostError:
        return DeskLostError(f"{who} ended its own process (os._exit, a signal or a crash of a C extension)")

    def _where(self) -> str:
        """The last line of the author's code that is being executed in there, however deep in C it is."""
        if self._process is None:
            return ""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._process, SHOW_TRACE)
        text = b""
        while select.select([self._trace], [], [], 0.3)[0]:
            part = os.read(self._trace, 1 << 16)
            if not part:
                break
            text += part
        for file, line in re.findall(r'File "(.*?)", line (\d+)', text.decode("utf-8", "replace")):
            if Path(file).is_relative_to(self._folder):
                return f"{shown_path(file)}:{line}: "
        return ""

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):
                # Its group is its own: what the author's code started goes too.
                os.killpg(self._pid, signal.SIGKILL)


def _verifier_patience() -> float:
    from slop_code.evaluation.verifiers import calling

    return calling.TIME_LIMIT_S + _GRACE_S


def _serve_nursery(channel: Channel) -> NoReturn:
    signal.set_wakeup_fd(-1)
    # Ctrl-C reaches every process of the terminal, and it is the evaluator that decides what then happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # What authors' code, or a process that it starts, writes to descriptor 1 is for people; so is what a thread that it
    # left prints between two calls, wherever the evaluator's own stdout may lead.
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    # Here and not at the top: the evaluator itself has no use for it, and need not wait for it.
    with quick_imports():
        from slop_code.evaluation import author_side

        author_side.get_ready()

    def serve_bench(message: Any, descriptors: list[int]) -> NoReturn:
        author_side.serve_bench(Channel.from_descriptor(descriptors[0]), *message)

    fork_on_demand(channel, serve_bench)
