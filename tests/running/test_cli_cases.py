"""Command-line cases from loader to report."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import structlog

from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.listening import Listener, RunLabel
from slop_code.evaluation.verifiers import VerifierReport
from tests.running.conftest import Run

CASE = "one/core/a.yaml"


def only(results: CorrectnessResults) -> VerifierReport:
    (report,) = results.reports
    return report


def actual(results: CorrectnessResults, attribute: str = "output") -> Any:
    return only(results).results[attribute].actual


def test_the_command_line_is_the_command_the_entry_file_and_the_arguments_without_quoting(run: Run) -> None:
    results = run(
        "printf '%s|' \"$@\"",
        {
            CASE: "arguments: [add, \"'two words'\", '\"$((1 + 2))\"', '&&', echo, done]\nexpected: {output: \"add|two words|3|done\\n\"}"
        },
    )
    assert only(results).did_pass()
    assert actual(results, "command") == "sh main.sh add 'two words' \"$((1 + 2))\" && echo done"


def test_without_arguments_the_command_line_ends_with_the_entry_file(run: Run) -> None:
    assert actual(run("true", {CASE: "expected: {status_code: 0}"}), "command") == "sh main.sh"


def test_streams_are_utf8_with_replacement_and_never_trimmed(run: Run) -> None:
    results = run("printf ' \\303\\244\\377\\r\\n\\n'; printf ' e \\n' >&2", {CASE: "expected: {status_code: 0}"})
    assert (actual(results), actual(results, "stderr")) == (" ä\ufffd\r\n\n", " e \n")


def test_stdin_none_is_empty_input(run: Run) -> None:
    assert actual(run("cat; echo end", {CASE: "expected: {status_code: 0}"})) == "end\n"
    assert actual(run("cat", {CASE: 'stdin: "ä\\n"\nexpected: {status_code: 0}'})) == "ä\n"


def test_the_status_code_is_the_exit_code_or_the_negative_signal(run: Run) -> None:
    assert actual(run("exit 7", {CASE: "expected: {status_code: 7}"}), "status_code") == 7
    assert actual(run("kill -9 $$", {CASE: "expected: {status_code: 0}"}), "status_code") == -9


def test_a_timeout_is_timed_out_with_status_minus_1_and_what_was_printed(run: Run) -> None:
    report = only(run("echo before; sleep 67.25", {CASE: 'timeout: 0.3\nexpected: {output: "after\\n"}'}))
    assert report.outcome == "timed out"
    assert not report.did_pass()
    values = {name: report.results[name].actual for name in ("timed_out", "status_code", "output")}
    assert values == {"timed_out": True, "status_code": -1, "output": "before\n"}
    assert report.run_s is not None
    assert report.run_s >= 0.3


def test_a_case_without_a_timeout_still_has_the_environments(run: Run) -> None:
    (report,) = run(
        "sleep 73.25", {CASE: "timeout: null\nexpected: {status_code: 0}"}, spec={"limits": {"case_s": 0.3}}
    ).reports
    assert report.outcome == "timed out"


def test_a_case_file_can_expect_a_timeout(run: Run) -> None:
    assert only(run("sleep 68.25", {CASE: "timeout: 0.3\nexpected: {timed_out: true}"})).outcome == "passed"


def test_environment_of_problem_and_checkpoint_reaches_the_program(run: Run) -> None:
    assert actual(run('echo "$MODE"', {CASE: "expected: {status_code: 0}"}, env={"MODE": "fast"})) == "fast\n"


def test_input_files_are_there_and_tracked_files_come_back(run: Run) -> None:
    case = """
        input_files: {in.csv: [{a: 1}], 'deep/x.txt': hello}
        tracked_files: [out/, '*.log', nowhere]
        expected:
          output: "a\\r\\n1\\r\\nhello"
          files: {out/r.txt: "made\\n", x.log: ""}
    """
    report = only(
        run("cat in.csv deep/x.txt; mkdir out; echo made > out/r.txt; : > x.log", {CASE: textwrap.dedent(case)})
    )
    assert report.did_pass(), report.format_result()
    assert {name for name in report.results if name.startswith("files-")} == {"files-out/r.txt", "files-x.log"}


def test_expected_files_given_as_specs_are_tracked_by_themselves(run: Run) -> None:
    case = 'expected: {files: [{path: /app/out.txt, content: "x\\n"}, {path: b.txt, contains: y}]}'
    report = only(run("echo x > out.txt; echo xyz > b.txt", {CASE: case}))
    assert report.format_result() == {"files-/app/out.txt": "P", "files-b.txt": "P"}


def test_the_adapters_tracked_files_are_added_to_every_cases(run: Run) -> None:
    report = only(
        run("echo x > log", {CASE: "expected: {status_code: 0}"}, adapter={"type": "cli", "tracked_files": ["log"]})
    )
    assert report.results["files-log"].actual == "x\n"


def test_an_input_path_that_leaves_the_workspace_is_an_error_of_that_case(run: Run) -> None:
    files = {
        CASE: "input_files: {../evil: x}\nexpected: {status_code: 0}",
        "one/core/b.yaml": "expected: {status_code: 0}",
    }
    first, second = run("true", files).reports
    assert (first.outcome, second.outcome) == ("error", "passed")
    assert first.error is not None
    assert "leaves the workspace" in first.error


def test_placeholders_become_a_path_that_the_program_can_read_away_from_the_problem(run: Run) -> None:
    files = {
        CASE: 'arguments: ["{{static:rates}}/r.json"]\nstdin: "{{static:one}}"\nexpected: {status_code: 0}',
        "assets/r.json": "[1]",
        "secret/one.txt": "single",
    }
    assets = {"rates": {"path": "assets"}, "one": {"path": "secret/one.txt", "save_path": "given/one.txt"}}
    results = run('cat "$1"; read path; cat "$path"; echo " $path"', files, static_assets=assets)
    output = actual(results)
    assert output.startswith("[1]single ")
    assert output.strip().endswith("/given/one.txt")
    assert "secret" not in output
    assert "demo" not in actual(results, "command")


def test_an_unknown_placeholder_is_an_error_of_that_case_with_the_known_names(run: Run) -> None:
    files = {
        CASE: "arguments: ['{{static:rate}}']\nexpected: {}",
        "one/core/b.yaml": "expected: {status_code: 0}",
        "x": "",
    }
    first, second = run("true", files, static_assets={"rates": {"path": "x"}}).reports
    assert (first.outcome, second.outcome) == ("error", "passed")
    assert first.error is not None
    assert re.search(r'\{\{static:rate\}\}.*did you mean "rates"', first.error)


def test_isolated_cases_find_a_fresh_workspace_and_the_others_what_was_left(run: Run) -> None:
    names = ("fresh", "kept", "next")
    files = {f"one/{group}/{name}.yaml": "expected: {status_code: 0}" for group in names for name in "abc"}
    files["one/kept/c.yaml"] = "reset: true\nexpected: {status_code: 0}"
    groups = {"fresh": {}, "kept": {"isolated": False}, "next": {"isolated": False}}
    results = run("echo x >> log; wc -l < log | tr -d ' '", files, groups)
    counts = ["".join(str(report.results["output"].actual).split()) for report in results.reports]
    assert counts == ["1", "1", "1", "1", "2", "1", "1", "2", "3"]


def test_cases_keep_the_loaders_order(run: Run) -> None:
    files = {f"one/core/{name}.yaml": "expected: {status_code: 0}" for name in "abcd"}
    results = run("true", files, {"core": {"case_order": ["c", "a"]}})
    assert [report.id for report in results.reports] == ["c", "a", "b", "d"]


def test_no_entry_file_and_no_command_are_the_submissions_fault_with_its_stderr(run: Run) -> None:
    case = {CASE: "expected: {output: x}"}
    missing = only(run({"other.sh": ""}, case))
    assert missing.outcome == "failed"
    assert "main.sh" in missing.results["stderr"].actual
    unknown = only(run("true", case, spec={"commands": {"command": "no-such-command"}}))
    assert unknown.outcome == "failed"
    assert "not found" in unknown.results["stderr"].actual


def test_output_that_was_cut_is_marked_in_the_report_and_not_in_the_output(run: Run) -> None:
    report = only(
        run(
            "head -c 3000 /dev/zero | tr '\\0' x",
            {CASE: "expected: {status_code: 0}"},
            spec={"limits": {"output_mb": 0.001}},
        )
    )
    assert report.output_cut
    assert report.results["output"].actual == "x" * 1048
    assert any("stdout was cut" in warning for warning in report.warnings)


def test_a_failing_setup_command_is_shown_once_and_kept_in_the_runs_report_with_the_interpreter(run: Run) -> None:
    setup = {"commands": ["echo oops; exit 4", "true"]}
    files = {f"one/core/{name}.yaml": "expected: {status_code: 0}" for name in "ab"}
    with structlog.testing.capture_logs() as logs:
        results = run("true", files, spec={"name": "mine", "setup": setup})
    assert results.setup_failures == ["echo oops; exit 4 (exit code 4)\noops"]
    assert [entry["event"] for entry in logs] == ["A setup command failed: echo oops; exit 4 (exit code 4)\noops"]
    assert (results.environment, results.python) == ("mine", ".".join(map(str, sys.version_info[:3])))
    assert all(report.did_pass() for report in results.reports)


def test_a_secret_that_is_passed_on_is_masked_in_the_report_and_not_in_the_verdict(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "s3cr3t-value")
    files = {CASE: 'tracked_files: [f]\nexpected: {output: "s3cr3t-value\\n", files: {f: other}}'}
    spec = {"environment": {"pass_env": ["MY_API_TOKEN"]}}
    report = only(run('echo "$MY_API_TOKEN"; echo "$MY_API_TOKEN" > f; echo "$MY_API_TOKEN" >&2', files, spec=spec))
    assert report.format_result() == {"output": "P", "files-f": "F"}
    assert report.results["output"].actual == "***\n"
    assert "s3cr3t-value" not in report.model_dump_json()
    withheld = only(
        run(
            'echo "[$MY_API_TOKEN]"',
            {CASE: "expected: {status_code: 0}"},
            spec={"environment": {"include_os_env": True}},
        )
    )
    assert withheld.results["output"].actual == "[]\n"


def test_usage_is_in_the_report(run: Run) -> None:
    report = only(run("true", {CASE: "expected: {status_code: 0}"}))
    assert report.run_s is not None
    assert 0 < report.run_s < 5
    assert report.cpu_s is not None
    assert report.peak_memory
    assert report.attempts == 1


LOADER = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader

class Store:
    def __init__(self):
        self.seen = []
    def update(self, case, result, expected):
        {update}

class Loader(BaseLoader):
    def initialize_store(self):
        return Store()
    def __call__(self, group, store):
        {body}
"""


