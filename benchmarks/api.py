"""A group of 40 HTTP cases against a small server: what it takes besides the server's own start and answers."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import yaml
from tests.engines import bwrap_skip_reason, docker_skip_reason
from tests.execution.drivers import make_spec

from benchmarks.measure import table
from slop_code.evaluation import ProblemConfig, run_checkpoint

CASES = 40
SERVER = """
import argparse
from http.server import BaseHTTPRequestHandler, HTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--address")
parser.add_argument("--port", type=int)
args = parser.parse_args()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *values): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

HTTPServer((args.address, args.port), Handler).serve_forever()
"""


def main() -> None:
    reasons = {"local": None, "sandbox": bwrap_skip_reason(), "docker": docker_skip_reason()}
    rows = [(f"{CASES} cases", "total s", "answers s", "besides s")]
    with tempfile.TemporaryDirectory() as folder:
        problem, submission = _problem(Path(folder))
        for kind, reason in reasons.items():
            if reason is not None:
                print(f"{kind} is left out: {reason}")
                continue
            spec = make_spec(kind)
            run_checkpoint(submission, problem, problem.checkpoints["one"], spec)
            totals, answers = [], []
            for _ in range(3):
                started = time.perf_counter()
                results = run_checkpoint(submission, problem, problem.checkpoints["one"], spec)
                totals.append(time.perf_counter() - started)
                answers.append(sum(report.run_s or 0 for report in results.reports))
                assert len(results.reports) == CASES
                assert all(report.did_pass() for report in results.reports)
            total, answer = statistics.median(totals), statistics.median(answers)
            rows.append((kind, f"{total:.2f}", f"{answer:.2f}", f"{total - answer:.2f}"))
    table(rows)
    print("Besides the answers: the container or helper, the server's start, loading, judging; should stay below 1 s.")


def _problem(folder: Path) -> tuple[ProblemConfig, Path]:
    submission = folder / "submission"
    submission.mkdir()
    (submission / "main.py").write_text(SERVER)
    config = {
        "name": "bench",
        "version": 1,
        "description": "A server.",
        "entry_file": "main",
        "adapter": {"type": "api"},
        "loader_script": "builtin:files",
        "checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}},
    }
    cases = [{"name": f"case_{number}", "path": "/x", "expected": {"output": "ok"}} for number in range(CASES)]
    (folder / "one" / "core").mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "one" / "core" / "cases.yaml").write_text(yaml.safe_dump(cases))
    return ProblemConfig.from_yaml(folder), submission
