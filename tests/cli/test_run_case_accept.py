"""`tools run-case --accept`: what a submission gives becomes the expectation, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.accepting import plan_acceptance, write_acceptance
from slop_code.evaluation.verifiers import AttributeResult
from tests.cli.small_problem import SmallProblem, small_problem
from tests.cli.terminal import on_terminal
from tests.reports.make import line, report

BLOCK = """\
# The head stays.
name: block
argv: [block]
expected:   # so does this
  # and this
  output: |
    old
    text

  status_code: 0   # why 0
tags: [x]
"""
MANY = """\
cases:
  - name: quoted          # one line
    argv: [quoted]
    expected: {output: "old\\n", status_code: 3}
  - name: parsed
    argv: [parsed]
    expected:
      output: {a: 1, b: [1, 2]}
  - name: right
    argv: [right]
    expected: {output: 'same'}
---
name: file
argv: [file]
expected:
  files:
    - path: out.txt
      content: "old"
    - {path: out.txt, contains: e}
"""
DEFAULTS = """\
- name: inherited
  argv: [inherited]
  expected: {output: "x"}
"""
PROGRAM = r"""
case $1 in
  block) printf 'new: # text\n  twice\n'; exit 4;;
  quoted) printf 'it is "new"\n'; exit 3;;
  parsed) echo '{"a": 1, "b": [1, 5], "c": null}';;
  right) printf same;;
  file) printf 'e: new' > out.txt;;
  inherited) printf x; exit 7;;
