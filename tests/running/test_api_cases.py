"""API cases from loader to report, against real servers."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults
from tests.execution.drivers import DRIVERS, make_spec
from tests.running.conftest import Run

SERVER = """
import argparse, json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--address")
parser.add_argument("--port", type=int)
parser.add_argument("--word", default="none")
args = parser.parse_args()
count = 0

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *values): pass
    def do_GET(self):
        global count
        count += 1
        if self.path == "/die":
            print("last words", file=sys.stderr, flush=True)
            os._exit(3)
        status = 503 if self.path == "/health" else 200
        text = open("given.txt").read() if self.path == "/file" else ""
        if self.path == "/write":
            open("written.txt", "w").write("by the server")
        body = json.dumps({"path": self.path, "count": count, "word": args.word, "text": text, "pid": os.getpid()}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

ThreadingHTTPServer((args.address, args.port), Handler).serve_forever()
"""
PYTHON = {"commands": {"command": "python3 -S", "entry_file": "{entry_file}.py"}}
API = {"type": "api", "response_is_json": True, "health_path": "/health"}


def serve(
    run: Run, cases: dict[str, str], groups: Any = None, program: str = SERVER, **config: Any
) -> CorrectnessResults:
    files = {f"one/{name}.yaml": text for name, text in cases.items()}
    adapter = {**API, **config.pop("adapter", {})}
    return run({"main.py": program}, files, groups, spec=PYTHON, adapter=adapter, **config)


def outputs(results: CorrectnessResults) -> list[Any]:
    return [report.results["output"].actual for report in results.reports]


OK = "expected: {status_code: 200}"


def test_one_server_per_group_keeps_its_state_for_all_its_cases(run: Run) -> None:
    cases = {f"{group}/{name}": f"path: /x\n{OK}" for group in ("g", "h") for name in "abc"}
    results = serve(run, cases, {"g": {"type": "Core"}, "h": {"type": "Core"}})
    # The health check is a request, too.
    assert [output["count"] for output in outputs(results)] == [2, 3, 4, 2, 3, 4]
    pids = [output["pid"] for output in outputs(results)]
    assert (len(set(pids[:3])), len(set(pids[3:])), pids[0] != pids[3]) == (1, 1, True)


def test_address_and_port_are_appended_then_the_adapters_arguments_with_assets_filled_in(run: Run) -> None:
    adapter = {"arguments": ["--word", "{{static:seed}}"]}
    results = serve(
        run,
        {"core/a": f"path: /x\n{OK}"},
        adapter=adapter,
        static_assets={"seed": {"path": "config.yaml", "save_path": "s.yaml"}},
    )
    assert outputs(results)[0]["word"].endswith("/s.yaml")


def test_placeholders_in_the_command_take_address_and_port(run: Run) -> None:
    spec = {"commands": {"command": "env WHERE={address}:{port} python3 -S", "entry_file": "{entry_file}.py"}}
    program = SERVER.replace(
        "args = parser.parse_args()",
        "args = parser.parse_args(); host, port = os.environ['WHERE'].split(':'); args.address, args.port = host, int(port)",
    )
    results = run({"main.py": program}, {"one/core/a.yaml": f"path: /x\n{OK}"}, spec=spec, adapter=API)
    assert results.reports[0].did_pass()


def test_any_answer_to_the_health_path_means_ready(run: Run) -> None:
    assert serve(run, {"core/a": f"path: /x\n{OK}"}).reports[0].did_pass()


def test_reset_stops_the_server_restores_the_workspace_and_starts_it_again(run: Run) -> None:
    cases = {
        "core/a": f"path: /write\ntracked_files: [written.txt]\n{OK}",
        "core/b": f"path: /x\ntracked_files: [written.txt]\n{OK}",
        "core/c": f"path: /x\nreset: true\ntracked_files: [written.txt]\n{OK}",
    }
    results = serve(run, cases)
    first, second, third = results.reports
    assert first.results["files-written.txt"].actual == "by the server"
    # The group is isolated, which has no effect here: the workspace is the server's.
    assert second.results["files-written.txt"].actual == "by the server"
    assert "files-written.txt" not in third.results
    assert [output["count"] for output in outputs(results)] == [2, 3, 2]


def test_input_files_are_written_into_the_servers_workspace_before_the_request(run: Run) -> None:
    results = serve(run, {"core/a": f"path: /file\ninput_files: {{given.txt: hello}}\n{OK}"})
    assert outputs(results)[0]["text"] == "hello"


def test_a_server_that_dies_is_restarted_and_the_case_that_found_it_dead_says_so(run: Run) -> None:
    cases = {"core/a": f"path: /x\n{OK}", "core/b": f"path: /die\n{OK}", "core/c": f"path: /x\n{OK}"}
    results = serve(run, cases)
    assert [report.outcome for report in results.reports] == ["passed", "failed", "passed"]
    stderr = results.reports[1].results["stderr"].actual
    assert "exit code 3" in stderr
    assert "last words" in stderr
    assert results.reports[1].results["status_code"].actual == -1


def test_a_server_error_comes_with_the_servers_last_words_in_the_report(run: Run) -> None:
    program = SERVER.replace("status = 503 if", "print('deep trouble', file=sys.stderr, flush=True); status = 503 if")
    (report,) = serve(run, {"core/a": "path: /health\nexpected: {status_code: 503}"}, program=program).reports
    assert report.did_pass()
    assert any("deep trouble" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("program", "words"),
    [("import sys; print('cannot', file=sys.stderr); sys.exit(4)", "cannot"), ("import time; time.sleep(69.25)", "")],
)
def test_a_server_that_exits_or_never_gets_ready_is_a_failure_with_its_stderr(
    run: Run, program: str, words: str
) -> None:
    adapter = {"startup_timeout_s": 0.2, "max_startup_attempts": 1, "delay_startup_attempts": 0}
    (report,) = serve(run, {"core/a": "expected: {status_code: -1}"}, program=program, adapter=adapter).reports
    assert (report.outcome, report.format_result()) == ("failed", {"start": "F"})
    stderr = report.results["stderr"].actual
    assert "did not become ready" in stderr
    assert words in stderr


def test_a_server_that_never_answers_is_waited_for_once_and_nobody_is_said_to_have_killed_it(run: Run) -> None:
    adapter = {"startup_timeout_s": 0.5, "max_startup_attempts": 1, "delay_startup_attempts": 0}
    program = "import sys, time; print('half way', file=sys.stderr, flush=True); time.sleep(69.25)"
    cases = {"core/a": OK, "core/b": OK, "core/c": f"reset: true\n{OK}"}
    results = serve(run, cases, program=program, adapter=adapter)
    first, *others = [report.results["stderr"].actual for report in results.reports]
    assert re.fullmatch(
        r"the server did not become ready: it did not answer at http://127.0.0.1:\d+/health within 0.5 s: .*\n"
        r"it was stopped then; its last words:\nhalf way",
        first,
    )
    for stderr in others:
        assert "within 0.5 s" in stderr
        assert 'that was for case "a", and it was not started again for this one' in stderr
    assert {report.outcome for report in results.reports} == {"failed"}
    assert results.duration < 1.4  # two waits would be 1.0 s and two starts


HANGS = """
import argparse, socket, time
parser = argparse.ArgumentParser()
parser.add_argument("--address")
parser.add_argument("--port", type=int)
args = parser.parse_args()
listening = socket.create_server((args.address, args.port))
kept = [listening.accept() for _ in range({accepted})]
time.sleep(69.25)
"""


@pytest.mark.parametrize("accepted", [1, 0])
@pytest.mark.parametrize("kind", DRIVERS)
def test_of_a_server_that_takes_connections_and_never_answers_just_that_is_said(
    run: Run, kind: str, accepted: int
) -> None:
    adapter = {"startup_timeout_s": 0.9, "max_startup_attempts": 1, "delay_startup_attempts": 0}
    files = {"one/core/a.yaml": "expected: {status_code: -1}", "one/core/b.yaml": OK}
    spec = make_spec(kind).model_dump(exclude_unset=True)
    program = {"main.py": HANGS.format(accepted=accepted)}
    results = run(program, files, spec=spec, adapter={**API, **adapter})
    for report in results.reports:
        assert (report.outcome, report.format_result()) == ("failed", {"start": "F"})
        assert re.match(
            r"the server did not become ready: it did not answer at http://127.0.0.1:\d+/health within 0.9 s: "
            r"it accepted the connection and did not answer within 0\.\d+ s: received nothing",
            report.results["stderr"].actual,
        )


def test_a_server_that_hangs_on_what_cases_did_is_started_again_by_a_reset(run: Run) -> None:
    adapter = {"startup_timeout_s": 1, "max_startup_attempts": 1, "delay_startup_attempts": 0}
    hangs = "import os.path, time\nif os.path.exists('written.txt'): time.sleep(69.25)\n"
    cases = {
        "core/a": f"path: /write\n{OK}",
        "core/b": f"path: /die\n{OK}",
        "core/c": f"path: /x\n{OK}",
        "core/d": f"path: /x\n{OK}",
        "core/e": f"path: /x\nreset: true\n{OK}",
    }
    results = serve(run, cases, program=hangs + SERVER, adapter=adapter)
    assert [report.outcome for report in results.reports] == ["passed", "failed", "failed", "failed", "passed"]
    assert 'that was for case "c"' in results.reports[3].results["stderr"].actual


def test_the_timeout_is_total_and_the_report_says_timed_out(run: Run) -> None:
    program = SERVER.replace(
        "        count += 1\n",
        "        count += 1\n        import time; time.sleep(0 if self.path == '/health' else 5)\n",
    )
    (report,) = serve(run, {"core/a": f"path: /x\ntimeout: 0.3\nretries: 1\n{OK}"}, program=program).reports
    assert report.outcome == "timed out"
    assert report.results["timed_out"].actual is True
    assert report.attempts == 2


def test_forty_cases_take_less_than_a_second_beside_the_servers_start_and_answers(run: Run) -> None:
    def besides_answers(count: int) -> float:
        started = time.monotonic()
        results = serve(run, {f"core/case_{n:02}": f"path: /x\n{OK}" for n in range(count)})
        total = time.monotonic() - started
        assert [report.did_pass() for report in results.reports] == [True] * count
        return total - sum(report.run_s or 0 for report in results.reports)

    # One case pays for preparing, the helper and the server's start; the others should pay for next to nothing.
    alone = besides_answers(1)
    assert besides_answers(40) - alone < 1


def test_an_unknown_asset_in_the_adapters_arguments_costs_its_groups_and_names_the_known_ones(run: Run) -> None:
    adapter = {"arguments": ["{{static:seeds}}"]}
    results = serve(run, {"core/a": OK}, adapter=adapter, static_assets={"seed": {"path": "config.yaml"}})
    (report,) = results.reports
    assert (report.id, report.outcome) == ("(environment)", "error")
    assert 'did you mean "seed"' in str(report.error)


def test_a_case_that_cannot_be_sent_is_an_error_and_not_a_wrong_answer(run: Run) -> None:
    text = "method: POST\nheaders: {Content-Type: application/zip}\nbody: 'not base64!'\n" + OK
    (report,) = serve(run, {"core/a": text}).reports
    assert report.outcome == "error"
    assert "could not be put to the submission" in str(report.error)
