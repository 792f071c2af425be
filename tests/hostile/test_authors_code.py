"""Authors' code is trusted, but no accident of it may spoil a run: the groups beside it are judged as without it.

What ends a process, or hangs, is in tests/running/test_author_processes.py.
"""

from __future__ import annotations

import locale
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.verifiers import VerifierError
from tests.execution.test_driver_contract import alive
from tests.hostile.whole import evaluate, write_problem

# Seconds to sleep that no other test process uses.
OWN = f"27{os.getpid()}"
COMMON = """
import builtins, gc, json, locale, logging, os, pickle, random, signal, socket, subprocess, sys, threading, time
from pathlib import Path
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, NoOpStore
from slop_code.evaluation.verifiers import VerificationResult

DEEDS = {deeds!r}

def do(group, part):
    if group.startswith(part) or group.startswith("both"):
        exec(DEEDS[group], globals())
"""
LOADER = """
class Loader(BaseLoader):
    def __call__(self, group, store):
        for number in range(3):
            if number == 1:
                do(group.name, "loader")
            yield CLICase(id=f"{number}", arguments=[f"{number}"]), CLIResult(output=f"{number}\\n", status_code=0)
"""
VERIFIER = """
class Verifier:
    def __init__(self, checkpoint_config): pass
    def __call__(self, group_name, case_name, actual, expected):
        if case_name == "1":
            do(group_name, "verifier")
        return {"output": VerificationResult.create(random.random(), actual.output == expected.output)}
"""
PASSED = {"0": "passed", "1": "passed", "2": "passed"}
LOADER_LOST = {"0": "passed", "(loader)": "error"}
ONE_LOST = {"0": "passed", "1": "error", "2": "passed"}
# Each is done in the second of three cases, by the part that its name begins with.
CHANGES = {
    "both print": "print('noise' * 1000); sys.stderr.write('noise')",
    "both print beneath Python": "os.write(1, b'noise' * 10000); os.system('echo noise')",
    "both print escapes": "sys.stdout.write('\\x1b[2J' * 100)",
    "both change the working directory": "os.chdir('/')",
    "both remove their working directory": "d = Path(f'/tmp/gone-{os.getpid()}'); d.mkdir(); os.chdir(d); d.rmdir()",
    "both change the environment": "os.environ.clear()",
    "both change the locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "both seed": "random.seed(1)",
    "both change the umask": "os.umask(0o777)",
    "both change signal handlers": "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 10, 12, 13, 14, 15, 17)]",
    "both change the recursion limit": "sys.setrecursionlimit(200)",
    "both leak threads": "threading.Thread(target=time.sleep, args=(1000,)).start()",
    "both leak threads that print": "threading.Thread(target=lambda: [print(n) for n in range(10**9)], daemon=True).start()",
    "both leak children": f"subprocess.Popen(['sleep', '{OWN}'])",
    "both leak sessions": f"subprocess.Popen(['sh', '-c', 'sleep {OWN} & sleep {OWN}'], start_new_session=True)",
    "both patch json": "json.dumps = json.loads = None",
    "both patch open": "builtins.open = None",
    "both patch time": "time.time = time.monotonic = lambda: 0.0",
    "both patch random": "random.random = lambda: 0.5; random.setstate = None",
    "both close descriptors": "os.closerange(0, 3)",
    "both close streams": "sys.stdout.close(); sys.stderr.close()",
    "both replace streams": "sys.stdout = sys.stderr = sys.stdin = None",
    "both silence logging": "logging.disable(100); logging.shutdown()",
    "both stop the collector": "gc.disable(); gc.freeze()",
}
RAISES = {
    "loader raises": ("raise KeyError('x')", LOADER_LOST),
    "loader exits": ("sys.exit(0)", LOADER_LOST),
    "verifier raises": ("raise KeyError('x')", ONE_LOST),
    "verifier raises what is no Exception": ("raise BaseException('x')", ONE_LOST),
    "verifier exits": ("sys.exit(0)", ONE_LOST),
}
# These break what we judge with, in their own process: their group may be lost, and says so.
BREAKS = {
    "both patch isinstance": "builtins.isinstance = lambda *_: False",
    "both patch pickle": "pickle.dumps = pickle.loads = None",
    "both patch sockets": "socket.socket.sendall = None",
    "both patch our desk": "import slop_code.evaluation.desk as desk; desk.judge = None",
    "both patch our channel": "import slop_code.evaluation.channel as channel; channel.Channel.send = None",
    "both close everything": "os.closerange(0, 256)",
    "both forget their modules": "sys.path.clear(); sys.modules.clear()",
    "both trace": "sys.settrace(lambda *_: 1 / 0)",
}
DEEDS = {**CHANGES, **{name: deed for name, (deed, _) in RAISES.items()}, **BREAKS}
HONEST = ("honest before", "honest after")