def test_per_case_run_then_verify_then_update_then_the_next_case_is_asked_for(run: Run) -> None:
    loader = LOADER.format(
        update="self.seen.append((case.id, result.output, result.files['note'], expected.output))",
        body="yield CLICase(id='a', arguments=['one']), CLIResult(output='one')\n"
        "        yield CLICase(id='b', arguments=[repr(store.seen).replace(' ', '')], stdin=str(len(store.seen))), CLIResult(output='x')",
    )
    verifier = """
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): ...
            def __call__(self, group_name, case_name, actual, expected):
                actual.files["note"] = f"seen by {group_name}/{case_name}"
                return {"output": VerificationResult.create(None, True)}
    """
    results = run('printf %s "$1" | tr -d "\\""', {"loader.py": loader, "verifier.py": verifier})
    second = results.reports[1]
    assert "core/a" in second.case["arguments"][0]
    assert second.case["stdin"] == "1"
    assert second.results["files-note"].actual == "seen by core/b"


def test_a_group_with_a_store_is_isolated_too_unless_it_says_otherwise(run: Run) -> None:
    body = "for name in 'ab':\n            yield CLICase(id=name), CLIResult(status_code=0)"
    files = {"loader.py": LOADER.format(update="pass", body=body)}
    results = run("echo x >> log; cat log", files, {"fresh": {}, "kept": {"isolated": False}})
    assert [report.results["output"].actual for report in results.reports] == ["x\n", "x\n", "x\n", "x\nx\n"]


