"""Starting what a run will need, before it is known what it will be: processes get ready while this one imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slop_code.quick_imports import quick_imports

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, ProblemConfig
    from slop_code.evaluation.listening import Selection
    from slop_code.execution import EnvironmentSpec


def get_ready() -> None:
    """For a command that is about to run cases, while it has no threads; whatever is not needed ends with it."""
    from slop_code.execution.process import Warden

    Warden.launch_ahead()
    with quick_imports():
        # What both this process and the author processes need is imported once, and then they part.
        import slop_code.evaluation.config  # noqa: F401
        from slop_code.evaluation.author_process import Nursery
    Nursery.make_ahead()


def begin(
    problem: ProblemConfig, checkpoint: CheckpointConfig, selection: Selection, environment: EnvironmentSpec
) -> None:
    """Begin with what takes a while in other processes, for a command that still has to import the runner."""
    from slop_code.evaluation.author_process import Nursery

    # Without one that was made ahead, the next step is a fork, and there must be no thread before it.
    if Nursery.bench_ahead(problem, checkpoint, selection) and environment.type == "sandbox":
        from slop_code.execution.bubblewrap import look_ahead

        look_ahead()
