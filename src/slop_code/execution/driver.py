"""From an environment and a submission to sessions in which its cases run."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slop_code.execution.bubblewrap import bwrap
from slop_code.execution.commands import Command, Limits
from slop_code.execution.environment import (
    DockerEnvironmentSpec,
    EnvironmentSpec,
    LocalEnvironmentSpec,
    SandboxEnvironmentSpec,
)
from slop_code.execution.errors import ExecutionError
from slop_code.execution.image import Image, Preparation, prepare_image
from slop_code.execution.interpreter import Interpreter, choose_interpreter
from slop_code.execution.local import LocalSession, host_path
from slop_code.execution.mounts import LAYOUT, arguments, read_only, system_mounts, uv_mount
from slop_code.execution.process import Warden
from slop_code.execution.python_setup import find_uv, virtualenv_commands
from slop_code.execution.sandbox import SandboxSession, enter, isolation, sandbox_user
from slop_code.execution.scratch import make_scratch
from slop_code.execution.session import HOST_PATH, PreparedTools, Session, SetupStep
from slop_code.execution.workspace import give, remove

_SETUP_TIMEOUT_S = 1800.0
_SETUP_LIMITS = Limits(memory=None, processes=None, file_size=None, open_files=None, output=1 << 20)
# What package managers need to find their registries; passed to setup commands only.
_SETUP_VARIABLES = ("PIP_", "UV_", "NPM_CONFIG_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Driver(ABC):
    """Prepares submissions in one kind of environment, and opens sessions on them."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self.spec = spec

    @abstractmethod
    def prepare(self, submission: Path) -> Image:
        """The submission's image, prepared once and cached.

        Raises:
            ExecutionError: it cannot be prepared, or a setup command failed in a strict environment.
        """

    @abstractmethod
    def session(self, image: Image, assets: Path | None = None) -> Session:
        """A new place to run cases in; `assets` is a folder that they may read."""

    def close(self) -> None:  # noqa: B027  # most drivers hold nothing
        """Let go of what the driver itself holds; its sessions are closed by then."""


def open_driver(spec: EnvironmentSpec) -> Driver:
    """The driver for an environment.

    Raises:
        ExecutionError: this machine cannot run it; the text says why and what to do.
    """
    if isinstance(spec, LocalEnvironmentSpec):
        return LocalDriver(spec)
    if isinstance(spec, SandboxEnvironmentSpec):
        return SandboxDriver(spec)
    if isinstance(spec, DockerEnvironmentSpec):
        from slop_code.execution.docker import DockerDriver

        return DockerDriver(spec)
    raise ExecutionError(f'unknown type of environment "{spec.type}"')


class LocalDriver(Driver):
    """Plain processes."""

    spec: LocalEnvironmentSpec

    def prepare(self, submission: Path) -> Image:
        interpreter = choose_interpreter(self.spec.environment.python, submission)

        def build(folder: Path) -> Preparation:
            tools = str(folder / "tools")
            prepared = _tools(self.spec, interpreter, tools)
            lines = _setup_lines(self.spec, submission, interpreter, tools)
            _link_uv(folder)
            steps: list[SetupStep] = []
            if lines:
                home, warden = make_scratch("setup-")
                env = _setup_environment(self.spec, prepared, str(home), str(home), host_path())
                try:
                    steps = run_setup(lines, warden, Command(["/bin/sh", "-c"], str(folder / "workspace"), env))
                finally:
                    warden.close()
            return Preparation(tuple(steps), prepared, interpreter.version)

        return prepare_image(submission, self.spec, _identity(interpreter), build)

    def session(self, image: Image, assets: Path | None = None) -> Session:
        return LocalSession(self.spec, image.template, image.preparation.tools, image.tools_folder, assets)