def test_a_stores_exception_costs_its_case(run: Run) -> None:
    loader = LOADER.format(
        update="1 / 0 if case.id == 'a' else None",
        body="for name in 'ab':\n            yield CLICase(id=name), CLIResult(status_code=0)",
    )
    first, second = run("true", {"loader.py": loader}).reports
    assert (first.outcome, second.outcome) == ("error", "passed")
    assert first.error is not None
    assert re.search(r"the store's update raised: .*loader.py:\d+: ZeroDivisionError", first.error)


def test_a_loaders_exception_costs_the_rest_of_its_group_and_no_other(run: Run) -> None:
    loader = LOADER.format(
        update="pass",
        body="yield CLICase(id='a'), CLIResult(status_code=0)\n        if group.name == 'bad': raise KeyError('gone')\n"
        "        yield CLICase(id='b'), CLIResult(status_code=0)",
    )
    results = run("true", {"loader.py": loader}, {"bad": {"type": "Core"}, "good": {"type": "Core"}})
    assert [(report.group, report.id, report.outcome) for report in results.reports] == [
        ("bad", "a", "passed"),
        ("bad", "(loader)", "error"),
        ("good", "a", "passed"),
        ("good", "b", "passed"),
    ]
    assert re.search(r"loader.py:16: KeyError: 'gone'\n", str(results.reports[1].error))
    assert results.error_count == 1


