"""What an environment file says: where a submission runs, how it is set up and how it is started."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from slop_code.documents import Document, read_document
from slop_code.execution.commands import Limits
from slop_code.execution.errors import EnvironmentFileError
from slop_code.findings import Findings, closest, did_you_mean, listed, shown_value
from slop_code.validation import report_validation_error

CONVENTIONAL_FOLDER = Path("configs/environments")
# Shorter values would be found by chance.
_SHORTEST_SECRET = 6
# Host variables that look like these are withheld unless they are listed by name.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|DSN|CONNECTION_STRING", re.I)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, defer_build=True)


class EnvironmentBlock(_Strict):
    """`environment:`: the variables and the interpreter."""

    env: dict[str, str] = Field(default={}, description="Variables of the submission.")
    include_os_env: bool = Field(default=False, description="Also pass the variables of the host.")
    pass_env: list[str] = Field(default=[], description="Host variables to pass although they look like secrets.")
    python: str | None = Field(default=None, description='The interpreter: a version such as "3.12", or a path.')


class SetupBlock(_Strict):
    """`setup:`: commands that prepare a submission, once."""

    commands: list[str] = Field(default=[], description="Run once per submission and environment.")
    eval_commands: list[str] = Field(default=[], description="Run after `commands`, when evaluating.")
    resume_commands: list[str] = Field(default=[], description="For tools that resume an agent's work; not run here.")
    virtualenv: bool = Field(
        default=False, description="Make a Python virtual environment from requirements.txt or pyproject.toml."
    )
    network: bool = Field(default=True, description="Whether the commands can reach the network.")
    strict: bool = Field(default=False, description="End the run as an error when a command fails.")


class LimitsBlock(_Strict):
    """`limits:`: what a case may take; null means no limit. The defaults are far above what an honest program needs."""

    memory_mb: Annotated[int, Field(gt=0)] | None = Field(default=4096, description="Of all its processes together.")
    processes: Annotated[int, Field(gt=0)] | None = Field(
        default=1024, description="At the same time, threads included."
    )
    file_size_mb: Annotated[int, Field(gt=0)] | None = Field(default=1024, description="Of each file that it writes.")
    open_files: Annotated[int, Field(gt=0)] | None = Field(default=4096, description="Of each process.")
    case_s: Annotated[float, Field(gt=0)] | None = Field(
        default=3600, description="Seconds that a case may take which has no timeout, or a longer one."
    )
    output_mb: Annotated[float, Field(gt=0)] = Field(default=10, description="Kept of each stream; the rest is cut.")
    disk_mb: Annotated[int, Field(gt=0)] | None = Field(
        default=4096, description="Of all that it writes together; each file counts as 4 KiB at least."
    )

    def as_limits(self) -> Limits:
        """The same in bytes."""
        return Limits(
            memory=None if self.memory_mb is None else self.memory_mb << 20,
            processes=self.processes,
            file_size=None if self.file_size_mb is None else self.file_size_mb << 20,
            open_files=self.open_files,
            output=int(self.output_mb * (1 << 20)),
            disk=None if self.disk_mb is None else self.disk_mb << 20,
        )


class CommandsBlock(_Strict):
    """`commands:`: how the submission is started."""

    command: str = Field(default="python", min_length=1, description="What starts the entry file.")
    entry_file: str = Field(default="{entry_file}", description="Pattern of the file's name: {entry_file}.py")
    agent_command: str | None = Field(default=None, description="For tools that let an agent run the submission.")

    @field_validator("entry_file")
    @classmethod
    def _has_placeholder(cls, value: str) -> str:
        if "{entry_file}" not in value:
            raise ValueError('should contain "{entry_file}", which stands for the problem\'s entry_file')
        return value


class SnapshotBlock(_Strict):
    """`snapshot:`: which files of the submission's folder count."""

    keep_globs: list[str] = Field(default=[], description="Take only these; everything when empty.")
    ignore_globs: list[str] = Field(default=["*.pyc", "venv/*", ".venv/*"], description="Leave these out.")
    compression: Literal["gz", "bz2", "xz", "none"] | None = Field(default=None, description="Of archived snapshots.")
    archive_save_dir: str | None = Field(default=None, description="Where archived snapshots go.")


class SandboxBlock(_Strict):
    """`sandbox:`: what a program sees of this machine besides the system and its interpreter."""

    read_only_paths: list[str] = Field(default=[], description="Folders and files that it may read.")


class DockerBlock(_Strict):
    """`docker:`: the container."""

    image: str = Field(min_length=1)
    binary: str = "docker"
    workdir: str = "/workspace"
    mount_workspace: bool = True
    extra_mounts: dict[str, str] | list[str] = Field(default=[], description="Read-only mounts, host:container.")
    network: str | None = Field(default=None, description="Default: none at all.")
    user: str | None = Field(default=None, description="Default: an unprivileged user.")