def run(root: Path, deeds: dict[str, str], at_import: str = "") -> CorrectnessResults:
    """A run of a group for each deed, between two honest ones; the scripts do something when they are imported."""
    groups = {name: {"type": "Core"} for name in (HONEST[0], *deeds, HONEST[1])}
    problem = write_problem(root / "problem", {}, loader_script="loader.py", groups=groups)
    common = COMMON.format(deeds=deeds) + at_import
    (problem / "loader.py").write_text(common + LOADER)
    (problem / "verifier.py").write_text(common + VERIFIER)
    submission = root / "submission"
    submission.mkdir()
    (submission / "main.sh").write_text('echo "$1"')
    # Quicker than Python, and there are many cases.
    shell = {"commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}
    return evaluate("local", problem, submission, blocks=shell)


def verdicts(results: CorrectnessResults, group: str) -> dict[str, Any]:
    return {report.id: report.outcome for report in results.reports if report.group == group}


def reports(results: CorrectnessResults, group: str) -> list[Any]:
    """All that is said about a group, but for times."""
    times = {"duration", "run_s", "cpu_s", "peak_memory", "timestamp"}
    return [
        {
            **report.model_dump(exclude={*times, "results"}),
            "results": {
                name: line.model_dump()
                for name, line in report.results.items()
                if name not in {"elapsed", "execution_time"}
            },
        }
        for report in results.reports
        if report.group == group
    ]


def state() -> dict[str, Any]:
    """What authors' code could change in this process."""
    mask = os.umask(0o022)
    os.umask(mask)
    return {
        "directory": Path.cwd(),
        "environment": dict(os.environ),
        "umask": mask,
        "locale": locale.setlocale(locale.LC_ALL),
        "random": random.getstate(),
        "handlers": [signal.getsignal(number) for number in signal.valid_signals()],
        "recursion": sys.getrecursionlimit(),
        "threads": threading.active_count(),
        "descriptors": sorted(path.name for path in Path("/proc/self/fd").iterdir()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
    }


def test_whatever_authors_code_does_the_groups_beside_it_are_judged_as_without_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    alone = run(tmp_path / "alone", {})
    before = state()
    results = run(tmp_path / "among", DEEDS)
    assert state() == before
    assert capfd.readouterr().out == ""
    assert alive(f"sleep\0{OWN}") == []
    for name in HONEST:
        assert verdicts(results, name) == PASSED
        assert reports(results, name) == reports(alone, name)
    expected = dict.fromkeys(CHANGES, PASSED) | {name: outcomes for name, (_, outcomes) in RAISES.items()}
    assert {name: verdicts(results, name) for name in expected} == expected
    for name in BREAKS:
        assert set(verdicts(results, name).values()) <= {"passed", "error"}
        assert verdicts(results, name), f"nothing is said about {name}"


def test_what_scripts_do_when_they_are_imported_changes_no_verdict(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = state()
    name = "both print beneath Python"
    results = run(
        tmp_path, {name: CHANGES[name]}, "\n".join(deed for name, deed in CHANGES.items() if " patch " not in name)
    )
    assert state() == before
    assert capfd.readouterr().out == ""
    assert alive(f"sleep\0{OWN}") == []
    assert {group: verdicts(results, group) for group in (*HONEST, name)} == dict.fromkeys((*HONEST, name), PASSED)


@pytest.mark.parametrize("deed", ["sys.exit(0)", "raise BaseException('x')", "1 / 0"])
def test_scripts_that_end_their_import_are_errors_of_the_problem(deed: str, tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match=r"verifier\.py"):
        run(tmp_path, {}, deed)
