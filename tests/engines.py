"""Which real engines the tests can use here, found out by using them. `scripts/engines.sh` brings them up."""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NOBODY = 65534


def docker_image() -> str:
    """The image for tests: it has `sh`, the usual small programs, and Python as `python3` and `python`."""
    return os.environ.get("SLOP_CODE_TEST_IMAGE") or "slop-code-test:python"


@functools.cache
def docker_skip_reason() -> str | None:
    """Why nothing can be tested with Docker here; None when it can."""
    if reason := os.environ.get("SLOP_CODE_NO_DOCKER_REASON"):
        return reason
    try:
        docker: Any = importlib.import_module("docker")
    except ImportError as error:
        return f"the Python package docker cannot be imported: {error}"
    if not _somebody_listens():
        return "no Docker engine answers; scripts/test starts one where it may"
    try:
        client = docker.from_env(timeout=60)
        try:
            client.images.get(docker_image())
            # scripts/engines.sh sets this when it has run a container itself.
            return None if os.environ.get("SLOP_CODE_TEST_ENGINE") else _container_skip_reason(client)
        finally:
            client.close()
    except docker.errors.ImageNotFound:
        return f"the Docker engine has no image {docker_image()}; scripts/test makes it"
    except (docker.errors.DockerException, OSError) as error:
        return f"no Docker engine does what the tests need: {error}"


def _somebody_listens() -> bool:
    """The SDK leaves its socket open when nobody does."""
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not host.startswith("unix://"):
        return True
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(host.removeprefix("unix://")) == 0


def _container_skip_reason(client: Any) -> str | None:
    """An engine may answer and yet run on another machine, see other files, or be unable to run anything."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "here").write_text("yes")
        seen = client.containers.run(
            docker_image(),
            ["python3", "-c", "import os; print(os.path.exists('/shared/here'))"],
            volumes={folder: {"bind": "/shared", "mode": "ro"}},
            network_mode="none",
            remove=True,
        )
    return None if seen.strip() == b"True" else "the Docker engine does not see this machine's files"


@functools.cache
def bwrap_skip_reason() -> str | None:
    """Why nothing can be tested with bubblewrap here; None when it can."""
    if reason := os.environ.get("SLOP_CODE_NO_BWRAP_REASON"):
        return reason
    program = shutil.which("bwrap")
    if program is None:
        return "there is no bwrap on PATH; scripts/test installs it where it may"
    options = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    # Root may do what its unprivileged stand-in may not.
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(
            [program, *options, "true"], cwd="/", capture_output=True, text=True, timeout=30, check=False, **who
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap cannot be run here: {error}"
    return None if done.returncode == 0 else f"bwrap does not work here: {done.stderr.strip()}"
