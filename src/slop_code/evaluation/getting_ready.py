"""Starting what a run will need, before it is known what it will be: processes get ready while this one imports."""

from __future__ import annotations

from slop_code.quick_imports import quick_imports


def get_ready() -> None:
    """For a command that is about to run cases, while it has no threads; whatever is not needed ends with it."""
    from slop_code.execution.process import Warden

    Warden.launch_ahead()
    with quick_imports():
        # What both this process and the author processes need is imported once, and then they part.
        import slop_code.evaluation.config  # noqa: F401
        from slop_code.evaluation.author_process import Nursery
    Nursery.make_ahead()
