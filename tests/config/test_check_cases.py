"""What `problems check` finds in single cases: one test for each kind of finding."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation.check import CheckedPackage, check_package
from tests.conftest import MakeProblem

FILES: dict[str, Any] = {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}}
SCRIPT: dict[str, Any] = {"checkpoints": {"one": {"groups": {"core": {}}}}}
VERIFIER = """
    from slop_code.evaluation.verifiers import VerificationResult
    class Verifier:
        def __init__(self, checkpoint_config): ...
        def __call__(self, group_name, case_name, actual, expected):
            return RETURNED
"""
VERDICT = '{"output": VerificationResult.create("", actual.output == expected.output)}'


@pytest.fixture(autouse=True)
def in_the_problems_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def check_case(make_problem: MakeProblem) -> Any:
    """Check a problem with one case file; returns its errors and its warnings."""

    def check(case: str, config: dict[str, Any] | None = None, **files: str) -> tuple[list[str], list[str]]:
        more = {name.replace("__", "."): text for name, text in files.items()}
        folder = make_problem({**FILES, **(config or {})}, {"one/spec.md": "Do.", "one/core/a.yaml": case, **more})
        return sorted_out(check_package(folder))

    return check


def scripted(cases: str) -> str:
    """A loader that yields these pairs."""
    return f"""
    from slop_code.evaluation.adapters import APICase, CLICase, CLIResult
    from slop_code.evaluation.loaders import BaseLoader
    from slop_code.execution.file_ops import InputFile
    class Loader(BaseLoader):
        def __call__(self, group, store):
            yield from [{cases}]
    """


def sorted_out(checked: CheckedPackage) -> tuple[list[str], list[str]]:
    return [str(item) for item in checked.findings.errors], [str(item) for item in checked.findings.warnings]


def test_a_sound_case_gives_nothing(check_case: Any) -> None:
    assert check_case("arguments: [a, b]\nexpected: {output: x}\n") == ([], [])


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("{}", "expects nothing that could be compared"),
        ("{output: null}", "expects nothing that could be compared"),
        ("{tolerance: 1}", "expects nothing that could be compared"),
        ("{output: x, tolerance: wide}", '"tolerance" in the expected result should be a number'),
        ("{output: x, tolerance: -1}", '"tolerance" in the expected result should be a number of 0 or more'),
        ("{files: [{path: a, matches: '('}]}", "is not a regular expression"),
        ("{stderr: {matches: '('}}", "is not a regular expression"),
    ],
)
def test_an_expectation_that_the_ready_verifier_cannot_use_is_an_error(
    check_case: Any, expected: str, message: str
) -> None:
    errors, _ = check_case(f"arguments: [x]\nexpected: {expected}\n")
    assert len(errors) == 1
    assert errors[0].startswith('demo/one/core/a.yaml:2: case "a": ')
    assert message in errors[0]


def test_a_slip_in_an_expectation_is_a_warning_with_its_line(check_case: Any) -> None:
    errors, warnings = check_case("expected:\n  status_code: 0\n  stdout: hello\n")
    assert errors == []
    assert len(warnings) == 1
    assert warnings[0].startswith("demo/one/core/a.yaml:1: ")
    assert '"stdout" in its expected result has no effect: did you mean "output"?' in warnings[0]


def test_a_slip_in_a_case_is_a_warning_that_counts(check_case: Any, capfd: pytest.CaptureFixture[str]) -> None:
    errors, warnings = check_case("argments: [x]\nexpected: {output: x}\n")
    assert (errors, len(warnings)) == ([], 1)
    assert 'demo/one/core/a.yaml:1: case "a" has unknown key "argments" (did you mean "arguments"?)' in warnings[0]
    assert capfd.readouterr().err == "", "it is a finding, and not logged as well"


def test_an_expectation_without_content_is_left_to_a_verifier_of_the_authors(check_case: Any) -> None:
    assert check_case("expected: {}\n", verifier__py=VERIFIER.replace("RETURNED", VERDICT)) == ([], [])


@pytest.mark.parametrize(
    ("returned", "message"),
    [("{}", "the verifier verifies nothing: it returned an empty dict"), ("None", "the verifier returned None")],
)
def test_a_verifier_that_gives_no_verdict_is_a_warning(check_case: Any, returned: str, message: str) -> None:
    errors, warnings = check_case("expected: {output: x}\n", verifier__py=VERIFIER.replace("RETURNED", returned))
    assert (errors, len(warnings)) == ([], 1)
    assert message in warnings[0]


def test_a_verifier_that_raises_for_a_made_up_result_is_not_told_of(check_case: Any) -> None:
    raising = VERIFIER.replace("return RETURNED", "raise KeyError(1)")
    assert check_case("expected: {output: x}\n", verifier__py=raising) == ([], [])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/x", "has an absolute path"),
        ("../x", "leaves the workspace with '..'"),
        ("a/../../x", "leaves the workspace with '..'"),
        (".", "names the workspace itself"),
    ],
)
def test_an_input_outside_the_workspace_is_an_error(check_case: Any, path: str, message: str) -> None:
    errors, _ = check_case(f"expected: {{output: x}}\ninput_files:\n  {path}: text\n")
    assert len(errors) == 1
    assert errors[0].startswith('demo/one/core/a.yaml:3: case "a": input file ')
    assert message in errors[0]


def test_an_input_path_with_dots_that_stays_inside_is_a_warning(check_case: Any) -> None:
    errors, warnings = check_case("expected: {output: x}\ninput_files: {a/../x: text}\n")
    assert errors == []
    assert 'input file a/../x goes through "..": write it as x' in warnings[0]


def test_two_inputs_with_one_path_are_a_warning(check_case: Any) -> None:
    case = "expected: {output: x}\ninput_files:\n- {path: d/x, content: one}\n- {path: ./d/x, content: two}\n"
    errors, warnings = check_case(case)
    assert errors == []
    assert warnings[0].startswith(
        'demo/one/core/a.yaml:4: case "a": input file d/x is given twice; the second replaces the first'
    )


def test_an_input_below_another_input_is_an_error(check_case: Any) -> None:
    errors, _ = check_case("expected: {output: x}\ninput_files: {d: one, d/x: two}\n")
    assert "input file d/x cannot be written: d is an input file as well" in errors[0]


@pytest.mark.parametrize(
    "written",
    ["rows.csv: {not: rows}", "rows.csv: [{a: 1}, {b: 2}]", "rows.parquet: 5", "shop.db: 5"],
)
def test_an_input_that_cannot_be_written_in_its_type_is_an_error(check_case: Any, written: str) -> None:
    errors, _ = check_case(f"expected: {{output: x}}\ninput_files:\n  {written}\n")
    assert len(errors) == 1
    name = written.partition(":")[0]
    assert errors[0].startswith(f'demo/one/core/a.yaml:3: case "a": input file {name} (')


def test_a_case_that_passes_when_nothing_is_done_is_a_warning(check_case: Any) -> None:
    case = "input_files: {out.txt: done}\nexpected:\n  status_code: 0\n  files: [{path: out.txt, contains: do}]\n"
    errors, warnings = check_case(case)
    assert errors == []
    assert warnings[0].startswith('demo/one/core/a.yaml:4: case "a": the expected file "out.txt" would be there if')


@pytest.mark.parametrize(
    "expected",
    [
        "{status_code: 0, files: {out.txt: changed}}",
        "{status_code: 2, files: {out.txt: done}}",
        "{output: unchanged, files: {out.txt: done}}",
        "{status_code: 0, files: [{path: out.txt, content: done}, {path: new.txt}]}",
        "{status_code: 0, files: [{path: out.txt, absent: true}]}",
    ],
)
def test_an_input_that_has_to_stay_as_it_is_beside_other_things_is_fine(check_case: Any, expected: str) -> None:
    assert check_case(f"input_files: {{out.txt: done}}\nexpected: {expected}\n") == ([], [])


def test_for_a_verifier_of_the_authors_the_contents_have_to_be_the_same(check_case: Any) -> None:
    verifier = VERIFIER.replace("RETURNED", VERDICT)
    same = "input_files: {out.json: {a: 1}}\nexpected: {status_code: 0, files: {out.json: {a: 1}}}\n"
    _, warnings = check_case(same, verifier__py=verifier)
    assert len(warnings) == 1
    assert check_case(same.replace("{a: 1}}}", "{a: 2}}}"), verifier__py=verifier) == ([], [])


@pytest.mark.parametrize(
    "case",
    [
        "arguments: ['{{static:ratse}}']",
        "stdin: '{{ static:ratse }}'",
        "input_files: {x.json: {deep: ['{{static:ratse}}']}}",
        "own: {key: '{{static:ratse}}'}",
    ],
)
def test_an_unknown_asset_in_a_case_is_an_error(check_case: Any, case: str) -> None:
    config = {"static_assets": {"rates": {"path": "assets"}}}
    errors, _ = check_case(f"expected: {{output: x}}\n{case}\n", config, assets__txt="", **{"assets/x": ""})
    assert len(errors) == 1
    assert errors[0].startswith('demo/one/core/a.yaml:2: case "a": {{static:ratse}} names an unknown asset')
    assert '(did you mean "rates"?)' in errors[0]


def test_a_known_asset_is_fine(check_case: Any) -> None:
    config = {"static_assets": {"rates": {"path": "assets"}}}
    case = "arguments: ['{{static:rates}}/x']\nexpected: {output: x}\n"
    assert check_case(case, config, **{"assets/x": ""}) == ([], [])


def test_arguments_that_a_shell_reads_otherwise_are_a_warning_with_their_line(check_case: Any) -> None:
    case = "expected: {output: x}\narguments:\n- --name\n- Ada Lovelace\n"
    errors, warnings = check_case(case)
    assert errors == []
    assert warnings[0].startswith('demo/one/core/a.yaml:4: case "a": argument 2, "Ada Lovelace": the shell makes')
    assert "if that is not meant, write it in argv, which is quoted" in warnings[0]


def test_argv_is_quoted_and_one_text_is_a_line_of_shell(check_case: Any) -> None:
    assert check_case("argv: [Ada Lovelace, $5, '*', '']\nexpected: {output: x}\n") == ([], [])
    assert check_case("arguments: add 2 3 | sort > out.txt\nexpected: {output: x}\n") == ([], [])
    assert len(check_case("arguments: [two words]\nexpected: {output: x}\n")[1]) == 1


def test_variables_of_the_configuration_and_inputs_are_known_to_the_shell(check_case: Any) -> None:
    case = "arguments: [$RATE, '*.csv']\ninput_files: {a.csv: []}\nexpected: {output: x}\n"
    assert check_case(case, {"env": {"RATE": "5"}}) == ([], [])
    assert len(check_case(case)[1]) == 1


def test_cases_of_a_script_are_named_by_checkpoint_group_and_id(make_problem: MakeProblem) -> None:
    pairs = 'CLICase(id="a", arguments=["say", "two words"], input_files=[InputFile(path="/x", content="")]), CLIResult(output="x")'
    loader = scripted(f"({pairs})")
    folder = make_problem(SCRIPT, {"one/spec.md": "Do.", "loader.py": loader})
    errors, warnings = sorted_out(check_package(folder))
    assert errors[0].startswith('checkpoint "one", group "core", case "a": input file /x has an absolute path')
    assert warnings[0].startswith('checkpoint "one", group "core", case "a": argument 2, "two words": the shell')
    assert warnings[0].endswith("if that is not meant, quote it with shlex.quote")


def test_a_script_that_gives_one_argument_may_mean_a_line(make_problem: MakeProblem) -> None:
    loader = scripted('(CLICase(id="a", arguments="add 2 3"), CLIResult(output="x"))')
    folder = make_problem(SCRIPT, {"one/spec.md": "Do.", "loader.py": loader})
    assert sorted_out(check_package(folder)) == ([], [])


def test_arguments_of_a_request_have_to_be_a_query(make_problem: MakeProblem) -> None:
    loader = scripted('(APICase(id="a", arguments=["a=two words", "b"]), {"status_code": 200})')
    folder = make_problem({**SCRIPT, "adapter": {"type": "api"}}, {"one/spec.md": "Do.", "loader.py": loader})
    errors, warnings = sorted_out(check_package(folder))
    assert errors == ['checkpoint "one", group "core", case "a": argument "b" is not of the form key=value']
    assert warnings == []


def test_what_is_wrong_with_a_case_is_told_once_and_not_again_for_its_regressions(make_problem: MakeProblem) -> None:
    checkpoints = {"one": {"groups": {"core": {}}}, "two": {"regressions": [{"checkpoints": "*"}]}}
    case = 'CLICase(id="a", arguments=["say", "two words"]), CLIResult(output="x")'
    specs = {"one/spec.md": "Do.", "two/spec.md": "Do more."}
    for config, files in (
        ({"checkpoints": checkpoints}, {"loader.py": scripted(f"({case})")}),
        (
            {"checkpoints": checkpoints, "loader_script": "builtin:files"},
            {"one/core/a.yaml": "arguments: [say, two words]\nexpected: {output: x}\n"},
        ),
    ):
        checked = check_package(make_problem(config, {**specs, **files}))
        assert [count.cases for count in checked.counts] == [1, 1]
        assert len(checked.findings.items) == 1


def test_whatever_a_script_puts_into_a_case_costs_that_case_only(make_problem: MakeProblem) -> None:
    loader = """
    from slop_code.evaluation.loaders import BaseLoader
    class Loader(BaseLoader):
        def __call__(self, group, store):
            endless = []
            endless.append(endless)
            yield {"id": "endless", "own": endless}, {"output": "x"}
            yield {"id": "odd", "arguments": ["two words", "x"]}, {"output": "x"}
    """
    folder = make_problem(SCRIPT, {"one/spec.md": "Do.", "loader.py": loader})
    errors, warnings = sorted_out(check_package(folder))
    assert len(errors) == len(warnings) == 1
    assert errors[0].startswith('checkpoint "one", group "core", case "endless": it cannot be checked: RecursionError')


def test_nothing_is_written_by_a_check(make_problem: MakeProblem, tmp_path: Path) -> None:
    make_problem(FILES, {"one/spec.md": "Do.", "one/core/a.yaml": "input_files: {x: y}\nexpected: {output: x}\n"})
    before = sorted(os.walk(tmp_path))
    check_package(tmp_path / "demo")
    assert sorted(os.walk(tmp_path)) == before