def test_a_loader_that_cannot_be_imported_costs_every_group_and_is_counted(run: Run) -> None:
    results = run("true", {"loader.py": "1 / 0"}, {"a": {"type": "Core"}, "b": {"type": "Error"}})
    assert [(report.group, report.outcome) for report in results.reports] == [("a", "error"), ("b", "error")]
    assert results.total_counts == {"Core": 1, "Error": 1}
    assert results.score == 0.0


TROUBLES = {
    "raises": ("raise KeyError('x')", r"the verifier raised: .*verifier.py:LINE: KeyError: 'x'"),
    "exits": ("sys.exit(3)", r"verifier.py:LINE: the script called sys.exit\(3\)"),
    "interrupts": ("raise KeyboardInterrupt", r"verifier.py:LINE: KeyboardInterrupt"),
    "none": ("return None", r"verifier.py:\d+: the verifier returned None"),
    "wrong_type": ("return {'output': 5}", r'verifier.py:\d+: the verifier returned a value of type int for "output"'),
    "nan_weight": ("return {'output': Result.create('', True, float('nan'))}", r"verifier.py:LINE: .*finite number"),
    "nan_later": ("right.weight = float('nan'); return {'output': right}", r"verifier.py:\d+: .*weight.*finite number"),
    "many_keys": (
        "return dict.fromkeys(map(str, range(100_000)), right)",
        r"verifier.py:\d+: the verifier returned more than 10,000 results",
    ),
}


def test_a_verifiers_trouble_costs_its_case_and_says_why(run: Run, tmp_path: Path) -> None:
    head = [
        "import sys",
        "from slop_code.evaluation.verifiers import VerificationResult as Result",
        "class Verifier:",
        "    def __init__(self, checkpoint_config): ...",
        "    def __call__(self, group_name, case_name, actual, expected):",
        "        right = Result.create(None, True)",
        "        if case_name == 'odd': return {'output': Result.create({1: {2}, b'k': object()}, True)}",
    ]
    deeds = [f"        if case_name == {name!r}: {body}" for name, (body, _) in TROUBLES.items()]
    verifier = "\n".join([*head, *deeds, "        return {'output': right}", ""])
    cases = [*TROUBLES, "odd", "well"]
    files = {"verifier.py": verifier, **{f"one/core/{name}.yaml": "expected: {}" for name in cases}}
    results = run("true", files, running={"output_dir": tmp_path / "out"})
    reports = {report.id: report for report in results.reports}
    assert {name: report.outcome for name, report in reports.items()} == {
        **dict.fromkeys(TROUBLES, "error"),
        "odd": "passed",
        "well": "passed",
    }
    for number, (name, (_, said)) in enumerate(TROUBLES.items(), start=len(head) + 1):
        line, frame = str(reports[name].error).splitlines()
        assert re.search(said.replace("LINE", str(number)), line), line
        assert frame.strip() in verifier
    assert (results.error_count, results.pass_counts, results.total_counts) == (8, {"Core": 2}, {"Core": 10})
    assert CorrectnessResults.from_dir(tmp_path / "out") == results


