"""What is said when a machine cannot run an environment: why, and the way out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slop_code.execution import ExecutionError
from slop_code.execution.bubblewrap import probe
from slop_code.execution.driver import open_driver
from tests.engines import docker_skip_reason
from tests.execution.drivers import make_spec

needs_docker = pytest.mark.skipif(docker_skip_reason() is not None, reason=str(docker_skip_reason()))


def test_without_bubblewrap_the_sandbox_says_so_and_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert probe.__wrapped__().trouble == (
        "bubblewrap is not installed; install bubblewrap (apt-get install bubblewrap), "
        "or use an environment of type local or docker"
    )


def test_without_namespaces_the_sandbox_gives_bubblewraps_own_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reason = probe.__wrapped__().trouble
    assert reason is not None
    assert "No permissions to create new namespace" in reason


@pytest.mark.parametrize("options", ["", "--size"])
def test_a_bubblewrap_that_cannot_limit_memory_on_files_is_used_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str
) -> None:
    script = f"""#!/bin/sh
    for argument; do
        [ "$argument" = --size ] && [ -z "{options}" ] && {{ echo "bwrap: Unknown option --size" >&2; exit 1; }}
    done
    exit 0
    """
    (tmp_path / "bwrap").write_text(script)
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert probe.__wrapped__() == (None, bool(options))


def test_without_an_engine_docker_says_so_and_the_ways_out(tmp_path: Path) -> None:
    # In a process of its own: the SDK leaves the socket open on which nobody answered.
    code = (
        "from tests.execution.drivers import make_spec; from slop_code.execution.driver import open_driver\n"
        "from slop_code.execution import ExecutionError\n"
        "try:\n    open_driver(make_spec('docker'))\nexcept ExecutionError as error:\n    print(error)\n"
    )
    env = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("no Docker engine answers (")
    assert "use an environment of type sandbox or local" in done.stdout


@needs_docker
def test_an_image_that_is_not_there_and_cannot_be_pulled_is_told() -> None:
    with pytest.raises(
        ExecutionError, match=r'the image "no-such/image:1" is not on this machine and cannot be pulled'
    ):
        open_driver(make_spec("docker", docker={"image": "no-such/image:1"}))


@needs_docker
def test_containers_of_dead_evaluators_are_removed_and_those_of_living_ones_stay() -> None:
    import docker

    from slop_code.execution.docker_container import LABEL, _boot, _owner_label
    from tests.engines import docker_image

    client = docker.from_env()
    try:
        labels = {"dead": f"999999:1:{_boot()}", "ours": _owner_label()}
        made = {
            name: client.containers.create(docker_image(), ["sleep", "60"], labels={LABEL: label}, network_mode="none")
            for name, label in labels.items()
        }
        open_driver(make_spec("docker")).close()
        left = {container.id for container in client.containers.list(all=True, ignore_removed=True)}
        assert made["dead"].id not in left
        assert made["ours"].id in left
        made["ours"].remove(force=True)
    finally:
        client.close()


@needs_docker
def test_a_workspace_that_is_not_mounted_is_refused() -> None:
    with pytest.raises(ExecutionError, match="mount_workspace: false is not possible"):
        open_driver(make_spec("docker", docker={"mount_workspace": False}))
