"""What decides the outcome of an evaluation, by content: equal fingerprints mean that it would come out the same.

Nothing of it is a name of a folder or a time of a file, and nothing of it is stored but hashes.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import slop_code
from slop_code.evaluation.listening import RunOptions, Selection
from slop_code.execution.environment import (
    DockerEnvironmentSpec,
    EnvironmentSpec,
    LocalEnvironmentSpec,
    SandboxEnvironmentSpec,
)
from slop_code.execution.errors import ExecutionError
from slop_code.execution.interpreter import choose_interpreter
from slop_code.execution.local import host_path
from slop_code.execution.mounts import SYSTEM
from slop_code.execution.session import HOST_PATH
from slop_code.execution.snapshot import content_key, list_entries
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.runs.targets import Target

# Variables of a terminal that are passed on with the rest of the host's, and that no two shells agree on.
_PASSING = frozenset({"_", "PWD", "OLDPWD", "SHLVL", "WINDOWID", "STY", "TMUX", "TMUX_PANE"})
# What judges together with us.
_LIBRARIES = ("deepdiff", "jinja2", "jsonschema", "numpy", "pandas", "PyYAML")
_CHANGED = {
    "checkpoint": "the results are of another checkpoint",
    "submission": "the submission changed",
    "problem": "the problem changed",
    "environment": "the environment changed",
    "interpreter": "the environment's interpreter changed",
    "options": "other options were asked for",
    "evaluator": "slop-code changed",
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One hash for each thing that matters, so that a difference can be named."""

    checkpoint: str
    submission: str
    problem: str
    environment: str
    interpreter: str
    options: str
    evaluator: str

    def as_dict(self) -> dict[str, str]:
        """For a JSON file."""
        return asdict(self)

    @property
    def surroundings(self) -> str:
        """What programs see of the machine and the environment, apart from the submission."""
        return _hash([self.environment, self.interpreter, _runs_programs()])

    def difference(self, stored: Mapping[str, Any]) -> str:
        """What changed since `stored` was written, in words; nothing if all is the same."""
        changed = [_CHANGED[item.name] for item in fields(self) if stored.get(item.name) != getattr(self, item.name)]
        return " and ".join([", ".join(changed[:-1]), changed[-1]] if len(changed) > 1 else changed)


def fingerprint(target: Target, spec: EnvironmentSpec, options: RunOptions, selection: Selection) -> Fingerprint:
    """The fingerprint of evaluating a target now; the problem is taken as it was when it was read.

    Raises:
        ExecutionError: the snapshot cannot be read, or the environment names what is not on this machine.
    """
    return Fingerprint(
        checkpoint=_hash([target.problem.name, target.checkpoint.name]),
        submission=submission_key(target.snapshot.path, spec),
        problem=target.package,
        environment=_hash([spec.model_dump(mode="json", exclude={"name"}), _variables(spec), _visible(spec)]),
        interpreter=_hash(_interpreter(spec, target.snapshot.path)),
        options=_hash(_options(options, selection)),
        evaluator=_evaluator(),
    )


def submission_key(path: Path, spec: EnvironmentSpec) -> str:
    """The content of those files of a snapshot that the environment does not leave out.

    Raises:
        ExecutionError: it is no folder, or something in it cannot be read.
    """
    try:
        return content_key(path, list_entries(path, spec.snapshot.keep_globs, spec.snapshot.ignore_globs))
    except OSError as error:
        place = shown_path(error.filename) if error.filename else shown_path(path)
        raise ExecutionError(f"{place}: cannot be read: {error.strerror or error}") from error


def _variables(spec: EnvironmentSpec) -> dict[str, str]:
    given = {name: value for name, value in spec.host_env().items() if name not in _PASSING}
    return {**given, "PATH": ":".join(host_path())} if isinstance(spec, LocalEnvironmentSpec) else given


def _visible(spec: EnvironmentSpec) -> list[list[str]]:
    """The content of what an environment shows of this machine."""
    paths: list[str] = []
    if isinstance(spec, SandboxEnvironmentSpec):
        # What is visible anyway is the system, which is no part of an environment.
        paths = [path for path in spec.sandbox.read_only_paths if not any(Path(path).is_relative_to(s) for s in SYSTEM)]
    elif isinstance(spec, DockerEnvironmentSpec):
        mounts = spec.docker.extra_mounts
        paths = list(mounts) if isinstance(mounts, dict) else [mount.partition(":")[0] for mount in mounts]
    return [[path, _content(Path(path))] for path in paths]


@cache
def _content(path: Path) -> str:
    """What is in a file or a folder; nothing if it is not there or cannot be read."""
    try:
        if path.is_dir():
            return content_key(path, list_entries(path))
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ExecutionError):
        return ""


def _interpreter(spec: EnvironmentSpec, submission: Path) -> Any:
    if isinstance(spec, DockerEnvironmentSpec):
        from slop_code.execution.docker_container import connect_engine, find_image

        client = connect_engine()
        try:
            return str(find_image(client, spec.docker.image))
        finally:
            client.close()
    python = choose_interpreter(spec.environment.python, submission)
    folders = host_path() if isinstance(spec, LocalEnvironmentSpec) else HOST_PATH
    return [str(python.path), python.version, _content(python.path), _program(spec.commands.command, ":".join(folders))]


def _program(command: str, folders: str) -> str:
    """The content of the program that starts submissions, where it is not the Python that was chosen."""
    try:
        first = shlex.split(command)[0]
    except (ValueError, IndexError):
        return ""
    found = None if first.startswith("python") else shutil.which(first, path=folders)
    return "" if found is None else _content(Path(found))


def _options(options: RunOptions, selection: Selection) -> Any:
    """Those that can change an outcome; how many cases run at once must not."""
    only = None if selection.only is None else sorted(map(list, selection.only))
    chosen = [sorted(selection.groups), sorted(selection.cases), only]
    return [options.confirm_failures, options.fail_fast, sorted(options.exclusive), chosen]


@cache
def _evaluator() -> str:
    """This slop-code, down to the code that runs and judges, and what it judges with."""
    code = _code("evaluation", "execution")
    return _hash([slop_code.__version__, sys.version, [_version(name) for name in _LIBRARIES], code])


@cache
def _runs_programs() -> str:
    """This slop-code as far as it puts cases to programs and sees what they do."""
    return _hash([slop_code.__version__, _code("evaluation/adapters", "execution")])


def _code(*parts: str) -> list[list[str]]:
    root = Path(slop_code.__file__).parent
    files = sorted(file for part in parts for file in (root / part).rglob("*.py"))
    return [[str(file.relative_to(root)), hashlib.sha256(file.read_bytes()).hexdigest()] for file in files]


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "backslashreplace")).hexdigest()
