"""How cases are put to a submission in a session, and what was observed of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from slop_code.errors import SlopCodeError
from slop_code.evaluation.adapters.base import CaseT
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.entry_file import is_there
from slop_code.execution.assets import Assets
from slop_code.execution.file_ops import InputFile, InputFileError, collect_tracked_files, write_input_files
from slop_code.execution.session import Session


class SpoiledWorkspaceError(SlopCodeError):
    """A case's input cannot be put into a workspace that earlier cases made unfit for it: the submission's doing."""


class Adapter(ABC):
    """Puts the cases of one group to the submission in one session, one at a time."""

    def __init__(
        self,
        session: Session,
        assets: Assets,
        tracked_files: Iterable[str],
        env: Mapping[str, str],
        command: str,
        entry: str | None = None,
    ) -> None:
        """`entry` is the program's path in the workspace, where that is known."""
        self.session = session
        self.entry = entry
        self.command = command
        self.assets = assets
        self.tracked_files = list(tracked_files)
        self.env = dict(env)
        self._is_fresh = True

    @abstractmethod
    def run(self, case: Any, expected: CaseResult) -> Observation:
        """Run a case.

        Raises:
            AdapterError, InputFileError, UnknownAssetError: the case cannot be put to a submission.
            ExecutionError: it could not be run, through no fault of the submission.
        """

    def reset(self) -> None:
        """Start afresh: a restored workspace, and for an API a new server."""
        self.close()
        self.session.restore()
        self._is_fresh = True

    @abstractmethod
    def close(self) -> None:
        """End what is running. The session stays the caller's."""

    def filled_in(self, case: CaseT) -> CaseT:
        """The case with its `{{static:NAME}}` placeholders replaced by paths that the submission can read."""
        values = {**{name: getattr(case, name) for name in type(case).model_fields}, **(case.model_extra or {})}
        changed: dict[str, Any] = {}
        for name, value in values.items():
            if name == "input_files":
                new: Any = [self._filled_in_file(file) for file in value]
                different = any(a is not b for a, b in zip(new, value, strict=True))
            else:
                new = self.assets.fill_in(value, self.session.layout.assets) if _may_hold_placeholder(value) else value
                different = new != value
            if different:
                changed[name] = new
        return case.model_copy(update=changed) if changed else case

    def write_inputs(self, case: BaseCase) -> None:
        """Put the case's input files into the workspace, whatever the submission has put in their way.

        Raises:
            SpoiledWorkspaceError: they cannot be written there after what earlier cases did to it.
        """
        self.session.hold_open()
        try:
            if case.input_files:
                write_input_files(self.session.workspace, case.input_files, owner=self.session.owner, clear=True)
        except InputFileError as error:
            if self._is_fresh:
                raise
            raise SpoiledWorkspaceError(str(error)) from error
        finally:
            self._is_fresh = False

    def fault(self) -> str:
        """What is said of a submission without its entry file; nothing if it is there."""
        if self.entry is None or is_there(self.session.workspace, self.entry):
            return ""
        return f"the submission has no {self.entry}"

    def collect(self, case: BaseCase, expected: CaseResult) -> tuple[dict[str, str | bytes], tuple[str, ...]]:
        """The tracked files after a run (the adapter's, the case's, the expected ones), and notes on what was cut."""
        self.session.hold_open()
        entries = [*self.tracked_files, *case.tracked_files, *expected.files_by_name()]
        if not entries:
            return {}, ()
        found = collect_tracked_files(
            self.session.workspace, dict.fromkeys(entries), seen_as=self.session.layout.workspace
        )
        return found.files, found.cut

    def _filled_in_file(self, file: InputFile) -> InputFile:
        if not _may_hold_placeholder(file.content):
            return file
        content = self.assets.fill_in(file.content, self.session.layout.assets)
        return file if content == file.content else file.model_copy(update={"content": content})


def _may_hold_placeholder(value: Any) -> bool:
    if isinstance(value, str):
        return "{{" in value
    if isinstance(value, dict):
        return any(map(_may_hold_placeholder, value)) or any(map(_may_hold_placeholder, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_may_hold_placeholder, value))
