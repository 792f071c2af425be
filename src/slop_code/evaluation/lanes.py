"""Places to run cases in, kept between cases: a session with the adapter of the problem."""

from __future__ import annotations

import contextlib
import threading

from slop_code.evaluation.adapters.api import APIAdapterConfig
from slop_code.evaluation.adapters.cli_running import CLIAdapter
from slop_code.evaluation.adapters.running import Adapter
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.entry_file import entry_name
from slop_code.execution.assets import Assets
from slop_code.execution.driver import Driver
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.image import Image
from slop_code.execution.session import Session
from slop_code.logging import debug


class Lane:
    """A session and its adapter. For one thread at a time, but `close` may be called from any."""

    def __init__(self, session: Session, adapter: Adapter) -> None:
        self.session = session
        self.adapter = adapter
        self._fresh = True

    def make_fresh(self) -> None:
        """Start afresh, unless nothing has run here yet."""
        if not self._fresh:
            self.adapter.reset()
        self._fresh = True

    def use(self) -> Adapter:
        """The adapter, for the next case."""
        self._fresh = False
        return self.adapter

    def close(self) -> None:
        """End everything that runs here. May be called twice."""
        # First what may be closed from any thread: a case that is under way asks the same session.
        self.session.close()
        with contextlib.suppress(ExecutionError):
            self.adapter.close()


class Lanes:
    """The lanes of one prepared submission. Any thread may take one and has to give it back."""

    def __init__(
        self,
        problem: ProblemConfig,
        checkpoint: CheckpointConfig,
        spec: EnvironmentSpec,
        driver: Driver,
        image: Image,
        assets: Assets,
    ) -> None:
        self._problem = problem
        self._checkpoint = checkpoint
        self._spec = spec
        self._driver = driver
        self._image = image
        self._assets = assets
        self._lock = threading.Lock()
        self._free: list[Lane] = []
        self._all: set[Lane] = set()
        self._closed = False
        self._warming: threading.Thread | None = None

    def warm_up(self) -> None:
        """Begin to make the first lane, which takes a while, in a thread of its own."""

        def warm() -> None:
            # Whoever then takes a lane finds out what is wrong.
            with contextlib.suppress(ExecutionError):
                self.give(self._make())

        self._warming = threading.Thread(target=warm, name="first lane", daemon=True)
        self._warming.start()

    def take(self) -> Lane:
        """A lane that is fresh.

        Raises:
            ExecutionError: none can be made.
        """
        with self._lock:
            warming, self._warming = self._warming, None
        if warming is not None:
            warming.join()
        with self._lock:
            lane = self._free.pop() if self._free else None
        if lane is not None:
            try:
                lane.make_fresh()
            except ExecutionError:
                # Whatever was done to that one, a new one has nothing of it.
                self.drop(lane)
            else:
                return lane
        return self._make()

    def give(self, lane: Lane) -> None:
        """Keep the lane for the next one who needs it."""
        with self._lock:
            if not self._closed:
                self._free.append(lane)

    def drop(self, lane: Lane) -> None:
        """Close the lane, now or as it was closed already."""
        with self._lock:
            self._all.discard(lane)
        lane.close()

    def close(self) -> None:
        """Close all lanes, those in use too. May be called twice."""
        with self._lock:
            self._closed = True
            lanes, self._all = self._all, set()
            self._free.clear()
            warming, self._warming = self._warming, None
        # Each takes a while to end, and none has to wait for another.
        closing = [threading.Thread(target=lane.close, daemon=True) for lane in lanes]
        for thread in closing:
            thread.start()
        for thread in (*closing, *([warming] if warming is not None else [])):
            thread.join()

    def _make(self) -> Lane:
        session = self._driver.session(self._image, self._assets.folder)
        try:
            session.restore()
            lane = Lane(session, make_adapter(self._problem, self._checkpoint, self._spec, session, self._assets))
        except BaseException:
            session.close()
            raise
        debug(__name__, "a place to run cases is ready", environment=self._spec.name or self._spec.type)
        with self._lock:
            closed = self._closed
            if not closed:
                self._all.add(lane)
        if closed:
            lane.close()
            raise ExecutionError("the run is being ended")
        return lane


def make_adapter(
    problem: ProblemConfig, checkpoint: CheckpointConfig, spec: EnvironmentSpec, session: Session, assets: Assets
) -> Adapter:
    """The adapter of a problem, for one session."""
    command = spec.get_command(problem.entry_file)
    entry = entry_name(spec.commands.entry_file, problem.entry_file)
    config = problem.adapter
    if isinstance(config, APIAdapterConfig):
        # It brings an HTTP library along, which most problems do not need.
        from slop_code.evaluation.adapters.api_running import APIAdapter

        return APIAdapter(session, assets, config.tracked_files, checkpoint.env, command, config, entry)
    return CLIAdapter(session, assets, config.tracked_files, checkpoint.env, command, entry)
