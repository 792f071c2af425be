"""What works on this machine, found out by using it, and how to get what does not."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from slop_code.execution import cgroup
from slop_code.execution.bubblewrap import why_not
from slop_code.execution.environment import EnvironmentSpec, SetupBlock
from slop_code.execution.errors import ExecutionError
from slop_code.execution.interpreter import available, own_interpreter
from slop_code.execution.python_setup import find_uv

_WORD = "slop-code works"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried: whether it works, what was found, and what to do where it does not."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was tried. `default` is the environment that is used when none is asked for."""

    checks: list[Check]
    default: str
    default_works: bool


def diagnose() -> Diagnosis:
    """Try everything that environments build on, and a command in the default environment."""
    default = default_environment()
    trial = _default_check(default)
    checks = [
        trial,
        _bubblewrap(),
        _user_namespaces(),
        _control_groups(),
        _docker(),
        _uv(),
        _pythons(),
    ]
    return Diagnosis(checks, default, trial.ok)


def default_environment() -> str:
    """The shipped environment that is used when none is asked for: the sandbox where it works."""
    return "sandbox-py" if why_not() is None else "local-py"


def _default_check(name: str) -> Check:
    where = "the default environment"
    try:
        said = _run_in(EnvironmentSpec.from_yaml(name))
    except (ExecutionError, OSError) as error:
        return Check(where, False, f"{name}: {error}", "see below; an environment can be chosen with -e")
    if said != _WORD:
        return Check(where, False, f"{name}: a command gave {said[:200]!r}", "see below")
    protection = "" if name.startswith("sandbox") else ", without protection: for programs that you trust"
    return Check(where, True, f"{name}: a command ran in it{protection}")


def _run_in(spec: EnvironmentSpec) -> str:
    """What a command says that is run in an environment; its setup is left out, since that may take long."""
    from slop_code.execution.driver import open_driver

    driver = open_driver(spec.model_copy(update={"setup": SetupBlock()}))
    try:
        with tempfile.TemporaryDirectory(prefix="slop-code-check-") as folder:
            Path(folder, "word").write_text(_WORD)
            image = driver.prepare(Path(folder))
        try:
            session = driver.session(image)
            try:
                session.restore()
                outcome = session.run("cat word", timeout=30)
            finally:
                session.close()
        finally:
            image.close()
    finally:
        driver.close()
    return (outcome.stdout + outcome.stderr).decode("utf-8", "replace").strip()


def _bubblewrap() -> Check:
    reason = why_not()
    if reason is None:
        return Check("bubblewrap", True, _first_line(["bwrap", "--version"]) or "it makes namespaces")
    remedy = "apt-get install bubblewrap, dnf install bubblewrap or the like" if shutil.which("bwrap") is None else ""
    return Check("bubblewrap", False, reason.partition(";")[0], remedy or "see user namespaces below, or run as root")


def _user_namespaces() -> Check:
    name = "user namespaces"
    program = shutil.which("unshare")
    if program is None:
        return Check(name, False, "there is no unshare to try them with", "install util-linux")
    try:
        done = subprocess.run([program, "--user", "true"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return Check(name, False, str(error), "")
    if done.returncode == 0:
        return Check(name, True, "this user can make them")
    said = done.stderr.strip().splitlines()
    return Check(name, False, said[-1] if said else f"exit code {done.returncode}", _namespace_remedy())


def _namespace_remedy() -> str:
    settings = {
        "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
        "kernel.unprivileged_userns_clone": ("0", "1"),
        "user.max_user_namespaces": ("0", "15000"),
    }
    for name, (bad, good) in settings.items():
        try:
            value = Path("/proc/sys", *name.split(".")).read_text().strip()
        except OSError:
            continue
        if value == bad:
            return f"sysctl -w {name}={good} (as root)"
    return "in a container, start it with more privileges (for Docker: --security-opt seccomp=unconfined)"


def _control_groups() -> Check:
    made = cgroup.make_process_group(64)
    if made is None:
        return Check(
            "control groups",
            False,
            "this user cannot make any, so the number of processes is limited per user only",
            "run as root, or in a group that is delegated: systemd-run --user --scope -p Delegate=yes COMMAND",
        )
    made.rmdir()
    return Check("control groups", True, "they limit how many processes a case has")


def _docker() -> Check:
    from slop_code.execution.docker_container import connect_engine

    try:
        client = connect_engine()
    except ExecutionError as error:
        # "what (why): what to do"; the reason in the middle may have colons of its own.
        text = str(error)
        reason, mark, remedy = text.partition("): ") if "): " in text else text.partition(": ")
        return Check("Docker", False, reason + mark[:-2], remedy)
    try:
        version = client.version().get("Version", "")
    except Exception as error:  # noqa: BLE001  # whatever the SDK raises, the engine does not work
        return Check("Docker", False, str(error).splitlines()[0], "see the log of the engine")
    finally:
        client.close()
    return Check("Docker", True, f"the engine answers{f' (version {version})' if version else ''}")


def _uv() -> Check:
    uv = find_uv()
    if uv is None:
        return Check("uv", False, "not found, so venv and pip are used, which takes longer", "pip install uv")
    return Check("uv", True, _first_line([str(uv), "--version"]) or str(uv))


def _pythons() -> Check:
    try:
        own = own_interpreter()
    except ExecutionError as error:
        return Check("Python", False, str(error), "reinstall the Python that runs slop-code")
    others = [item.version for item in available() if item.version != own.version]
    return Check("Python", True, f"{own.version} (the default){''.join(f', {version}' for version in others)}")


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = done.stdout.strip().splitlines()
    return lines[0] if lines else ""
