"""What `problems check` finds in a package as a whole: one test for each kind of finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation.check import check_package
from tests.conftest import MakeProblem

CASE = "expected: {output: x}\n"
READY: dict[str, Any] = {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}}
SOUND = {"one/spec.md": "Do.", "one/core/a.yaml": CASE}


@pytest.fixture(autouse=True)
def in_the_problems_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def check(make_problem: MakeProblem) -> Any:
    """Check a problem; returns its errors and its warnings."""

    def run(config: dict[str, Any] | str, files: dict[str, str]) -> tuple[list[str], list[str]]:
        findings = check_package(make_problem(config, files)).findings
        return [str(item) for item in findings.errors], [str(item) for item in findings.warnings]

    return run


def loader(cases: str) -> str:
    return f"""
    from slop_code.evaluation.loaders import BaseLoader
    class Loader(BaseLoader):
        def __call__(self, group, store):
            {cases}
    """


def test_a_sound_package_gives_nothing(check: Any) -> None:
    assert check(READY, SOUND) == ([], [])


def test_a_missing_specification_is_a_warning_with_the_nearest_file(check: Any) -> None:
    errors, warnings = check(READY, {"one/core/a.yaml": CASE, "one/specs.md": "Do."})
    assert errors == []
    assert len(warnings) == 1
    assert warnings[0].startswith(
        'demo/config.yaml:9: checkpoint "one": its specification is missing: there is no demo/one/spec.md '
        '(did you mean "specs.md"?)'
    )


def test_a_specification_is_looked_for_under_its_own_name_and_has_to_say_something(check: Any) -> None:
    config = {**READY, "checkpoints": {"one": {"groups": {"core": {}}, "specification": "task.md"}}}
    assert check(config, {"one/core/a.yaml": CASE, "one/task.md": "Do."}) == ([], [])
    _, warnings = check(config, {"one/task.md": " \n"})
    assert warnings[0].startswith(
        'demo/config.yaml:12: checkpoint "one": its specification, demo/one/task.md, is empty'
    )


def test_the_place_of_a_listed_checkpoint_is_its_own_file(check: Any) -> None:
    files = {"one/config.yaml": "version: 1\nspecification: gone.md\ngroups: {core: {}}\n", "one/core/a.yaml": CASE}
    _, warnings = check({**READY, "checkpoints": ["one"]}, files)
    assert warnings[0].startswith('demo/one/config.yaml:2: checkpoint "one": its specification is missing')


def test_a_missing_asset_is_an_error_with_its_line(check: Any) -> None:
    config = {**READY, "static_assets": {"rates": {"path": "asets"}}}
    errors, _ = check(config, {**SOUND, "assets/rates.json": "{}"})
    assert len(errors) == 1
    assert errors[0].startswith(
        'demo/config.yaml:14: asset "rates": demo/asets does not exist (did you mean "assets"?)'
    )


def test_an_asset_that_would_leave_its_folder_is_an_error(check: Any) -> None:
    config = {**READY, "static_assets": {"rates": {"path": "assets", "save_path": "../rates"}}}
    errors, _ = check(config, {**SOUND, "assets/rates.json": "{}"})
    assert 'asset "rates": save_path "../rates" leaves the assets folder' in errors[0]


def test_an_unknown_asset_in_the_adapters_arguments_is_an_error(check: Any) -> None:
    config = {**READY, "adapter": {"type": "api", "arguments": ["--data", "{{static:nothing}}"]}}
    errors, warnings = check(config, SOUND)
    assert len(errors) == 1
    assert errors[0].startswith("demo/config.yaml:9: {{static:nothing}} names an unknown asset")
    assert warnings == []


def test_adapter_arguments_that_a_shell_reads_otherwise_are_a_warning(check: Any) -> None:
    config = {**READY, "adapter": {"type": "api", "arguments": ["--title", "two words"]}}
    errors, warnings = check(config, SOUND)
    assert errors == []
    assert warnings[0].startswith('demo/config.yaml:9: the adapter: argument 2, "two words": the shell makes')


def test_a_checkpoint_without_groups_is_a_warning(check: Any) -> None:
    _, warnings = check({**READY, "checkpoints": {"one": {"version": 1}}}, SOUND)
    assert warnings[0].startswith('demo/config.yaml:9: checkpoint "one": it has no groups, so there is nothing to run')


def test_a_group_without_cases_is_a_warning_even_beside_errors(check: Any, tmp_path: Path) -> None:
    config = {**READY, "checkpoints": {"one": {"groups": {"core": {}, "empty": {}}}}}
    (tmp_path / "demo" / "one" / "empty").mkdir(parents=True)
    errors, warnings = check(config, {"one/spec.md": "Do.", "one/core/a.yaml": "expected: {}"})
    assert len(errors) == 1
    assert [warning.partition("\n")[0] for warning in warnings] == [
        'demo/config.yaml:12: checkpoint "one", group "empty": it has no cases'
    ]


def test_a_name_in_case_order_without_a_file_is_an_error_with_its_line_and_costs_no_other_case(
    make_problem: MakeProblem,
) -> None:
    config = {**READY, "checkpoints": {"one": {"groups": {"core": {"case_order": ["b", "first", "a"]}}}}}
    files = {**SOUND, "one/core/b.yaml": CASE, "one/core/frist.yaml": CASE}
    checked = check_package(make_problem(config, files))
    (error,) = checked.findings.errors
    assert str(error).startswith(
        'demo/config.yaml:14: checkpoint "one", group "core": case_order names "first", and there is no such case '
        '(did you mean "frist"?)'
    )
    assert [count.cases for count in checked.counts] == [3]


def test_a_missing_name_in_case_order_is_not_told_again_for_regressions(check: Any) -> None:
    checkpoints = {
        "one": {"groups": {"core": {"case_order": ["gone"]}}},
        "two": {"regressions": [{"checkpoint": "one"}]},
    }
    errors, warnings = check({**READY, "checkpoints": checkpoints}, {**SOUND, "two/spec.md": "Do more."})
    assert (len(errors), warnings) == (1, [])


def test_a_name_in_case_order_that_a_script_gives_no_case_for_is_a_warning(check: Any) -> None:
    config = {"checkpoints": {"one": {"groups": {"core": {"case_order": ["a.json", "gone"]}}}}}
    script = loader('yield {"id": "a"}, {"output": "x"}')
    errors, warnings = check(config, {"one/spec.md": "Do.", "loader.py": script})
    assert errors == []
    assert len(warnings) == 1
    assert warnings[0].startswith(
        'demo/config.yaml:13: checkpoint "one", group "core": case_order names "gone", and the loader gives no such '
        'case: it gives "a"'
    )


def test_two_cases_of_one_id_are_an_error(check: Any) -> None:
    config: dict[str, Any] = {"checkpoints": {"one": {"groups": {"core": {}}}}}
    script = loader('yield from [({"id": "a"}, {"output": "x"})] * 2')
    errors, _ = check(config, {"one/spec.md": "Do.", "loader.py": script})
    assert errors == ['checkpoint "one", group "core": 2 cases have the id "a"']
    errors, _ = check(READY, {**SOUND, "one/core/b.yaml": f"name: a\n{CASE}"})
    assert 'demo/one/core/b.yaml: there is already a case named "a" in demo/one/core/a.yaml' in errors[0]


def test_a_broken_loader_is_told_once_for_all_groups(check: Any) -> None:
    checkpoints: dict[str, Any] = {
        "one": {"groups": {"core": {}}},
        "two": {"regressions": [{"checkpoint": "one"}]},
    }
    files = {"one/spec.md": "Do.", "two/spec.md": "Do.", "loader.py": loader("raise KeyError(group.get_real_name())")}
    errors, _ = check({"checkpoints": checkpoints}, files)
    assert len(errors) == 1
    assert 'checkpoint "one", group "core": the loader raised: demo/loader.py:5: KeyError' in errors[0]


def test_a_broken_verifier_is_an_error_and_the_cases_are_still_counted(make_problem: MakeProblem) -> None:
    checked = check_package(make_problem(READY, {**SOUND, "verifier.py": "class Verifier: pass\n"}))
    assert len(checked.findings.errors) == 1
    assert "Verifier" in checked.findings.errors[0].message
    assert [count.cases for count in checked.counts] == [1]


def test_a_group_that_cannot_be_loaded_is_told_once_and_not_again_by_its_regressions(make_problem: MakeProblem) -> None:
    checkpoints = {
        "one": {"groups": {"gone": {}}},
        "two": {"groups": {"core": {}}, "regressions": [{"checkpoint": "one"}]},
    }
    config = {"loader_script": "builtin:files", "checkpoints": checkpoints}
    files = {"one/spec.md": "# 1", "two/spec.md": "# 2", "two/core/a.yaml": "expected: {output: x}"}
    errors = check_package(make_problem(config, files)).findings.errors
    assert [finding.message for finding in errors] == [
        'checkpoint "one", group "gone": demo/one/gone: the folder of group "gone" is missing'
    ]


CASE_DEFAULTS = """
name: demo
version: 1
description: d
entry_file: demo
adapter: {type: cli}
loader_script: builtin:files
checkpoints:
  one:
    groups:
      core:
        case_defaults:
          timout: 3
          argv: 5
          expected: {status_code: zero}
  two:
    groups: {}
    regressions: [{checkpoint: one}]
