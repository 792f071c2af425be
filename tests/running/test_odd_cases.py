"""What is odd costs its case, and not the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from slop_code.evaluation.listening import RunOptions
from tests.running.conftest import Run

OTHER = {"one/core/z.yaml": "expected: {status_code: 0}"}


@pytest.mark.parametrize("field", ['"arguments": ["a\\u0000b"]', '"arguments": ["\\ud800"]'])
def test_a_command_line_that_no_program_can_get_is_an_error_of_its_case(run: Run, field: str) -> None:
    first, second = run("true", {"one/core/a.json": f'{{{field}, "expected": {{}}}}', **OTHER}).reports
    assert (first.outcome, second.outcome) == ("error", "passed")


def test_stdin_may_hold_a_lone_surrogate(run: Run) -> None:
    reports = run(
        "cat > /dev/null", {"one/core/a.json": '{"stdin": "\\ud800", "expected": {"status_code": 0}}', **OTHER}
    ).reports
    assert [report.outcome for report in reports] == ["passed", "passed"]


@pytest.mark.parametrize(
    "program",
    [
        'python3 -c \'import os\nfor n in range(1100): os.mkdir("d"); os.chdir("d")\'',
        'rm -rf "$(dirname "$HOME")"',
        "mkdir -p a/b; chmod 000 a/b a .",
    ],
)
def test_a_program_that_spoils_its_folders_spoils_no_other_case_and_leaves_none(
    run: Run, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    files = {f"one/core/{name}.yaml": f"arguments: [{name}]\nexpected: {{status_code: 0}}" for name in "abc"}
    results = run(f'[ "$1" = a ] || exit 0; {program}; exit 0', files, running={"options": RunOptions(jobs=1)})
    assert [report.outcome for report in results.reports] == ["passed"] * 3
    assert list(own.iterdir()) == []


def test_a_verifier_that_breaks_the_result_costs_its_case(run: Run) -> None:
    verifier = (
        "from slop_code.evaluation.verifiers import VerificationResult\nclass Verifier:\n    def __init__(self, c): ...\n"
        "    def __call__(self, group_name, case_name, actual, expected):\n"
        "        if case_name == 'a': actual.__dict__['files'] = None\n"
        "        return {'output': VerificationResult.create(None, True)}\n"
    )
    first, second = run("true", {"verifier.py": verifier, "one/core/a.yaml": "expected: {}", **OTHER}).reports
    assert (first.outcome, second.outcome) == ("error", "passed")
