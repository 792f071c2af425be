"""One attack on one driver, by the way that every case takes: adapter, session, verdict, and then an honest case."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slop_code.evaluation import ProblemConfig, initialize_verifier
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.lanes import Lane, make_adapter
from slop_code.evaluation.runner import run_case
from slop_code.evaluation.verifiers import VerifierReport
from slop_code.execution.assets import Assets
from slop_code.execution.driver import open_driver
from slop_code.execution.errors import ExecutionError
from slop_code.execution.session import Session
from tests.execution.drivers import make_spec
from tests.execution.test_driver_contract import alive
from tests.hostile.host import TOKEN, Host

if TYPE_CHECKING:
    from tests.hostile.attack import Attack

SUBMISSIONS = Path(__file__).with_name("submissions")
LIMITS = {
    "memory_mb": 256,
    "processes": 40,
    "file_size_mb": 4,
    "open_files": 64,
    "output_mb": 0.25,
    "disk_mb": 24,
    "case_s": 20,
}
# A folder with so many files is shared by all cases and never copied.
_DEPENDENCIES = "mkdir dependencies; for n in $(seq 250); do echo shared > dependencies/$n.py; done"
_PROBLEM = """
name: hostile
version: 1
description: Attacks.
entry_file: honest
loader_script: builtin:files
adapter: {adapter}
checkpoints: {{one: {{groups: {{core: {{type: Core}}}}}}}}
"""
_ADAPTERS = {
    "cli": "{type: cli}",
    "api": "{type: api, health_path: /health, max_startup_attempts: 1, delay_startup_attempts: 0}",
}


@dataclass
class Scene:
    """What came of an attack: the reports on it, on its second part, and on the honest case after it."""

    host: Host
    image: Path
    asset: Path
    report: VerifierReport
    again: VerifierReport | None
    witness: VerifierReport
    seconds: float
    alive: list[int]

    def told(self) -> str:
        """What the submission wrote to stdout, answered, or left in tracked files, as text."""
        reports = [self.report, *([self.again] if self.again else [])]
        return "\n".join(
            str(line.actual)
            for report in reports
            for name, line in report.results.items()
            if name == "output" or name.startswith("files-")
        )

    def heard(self) -> str:
        """The same, and what it complained of, and what the report says besides."""
        return "\n".join([self.told(), str(self.actual("stderr")), str(self.report.error), *self.report.warnings])

    def actual(self, name: str) -> object:
        line = self.report.results.get(name)
        return None if line is None else line.actual


class Stage:
    """A driver with the hostile submissions prepared, and one session, which is replaced when an attack costs it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._stack = contextlib.ExitStack()
        self._spec = make_spec(
            kind,
            limits=LIMITS,
            commands={"entry_file": "{entry_file}.attack"},
            setup={"commands": [_DEPENDENCIES], "network": False},
            environment={"env": {"PYTHONPATH": "."}},
        )
        self._driver = open_driver(self._spec)
        self._stack.callback(self._driver.close)
        self._image = self._driver.prepare(SUBMISSIONS)
        self._stack.callback(self._image.close)
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="hostile-problem-")))
        self._problems = {name: _problem(folder / name, adapter) for name, adapter in _ADAPTERS.items()}
        self._verifier = initialize_verifier(self._problems["cli"], self._problems["cli"].load_checkpoint("one"))
        (folder / "given.txt").write_text("given")
        self._assets = Assets.copy(folder, {"given": ("given.txt", None)})
        self._stack.callback(self._assets.close)
        self._session: Session | None = None
        self._neighbour: Session | None = None

    def close(self) -> None:
        self._drop()
        self._stack.close()

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._driver.session(self._image, self._assets.folder)
        return self._session

    @property
    def image_folder(self) -> Path:
        return self._image.folder

    def neighbour(self) -> Session:
        """Another session on the same submission, with a secret in its workspace and a process running."""
        if self._neighbour is None:
            self._neighbour = self._driver.session(self._image)
            self._stack.callback(self._neighbour.close)
            self._neighbour.restore()
            (self._neighbour.workspace / "secret.txt").write_text(TOKEN)
            self._neighbour.start("sh -c 'sleep 1000; : process_of_a_neighbour'")
        return self._neighbour

    def play(self, attack: Attack, host: Host) -> Scene:
        """What comes of an attack, which is put again with more time if it had too little to begin."""
        scene = self._play_once(attack, host)
        while attack.had_no_time(scene) and attack.timeout < 20:
            attack = replace(attack, timeout=4 * attack.timeout)
            scene = self._play_once(attack, host)
        return scene

    def _play_once(self, attack: Attack, host: Host) -> Scene:
        marker = f"hostile-{os.getpid()}-{secrets.token_hex(6)}"
        arguments = attack.arguments(host, self)
        assert self._assets.folder is not None
        try:
            with host.visiting(int(arguments[0])) if attack.visited else contextlib.nullcontext():
                started = time.monotonic()
                report = self._put(attack, marker, [*attack.first, *arguments])
                seconds = time.monotonic() - started
            left_alive = alive(marker)
            again = self._put(attack, marker, [*attack.second, *arguments]) if attack.second else None
        finally:
            for left in Path("/dev/shm").iterdir():
                if left.name.startswith(marker):
                    left.unlink()
        asset = self._assets.folder / "given" / "given.txt"
        image = self._image.folder / "workspace"
        return Scene(host, image, asset, report, again, self._witness(), seconds, left_alive)

    def mend(self, host: Host) -> None:
        """Put back what an attack could change where a driver does not keep it from that."""
        host.target.write_text(TOKEN)
        assert self._assets.folder is not None
        (self._assets.folder / "given" / "given.txt").write_text("given")
        for name in ("3.py", "7.py"):
            (self._image.folder / "workspace" / "dependencies" / name).write_text("shared\n")
        message = host.folder / "hostile-message"
        if message.exists():
            shutil.rmtree(message)

    def _put(self, attack: Attack, marker: str, arguments: list[str]) -> VerifierReport:
        problem = self._problems[attack.kind].model_copy(update={"entry_file": attack.path})
        if attack.kind == "api":
            settings = {"arguments": [marker, *arguments], "startup_timeout_s": attack.startup_s}
            config = problem.adapter.model_copy(update=settings)
            problem = problem.model_copy(update={"adapter": config})
        return self._run(problem, attack.case(marker, arguments), attack.expected(), attack.requests)

    def _witness(self) -> VerifierReport:
        case = CLICase(id="witness", group="core", group_type="Core", timeout_s=30)
        return self._run(self._problems["cli"], case, CLIResult(output="honest\n", status_code=0))

    def _run(self, problem: ProblemConfig, case: BaseCase, expected: CaseResult, times: int = 1) -> VerifierReport:
        checkpoint = problem.load_checkpoint("one")
        try:
            self.session.restore()
        except ExecutionError:
            # As `Lanes` does it: whatever was done to this one, a new one has nothing of it.
            self._drop()
            self.session.restore()
        lane = Lane(self.session, make_adapter(problem, checkpoint, self._spec, self.session, self._assets))
        try:
            for _ in range(times):
                report = run_case(case, expected, lane.use(), self._verifier, problem, checkpoint)
        finally:
            lane.adapter.close()
        if report.outcome == "error":
            self._drop()
        return report

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def _problem(folder: Path, adapter: str) -> ProblemConfig:
    folder.mkdir()
    (folder / "config.yaml").write_text(_PROBLEM.format(adapter=adapter))
    return ProblemConfig.from_yaml(folder)