class EnvironmentSpec(_Strict):
    """An environment of one of three types. Validating this class gives the class of the type that is named."""

    type: Literal["local", "sandbox", "docker"]
    name: str = Field(default="", description="Default: the name of the file.")
    environment: EnvironmentBlock = Field(default_factory=EnvironmentBlock)
    setup: SetupBlock = Field(default_factory=SetupBlock)
    commands: CommandsBlock = Field(default_factory=CommandsBlock)
    limits: LimitsBlock = Field(default_factory=LimitsBlock)
    snapshot: SnapshotBlock = Field(default_factory=SnapshotBlock)

    @model_validator(mode="wrap")
    @classmethod
    def _choose_type(cls, data: Any, handler: Any) -> Any:
        if cls is EnvironmentSpec and isinstance(data, Mapping):
            chosen = _TYPES.get(str(data.get("type", "")))
            if chosen is not None:
                return chosen.model_validate(data)
        return handler(data)

    @classmethod
    def from_yaml(cls, path: str | Path) -> EnvironmentSpec:
        """Read an environment from a file, or by the name of a shipped one.

        Raises:
            EnvironmentFileError: there is none, or something in it is wrong; the text shows everything that is.
        """
        findings = Findings()
        spec = read_environment(find_environment(path), findings)
        if spec is None or findings.errors:
            raise EnvironmentFileError(findings.errors)
        if not isinstance(spec, cls):
            raise EnvironmentFileError(f'{path}: an environment of type "{spec.type}" is no {cls.__name__}')
        return spec

    def get_full_env(self, other: Mapping[str, str] | None = None) -> dict[str, str]:
        """The host's variables (if they are included, and without secrets), then our own, then `other`."""
        return {**self.host_env(), **self.environment.env, **(other or {})}

    def host_env(self) -> dict[str, str]:
        """The variables of the host that this environment passes on: all or none, secrets only by name."""
        env: dict[str, str] = {}
        if self.environment.include_os_env:
            env.update((name, value) for name, value in os.environ.items() if not _SECRET.search(name))
        env.update((name, os.environ[name]) for name in self.environment.pass_env if name in os.environ)
        return env

    def passed_secrets(self) -> list[str]:
        """The values of host variables that look like secrets and are passed on all the same."""
        names = [name for name in self.environment.pass_env if _SECRET.search(name)]
        return [value for name in names if len(value := os.environ.get(name, "")) >= _SHORTEST_SECRET]

    def get_command(self, entry_file: str) -> str:
        """The start of the command line: the command and the entry file under its pattern."""
        return f"{self.commands.command} {self.commands.entry_file.replace('{entry_file}', entry_file)}"


class LocalEnvironmentSpec(EnvironmentSpec):
    """Plain processes on this machine: the quickest, and no protection."""

    type: Literal["local"] = "local"
    local: dict[str, Any] = Field(default={}, description="Kept for tools that read it.")


class SandboxEnvironmentSpec(EnvironmentSpec):
    """Processes in namespaces of their own: no network, a read-only system, only the workspace writable."""

    type: Literal["sandbox"] = "sandbox"
    sandbox: SandboxBlock = Field(default_factory=SandboxBlock)


class DockerEnvironmentSpec(EnvironmentSpec):
    """Processes in a container."""

    type: Literal["docker"] = "docker"
    docker: DockerBlock


_TYPES: dict[str, type[EnvironmentSpec]] = {
    "local": LocalEnvironmentSpec,
    "sandbox": SandboxEnvironmentSpec,
    "docker": DockerEnvironmentSpec,
}


def shipped_environments() -> dict[str, Path]:
    """The environments that come with the package, by name."""
    from importlib import resources

    folder = Path(str(resources.files("slop_code") / "environments"))
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def find_environment(wanted: str | Path) -> Path:
    """The file that `wanted` means: a path, a file in configs/environments here, or a shipped environment.

    Raises:
        EnvironmentFileError: there is none; the text names those that can be had.
    """
    path = Path(wanted)
    if path.is_file():
        return path
    shipped = shipped_environments()
    if path.parent in (Path(), CONVENTIONAL_FOLDER):
        here = CONVENTIONAL_FOLDER / f"{path.name.removesuffix('.yaml')}.yaml"
        name = here.stem
        if here.is_file():
            return here
        if name in shipped:
            return shipped[name]
    known = sorted({*shipped, *(file.stem for file in CONVENTIONAL_FOLDER.glob("*.yaml"))})
    raise EnvironmentFileError(
        f'no environment "{wanted}"{did_you_mean(path.stem, known)}: give a file, or one of {listed(known)}'
    )


def read_environment(path: Path, findings: Findings) -> EnvironmentSpec | None:
    """Read an environment file; everything that is wrong goes to `findings`."""
    document = read_document(path, findings)
    if document is None:
        return None
    raw = document.data
    if not isinstance(raw, Mapping):
        found = "the file is empty" if raw is None else f"found {shown_value(raw)}"
        findings.error(f"an environment should be a mapping of keys to values; {found}", document)
        return None
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        if "type" not in raw:
            typo = closest("type", [str(key) for key in raw])
            hint = f' ("{typo}" looks like a misspelling of it)' if typo else ""
            findings.error(f'the environment lacks the key "type"{hint}: one of {", ".join(_TYPES)}', document)
        else:
            findings.error(
                f'"type" should be one of {", ".join(_TYPES)}, found {shown_value(kind)}{did_you_mean(kind, _TYPES)}',
                document,
                ("type",),
            )
        return None
    try:
        return _TYPES[kind].model_validate({"name": path.stem, **_with_texts_as_written(raw, document)})
    except ValidationError as error:
        report_validation_error(
            error, raw, lambda at: ("the environment", at), document, (), findings, model=_TYPES[kind]
        )
        return None


def _with_texts_as_written(raw: Mapping[str, Any], document: Document) -> dict[str, Any]:
    values = {str(key): value for key, value in raw.items()}
    block = values.get("environment")
    if isinstance(block, Mapping):
        texts = {key: document.as_text(block[key], ("environment", key)) for key in ("env", "python") if key in block}
        values["environment"] = {**block, **texts}
    return values