def test_the_verifier_is_made_once_per_checkpoint(run: Run, tmp_path: Path) -> None:
    verifier = f"""
        class Verifier:
            def __init__(self, checkpoint_config):
                with open({str(tmp_path / "made")!r}, "a") as file:
                    file.write(checkpoint_config.name + "\\n")
            def __call__(self, group_name, case_name, actual, expected): return {{}}
    """
    files = {f"one/{group}/{name}.yaml": "expected: {}" for group in "gh" for name in "ab"}
    assert len(run("true", {"verifier.py": verifier, **files}, {"g": {}, "h": {}}).reports) == 4
    assert (tmp_path / "made").read_text() == "one\n"


def test_a_regression_cases_report_carries_its_origin(run: Run) -> None:
    # A hand-written regression within the same checkpoint is enough to see it; one of its cases cannot be run.
    groups = {
        "core": {"type": "Core"},
        "old": {"type": "Regression", "original_checkpoint": "one", "original_group": "core"},
    }
    files = {CASE: "expected: {status_code: 0}", "one/core/b.yaml": "input_files: {../evil: x}\nexpected: {}"}
    results = run("true", files, groups)
    assert [
        (report.group, report.outcome, report.original_checkpoint, report.original_group) for report in results.reports
    ] == [
        ("core", "passed", None, None),
        ("core", "error", None, None),
        ("old", "passed", "one", "core"),
        ("old", "error", "one", "core"),
    ]


def test_scores_and_counts(run: Run) -> None:
    files = {
        "one/core/good.yaml": 'expected: {output: "x\\n"}',
        "one/core/bad.yaml": "expected: {output: y, status_code: 0}",
        "one/errors/good.yaml": "expected: {status_code: 0}",
    }
    results = run("echo x", files, {"core": {"type": "Core"}, "errors": {"type": "Error", "weight": 3}})
    assert (results.pass_counts, results.total_counts) == ({"Core": 1, "Error": 1}, {"Core": 2, "Error": 1})
    assert results.group_outcomes["core"].results == {"bad": 0.5, "good": 1.0}
    assert results.score == pytest.approx((0.75 * 1 + 1.0 * 3) / 4)
    assert json.loads(results.model_dump_json(exclude={"reports"}))["name"] == "one"


def test_with_an_output_folder_every_finished_case_is_on_disk_before_the_next_one_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slop_code.evaluation import runner

    folder = tmp_path / "out"
    seen: list[int] = []
    original = runner.run_checkpoint

    def with_output(**arguments: Any) -> CorrectnessResults:
        class Counting(Listener):
            def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
                seen.append(len(CorrectnessResults.from_dir(folder).reports))

        return original(**arguments, output_dir=folder, listener=Counting())

    monkeypatch.setattr("tests.running.conftest.run_checkpoint", with_output)
    files = {f"one/core/{name}.yaml": "expected: {status_code: 0}" for name in "abc"}
    results = run("true", files)
    assert seen == [1, 2, 3]
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["evaluation.json", "observations.parquet", "reports.parquet"]
    assert CorrectnessResults.from_dir(folder) == results