class SandboxDriver(Driver):
    """Processes in namespaces of their own."""

    spec: SandboxEnvironmentSpec

    def prepare(self, submission: Path) -> Image:
        interpreter = choose_interpreter(self.spec.environment.python, submission)
        uv = find_uv()

        def build(folder: Path) -> Preparation:
            prepared = _tools(self.spec, interpreter, LAYOUT.tools)
            lines = _setup_lines(self.spec, submission, interpreter, LAYOUT.tools)
            (folder / "tools" / "bin").mkdir()
            if uv is not None:
                # Something to mount it on; where it is on this machine may not exist in there.
                (folder / "tools" / "bin" / "uv").touch()
            steps = self._set_up(folder, lines, prepared, interpreter, uv) if lines else []
            return Preparation(tuple(steps), prepared, interpreter.version)

        return prepare_image(submission, self.spec, _identity(interpreter), build)

    def _set_up(
        self, folder: Path, lines: Sequence[str], prepared: PreparedTools, interpreter: Interpreter, uv: Path | None
    ) -> list[SetupStep]:
        owner = sandbox_user()
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        if owner is not None:
            give(folder, owner)
        env = _setup_environment(self.spec, prepared, LAYOUT.home, LAYOUT.tmp, HOST_PATH)
        visible = [interpreter.prefix, *map(Path, self.spec.sandbox.read_only_paths)]
        visible += [Path.home() / ".config" / "pip", Path.home() / ".config" / "uv"]
        network = self.spec.setup.network
        mounts = [*system_mounts(folder, folder / "tools", None, network=network), *read_only(visible), *uv_mount(uv)]
        wrapper = [
            bwrap(),
            *isolation(own_network=not network),
            *arguments(mounts),
            "--",
            *enter(owner),
            "/bin/sh",
            "-c",
        ]
        warden = Warden.launch()
        try:
            return run_setup(lines, warden, Command(wrapper, "/", env))
        finally:
            warden.close()
            for name in ("home", "tmp"):
                remove(folder / name)

    def session(self, image: Image, assets: Path | None = None) -> Session:
        interpreter = choose_interpreter(self.spec.environment.python, image.folder / "workspace")
        return SandboxSession(
            self.spec,
            image.template,
            image.preparation.tools,
            image.tools_folder,
            assets,
            needed=[interpreter.prefix],
            uv=find_uv(),
        )


def _setup_lines(spec: EnvironmentSpec, submission: Path, interpreter: Interpreter, tools: str) -> list[str]:
    uv = Path(f"{tools}/bin/uv") if find_uv() else None
    made = virtualenv_commands(submission, interpreter, f"{tools}/venv", uv) if spec.setup.virtualenv else []
    return [*made, *spec.setup.commands, *spec.setup.eval_commands]


def run_setup(lines: Sequence[str], warden: Warden, shell: Command) -> list[SetupStep]:
    """Run setup commands one after another; `shell` is what each of them is appended to.

    All of them are run: in the wild a later command often mends what an earlier one could not do.
    """
    steps: list[SetupStep] = []
    for line in lines:
        started = time.monotonic()
        outcome = warden.run(shell._replace(argv=[*shell.argv, line], timeout=_SETUP_TIMEOUT_S, limits=_SETUP_LIMITS))
        output = (outcome.stdout + outcome.stderr).decode("utf-8", "replace")
        steps.append(SetupStep(line, outcome.status, output[-20_000:], time.monotonic() - started))
    return steps


def _setup_environment(
    spec: EnvironmentSpec, tools: PreparedTools, home: str, tmp: str, folders: Sequence[str]
) -> dict[str, str]:
    passed = {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(_SETUP_VARIABLES) or name.upper() in _PROXIES
    }
    config = Path.home() / ".config" / "pip" / "pip.conf"
    ours = {"PATH": ":".join([*tools.path, *folders]), "HOME": home, "TMPDIR": tmp, "LANG": "C.UTF-8"}
    if config.is_file():
        ours["PIP_CONFIG_FILE"] = str(config)
    return {**spec.host_env(), **passed, **ours, **spec.environment.env}


def _tools(spec: EnvironmentSpec, interpreter: Interpreter, tools: str) -> PreparedTools:
    venv = f"{tools}/venv"
    own = [f"{venv}/bin"] if spec.setup.virtualenv else []
    env = {"VIRTUAL_ENV": venv} if spec.setup.virtualenv else {}
    return PreparedTools((*own, str(interpreter.path.parent), f"{tools}/bin"), env)


def _link_uv(folder: Path) -> None:
    """Make uv a prepared tool, for environments whose commands use it."""
    uv = find_uv()
    if uv is not None:
        (folder / "tools" / "bin").mkdir()
        (folder / "tools" / "bin" / "uv").symlink_to(uv)


def _identity(interpreter: Interpreter) -> Any:
    return {"python": str(interpreter.path), "version": interpreter.version, "uv": str(find_uv())}