esac
"""


def accepted_problem(root: Path) -> SmallProblem:
    files = {"core/block.yaml": BLOCK, "core/many.yaml": MANY, "core/defaults.yaml": DEFAULTS}
    return small_problem(
        root,
        files,
        PROGRAM,
        groups={"core": {"type": "Core", "case_defaults": {"expected": {"status_code": 0}}}},
        adapter={"type": "cli", "tracked_files": ["out.txt"]},
    )


def test_only_the_expected_values_change_and_the_cases_pass_then(tmp_path: Path) -> None:
    problem = accepted_problem(tmp_path)
    done = problem.run("--accept", "--yes", "-q")
    assert done.code == 0, done.stderr
    assert set(done.outcomes.values()) == {True}
    assert problem.file("one/core/block.yaml").read_text() == BLOCK.replace(
        "    old\n    text\n", "    new: # text\n      twice\n"
    ).replace("status_code: 0   #", "status_code: 4   #")
    assert problem.file("one/core/many.yaml").read_text() == (
        MANY.replace('output: "old\\n"', 'output: "it is \\"new\\"\\n"')
        .replace("{a: 1, b: [1, 2]}", "{a: 1, b: [1, 5], c: null}")
        .replace('content: "old"', 'content: "e: new"')
    )
    assert problem.file("one/core/defaults.yaml").read_text() == DEFAULTS.replace('"x"}', '"x", status_code: 7}')
    assert '-    expected: {output: "old\\n", status_code: 3}' in done.stderr
    assert "accepted 5 cases in " in done.stderr
    assert problem.run("-q").code == 0


def test_on_a_terminal_it_asks_and_no_means_no(tmp_path: Path) -> None:
    problem = accepted_problem(tmp_path)
    command = problem.command("--accept", "--case", "quoted")
    refused = on_terminal(command, cwd=tmp_path, env=problem.env, typed="n\n")
    assert refused.code == 1
    assert "Accept this for 1 case? [y/N]" in refused.sent
    assert "nothing was written" in refused.sent
    assert problem.file("one/core/many.yaml").read_text() == MANY
    assert on_terminal(command, cwd=tmp_path, env=problem.env, typed="y\n").code == 0
    assert problem.file("one/core/many.yaml").read_text() != MANY


def test_rules_timeouts_and_regressions_are_left_to_the_author(tmp_path: Path) -> None:
    files = {
        "core/rule.yaml": "argv: [x]\nexpected: {stderr: {contains: y}}\n",
        "core/slow.yaml": "argv: [slow]\ntimeout: 0.2\nexpected: {output: y}\n",
        "/zero/core/old.yaml": "argv: [x]\nexpected: {output: y}\n",
    }
    checkpoints = {
        "zero": {"groups": {"core": {}}},
        "one": {"groups": {"core": {}}, "regressions": [{"checkpoint": "zero"}]},
    }
    program = "case $1 in slow) sleep 30;; *) echo x;; esac\n"
    problem = small_problem(tmp_path, files, program, checkpoints=checkpoints)
    done = problem.run("--accept", "--yes")
    assert done.code == 1
    assert "not accepted: core/rule: what stderr should contain or match is a rule" in done.stderr
    assert "not accepted: core/slow: it timed out" in done.stderr
    assert "not accepted: zero_core/old: it comes from zero; accept it there" in done.stderr
    assert "there is nothing to accept" in done.stderr
    assert problem.file("zero/core/old.yaml").read_text() == files["/zero/core/old.yaml"]


def test_an_anchor_is_not_edited_behind_its_aliases_back(tmp_path: Path) -> None:
    text = "cases:\n  - {name: a, argv: [a], expected: &e {output: x}}\n  - {name: b, argv: [b], expected: *e}\n"
    problem = small_problem(tmp_path, {"core/a.yaml": text}, "printf $1\n")
    done = problem.run("--accept", "--yes", "--case", "b")
    assert done.code == 1
    assert "core/b: its expectation cannot be edited in place" in done.stderr
    assert problem.file("one/core/a.yaml").read_text() == text


def test_cases_of_a_loader_cannot_be_accepted(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"/loader.py": "raise RuntimeError"}, "")
    done = problem.run("--accept", "--yes")
    assert (done.code, done.stdout) == (2, "")
    assert 'the cases of "demo" come from loader.py' in done.stderr


def planned(root: Path, text: str, *lines: AttributeResult, name: str = "core/case.yaml", kind: str = "cli") -> str:
    """What accepting a report on the case in `text` makes of it, or why that is left out."""
    problem = small_problem(root, {name: text}, "", adapter={"type": kind})
    config = ProblemConfig.from_yaml(problem.root / "demo")
    plan = plan_acceptance(config, config.load_checkpoint("one"), [report("case", *lines)])
    write_acceptance(plan)
    return problem.file(f"one/{name}").read_text() if plan.accepted else "\n".join(plan.left_out)


def test_headers_are_taken_over_one_by_one(tmp_path: Path) -> None:
    text = "path: /\nexpected: {headers: {Content-Type: text/plain, X-A: '1'}}\n"
    wrong = line("headers", False, actual={"content-type": "text/html", "x-a": "1", "date": "today"}, expected={})
    assert planned(tmp_path, text, wrong, kind="api") == text.replace("text/plain", "text/html")


def test_a_header_that_was_not_sent_cannot_be_expected(tmp_path: Path) -> None:
    text = "path: /\nexpected: {headers: {X-A: '1'}}\n"
    wrong = line("headers", False, actual={}, expected={"x-a": "1"})
    assert planned(tmp_path, text, wrong, kind="api") == 'core/case: there was no header "X-A"'


def test_files_may_be_a_mapping(tmp_path: Path) -> None:
    text = 'expected:\n  files:\n    a.txt: old\n    b.json: {content: {"x": 1}}\n'
    wrong = [
        line("files-a.txt", False, actual="new", expected="old"),
        line("files-b.json", False, actual='{"x": 2}', expected={"content": {"x": 1}}),
    ]
    assert planned(tmp_path, text, *wrong) == text.replace("old", "new").replace('"x": 1', "x: 2")


def test_a_json_case_file_stays_json(tmp_path: Path) -> None:
    text = '{\n  "expected": {"output": "old", "status_code": 0}\n}\n'
    wrong = line("output", False, actual='say "new"\n', expected="old")
    assert planned(tmp_path, text, wrong, name="core/case.json") == text.replace('"old"', '"say \\"new\\"\\n"')


def test_a_file_that_was_not_written_or_is_not_text_cannot_be_expected(tmp_path: Path) -> None:
    text = "expected: {files: {a.txt: old}}\n"
    (tmp_path / "missing").mkdir()
    (tmp_path / "binary").mkdir()
    gone = planned(tmp_path / "missing", text, line("files-a.txt", False, actual=None, expected="old"))
    assert gone == "core/case: a.txt was not written"
    odd = planned(tmp_path / "binary", text, line("files-a.txt", False, actual=b"\xff", expected="old"))
    assert odd == "core/case: a.txt is not text"


def test_a_verdict_of_the_verifiers_own_is_nothing_to_expect(tmp_path: Path) -> None:
    own = line("structure", False, actual=None, expected=None)
    assert planned(tmp_path, "expected: {output: x}\n", own) == "core/case: structure is nothing that could be expected"
