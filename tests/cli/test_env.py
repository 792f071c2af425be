"""`slop-code env`: environments by name, and what works on this machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from slop_code.execution import diagnosis
from slop_code.execution.errors import ExecutionError
from tests import warm
from tests.engines import bwrap_skip_reason


def slop_code(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, "SLOP_CODE_CACHE": str(cwd / "cache"), **env}
    return subprocess.run(
        [*warm.slop_code(), *arguments], cwd=cwd, env=own, capture_output=True, text=True, check=False
    )


def test_ls_has_shipped_and_local_environments_and_shows_broken_ones(tmp_path: Path) -> None:
    folder = tmp_path / "configs" / "environments"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("type: local\n")
    (folder / "bad.yaml").write_text("type: local\nsetupp: {}\n")
    (folder / "local-py.yaml").write_text("type: sandbox\n")
    done = slop_code("env", "ls", "--json", cwd=tmp_path)
    found = {row["name"]: (row["type"], row["where"]) for row in json.loads(done.stdout)}
    assert done.returncode == 0
    assert found["sandbox-py"] == ("sandbox", "shipped")
    assert found["docker-python3.12-uv"] == ("docker", "shipped")
    assert found["mine"] == ("local", "configs/environments/mine.yaml")
    assert found["local-py"] == ("sandbox", "configs/environments/local-py.yaml")
    assert found["bad"] == ("broken", "configs/environments/bad.yaml")
    assert 'configs/environments/bad.yaml:2: the environment has unknown key "setupp"' in done.stderr
    table = slop_code("env", "ls", cwd=tmp_path).stdout.splitlines()
    assert table[0].split() == ["environment", "type", "where"]
    assert ["mine", "local", "configs/environments/mine.yaml"] in [row.split() for row in table]


def test_check_runs_a_command_in_the_default_environment(tmp_path: Path) -> None:
    done = slop_code("env", "check", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["default_works"]) == (0, True)
    assert found["default"] == ("local-py" if bwrap_skip_reason() else "sandbox-py")
    checks = {check["name"]: check for check in found["checks"]}
    assert {"bubblewrap", "user namespaces", "control groups", "Docker", "uv", "Python"} <= checks.keys()
    assert checks["the default environment"]["detail"].startswith(f"{found['default']}: a command ran in it")
    assert checks["Python"]["detail"].startswith(f"{platform.python_version()} (the default)")
    assert all(check["ok"] or check["remedy"] for check in checks.values())


def test_check_without_bubblewrap_says_how_to_get_it_and_falls_back(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    done = slop_code("env", "check", cwd=tmp_path, PATH=str(folder), DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok   the default environment  local-py: a command ran in it, without protection")
    at = next(number for number, text in enumerate(lines) if text.startswith("not  bubblewrap"))
    assert "bubblewrap is not installed" in lines[at]
    assert lines[at + 1].strip() == "→ apt-get install bubblewrap, dnf install bubblewrap or the like"
    at = next(number for number, text in enumerate(lines) if text.startswith("not  Docker"))
    assert "start one, or point DOCKER_HOST to it" in lines[at + 1] or "pip install" in lines[at + 1]


def test_a_default_that_does_not_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise ExecutionError("no shell here")

    monkeypatch.setattr(diagnosis, "_run_in", broken)
    check = diagnosis._default_check("local-py")
    assert (check.ok, check.detail) == (False, "local-py: no shell here")