"""


def test_mistakes_in_case_defaults_are_told_where_they_stand_and_once(make_problem: MakeProblem) -> None:
    files = {f"one/core/{name}.yaml": "expected: {output: x}" for name in "abc"}
    findings = check_package(make_problem(CASE_DEFAULTS, files)).findings
    subject = 'group "core" of checkpoint "one": "case_defaults"'
    assert [(finding.line, finding.message) for finding in findings] == [
        (13, f'{subject} has unknown key "timout" (did you mean "timeout"?)'),
        (14, f'{subject}: "argv" should be a list, found "5"'),
        (15, f'{subject}: "expected.status_code" should be a whole number, found "zero"'),
    ]


def test_mistakes_beside_the_cases_of_a_file_are_told_where_they_stand_and_once(make_problem: MakeProblem) -> None:
    text = "tmeout: 3\nexpected: {status_code: zero}\ncases:\n  - {name: a}\n  - {name: b}\n"
    config = {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}}
    findings = check_package(make_problem(config, {"one/spec.md": "#", "one/core/many.yaml": text})).findings
    warning, error = (str(finding) for finding in findings)
    assert 'many.yaml:1: what stands beside "cases" has unknown key "tmeout" (did you mean "timeout"?)' in warning
    assert 'many.yaml:2: what stands beside "cases": "expected.status_code" should be a whole number' in error


def test_another_loader_may_put_anything_into_case_defaults(make_problem: MakeProblem) -> None:
    loader = """
        from slop_code.evaluation.loaders import BaseLoader
        class Loader(BaseLoader):
            def __call__(self, group, store):
                yield {"id": "a"}, {"output": str(group.case_defaults["argv"])}
    """
    config = {"checkpoints": {"one": {"groups": {"core": {"case_defaults": {"argv": 5}}}}}}
    assert not check_package(make_problem(config, {"loader.py": loader, "one/spec.md": "#"})).findings.errors