def test_every_group_gets_a_fresh_store_and_update_is_called_even_if_the_verifier_raised(run: Run) -> None:
    loader = LOADER.format(
        update="self.seen.append(case.id)",
        body="yield CLICase(id='a'), CLIResult()\n        yield CLICase(id='b', stdin=','.join(store.seen)), CLIResult()",
    )
    verifier = "class Verifier:\n    def __init__(self, c): ...\n    def __call__(self, group_name, case_name, actual, expected): 1 / 0\n"
    results = run("cat", {"loader.py": loader, "verifier.py": verifier}, {"g": {"type": "Core"}, "h": {"type": "Core"}})
    assert [(report.group, report.case.get("stdin")) for report in results.reports if report.id == "b"] == [
        ("g", "a"),
        ("h", "a"),
    ]


def test_a_report_whose_verifier_raised_still_has_usage_warnings_and_values(run: Run) -> None:
    verifier = "class Verifier:\n    def __init__(self, c): ...\n    def __call__(self, group_name, case_name, actual, expected): 1 / 0\n"
    spec = {"limits": {"output_mb": 0.0001}}
    report = only(run("head -c 3000 /dev/zero", {"verifier.py": verifier, CASE: "expected: {}"}, spec=spec))
    assert report.outcome == "error"
    assert report.run_s
    assert report.peak_memory
    assert report.output_cut
    assert any("stdout was cut" in warning for warning in report.warnings)
    assert report.results["status_code"].actual == 0


def test_a_lost_regression_group_says_where_it_comes_from(run: Run) -> None:
    groups = {"old": {"type": "Regression", "original_checkpoint": "one", "original_group": "gone"}}
    report = only(run("true", {CASE: "expected: {}"}, groups))
    assert (report.outcome, report.original_checkpoint, report.original_group) == ("error", "one", "gone")


@pytest.mark.parametrize(
    ("count", "size"),
    # Each keeps within the kernel's limit on one process; together they do not. Of the two, the kernel may end one before
    # anybody looks, and then the other one has enough.
    [(4, 70), (2, 110)],
)
def test_a_limit_that_ended_the_program_is_named_in_the_report(run: Run, count: int, size: int) -> None:
    one = f"import time; x = bytearray(b'x') * ({size} << 20); time.sleep(20)"
    program = "\n".join([f'python3 -S -c "{one}" &'] * count) + "\nwait\n"
    report = only(run(program, {CASE: "expected: {status_code: 0}"}, spec={"limits": {"memory_mb": 150}}))
    assert report.outcome == "failed"
    assert "the program was ended: more than 150 MiB of memory" in report.warnings


def test_home_and_tmp_are_fresh_for_every_isolated_case(run: Run) -> None:
    files = {f"one/core/{name}.yaml": 'expected: {output: "0\\n"}' for name in "ab"}
    results = run('ls "$HOME" "$TMPDIR" | grep -c left; touch "$HOME/left" "$TMPDIR/left"', files)
    assert [report.outcome for report in results.reports] == ["passed", "passed"]


@pytest.mark.parametrize("expected", ["{status_code: 2, output: ''}", "{status_code: 127}", "{output: ''}"])
def test_a_submission_without_its_entry_file_never_passes(run: Run, expected: str) -> None:
    report = only(run({"other.sh": "true"}, {CASE: f"expected: {expected}"}, {"core": {"type": "Error"}}))
    assert (report.outcome, report.calculate_score()) == ("failed", 0.0)
    assert report.results["start"].diff == "the submission has no main.sh"


def test_a_submission_whose_command_is_not_there_never_passes(run: Run) -> None:
    case = {CASE: "expected: {status_code: 127}"}
    report = only(run("true", case, spec={"commands": {"command": "no-such-command"}}))
    assert (report.outcome, report.format_result()) == ("failed", {"start": "F"})
    assert report.results["start"].diff == "no-such-command: not found"
    # What the program itself does not find is the program's business.
    assert only(run("no-such-command", case)).outcome == "passed"


def test_a_bare_name_may_stand_for_a_file_with_a_suffix(run: Run) -> None:
    spec = {"commands": {"command": "sh -c 'sh $0.sh'", "entry_file": "{entry_file}"}}
    assert only(run("true", {CASE: "expected: {status_code: 0}"}, spec=spec)).outcome == "passed"
