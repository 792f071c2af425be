"""The ready loader, `builtin:files`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import structlog

from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.adapters import BaseCase, CaseResult
from slop_code.evaluation.config import ConfigError
from slop_code.evaluation.loaders import LoaderError
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from tests.conftest import MakeProblem

Pairs = list[tuple[Any, Any]]


def load(make_problem: MakeProblem, files: dict[str, str], group: dict[str, Any] | None = None, **config: Any) -> Pairs:
    return read(
        make_problem(
            {"loader_script": "builtin:files", **config, "checkpoints": {"one": {"groups": {"core": group or {}}}}},
            {f"one/core/{name}": text for name, text in files.items()},
        )
    )


def read(folder: Path) -> list[tuple[BaseCase, CaseResult]]:
    (folder / "one" / "core").mkdir(parents=True, exist_ok=True)
    problem = ProblemConfig.from_yaml(folder)
    checkpoint = problem.checkpoints["one"]
    loader = initialize_loader(problem, checkpoint)
    store = make_store(loader, problem, checkpoint)
    return list(iterate_cases(loader, problem, checkpoint, checkpoint.groups["core"], store))


def ids(pairs: Pairs) -> list[str]:
    return [case.id for case, _ in pairs]


GUIDE = """
name: complex_test
description: A more complex test case
tags:
  - integration
  - slow
priority: high
timeout: 120
arguments: ["--mode", "complex"]
stdin: "input data"
expected:
  output: "Success\\n"
  status_code: 0
  files:
    - path: /app/output.json
      content: '{"status": "ok"}'
"""


def test_the_guides_case_file_is_read_with_its_metadata(make_problem: MakeProblem) -> None:
    ((case, expected),) = load(make_problem, {"any.yaml": GUIDE})
    assert (case.id, case.description, case.tags) == (
        "complex_test",
        "A more complex test case",
        ["integration", "slow"],
    )
    assert (case.priority, case.timeout_s, case.arguments, case.stdin) == (
        "high",
        120,
        ["--mode", "complex"],
        "input data",
    )
    assert (expected.output, expected.status_code) == ("Success\n", 0)
    assert expected.files == [{"path": "/app/output.json", "content": '{"status": "ok"}'}]
    assert expected.model_fields_set == {"output", "status_code", "files"}


def test_name_defaults_to_the_files_stem(make_problem: MakeProblem) -> None:
    files = {"addition.yaml": "expected: {output: x}", "b.yml": "expected: {}", "c.json": '{"expected": {}}'}
    assert ids(load(make_problem, files)) == ["addition", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        "- {name: a, expected: {}}\n- {expected: {}}\n",
        "name: a\nexpected: {}\n---\nexpected: {}\n",
        "cases:\n- {name: a, expected: {}}\n- {expected: {}}\n",
    ],
)
def test_a_list_several_documents_or_a_cases_key_are_many(make_problem: MakeProblem, text: str) -> None:
    assert ids(load(make_problem, {"many.yaml": text})) == ["a", "many_2"]


def test_json_files_hold_one_case_or_many(make_problem: MakeProblem) -> None:
    files = {
        "a.json": '{"arguments": ["x", 1.50], "expected": {"output": {"k": [1]}}}',
        "b.json": '[{"name": "p", "expected": {}}, {"name": "q", "expected": {}}]',
    }
    pairs = load(make_problem, files)
    assert ids(pairs) == ["a", "p", "q"]
    assert pairs[0][0].arguments == ["x", "1.50"]
    assert pairs[0][1].output == {"k": [1]}


def test_keys_beside_cases_are_defaults_for_each_of_them(make_problem: MakeProblem) -> None:
    text = (
        "timeout: 4\nexpected: {status_code: 2}\ncases:\n- {name: a, expected: {output: x}}\n- {name: b, timeout: 5}\n"
    )
    pairs = load(make_problem, {"many.yaml": text})
    assert [(case.timeout_s, expected.status_code, expected.output) for case, expected in pairs] == [
        (4, 2, "x"),
        (5, 2, None),
    ]


def test_nested_folders_count_and_files_come_by_path(make_problem: MakeProblem) -> None:
    files = {f"{name}.yaml": "expected: {}" for name in ("z", "sub/b", "sub/deep/c", "a")}
    assert ids(load(make_problem, files)) == ["a", "b", "c", "z"]


def test_case_order_comes_first_then_the_path(make_problem: MakeProblem) -> None:
    files = {f"{name}.yaml": "expected: {}" for name in "abcd"}
    assert ids(load(make_problem, files, {"case_order": ["d", "b"]})) == ["d", "b", "a", "c"]


def test_a_case_order_entry_without_a_case_costs_nothing_but_is_told(make_problem: MakeProblem) -> None:
    folder = make_problem(
        {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {"case_order": ["gone", "a"]}}}}},
        {"one/core/a.yaml": "expected: {}"},
    )
    problem = ProblemConfig.from_yaml(folder)
    checkpoint = problem.checkpoints["one"]
    stream = iterate_cases(initialize_loader(problem, checkpoint), problem, checkpoint, checkpoint.groups["core"], None)
    assert next(stream)[0].id == "a"
    with pytest.raises(LoaderError, match=r'case_order of group "core" names "gone", but .*one/core has no such case'):
        next(stream)


def test_defaults_come_from_case_defaults_and_mappings_are_merged(make_problem: MakeProblem) -> None:
    group = {"case_defaults": {"arguments": ["x"], "expected": {"status_code": 2}, "metadata": {"a": 1}}}
    files = {
        "a.yaml": "expected: {output: o}\nmetadata: {b: 2}",
        "b.yaml": "arguments: [y]\nexpected: {status_code: 0}",
    }
    (first, expected), (second, other) = load(make_problem, files, group)
    assert (first.arguments, first.metadata) == (["x"], {"a": 1, "b": 2})
    assert (expected.status_code, expected.output) == (2, "o")
    assert (second.arguments, other.status_code) == (["y"], 0)


def test_expected_files_may_be_a_mapping(make_problem: MakeProblem) -> None:
    ((_, expected),) = load(make_problem, {"a.yaml": "expected: {files: {out.txt: hello}}"})
    assert expected.files == {"out.txt": "hello"}


def test_argv_is_quoted_for_the_author(make_problem: MakeProblem) -> None:
    ((case, _),) = load(make_problem, {"a.yaml": "argv: [add, 'two words', \"it's\", $HOME, 1.50, '']\nexpected: {}"})
    assert case.arguments == ["add", "'two words'", "'it'\"'\"'s'", "'$HOME'", "1.50", "''"]
    assert "argv" not in (case.model_extra or {})


def test_argv_and_arguments_exclude_each_other_but_replace_each_others_default(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match='"argv" and "arguments" exclude each other'):
        load(make_problem, {"a.yaml": "argv: [x]\narguments: [y]\nexpected: {}"})
    ((case, _),) = load(make_problem, {"a.yaml": "argv: [x y]\nexpected: {}"}, {"case_defaults": {"arguments": ["z"]}})
    assert case.arguments == ["'x y'"]


def test_arguments_are_text_as_the_author_wrote_it(make_problem: MakeProblem) -> None:
    ((case, _),) = load(make_problem, {"a.yaml": "arguments: [add, 1.50, 08, yes, 2024-01-02]\nexpected: {}"})
    assert case.arguments == ["add", "1.50", "08", "yes", "2024-01-02"]


def test_dates_in_an_expectation_stay_text(make_problem: MakeProblem) -> None:
    ((_, expected),) = load(make_problem, {"a.yaml": "expected: {output: {day: 2024-01-02}}"})
    assert expected.output == {"day": "2024-01-02"}


def test_input_files_inline_by_name_and_from_a_file(make_problem: MakeProblem) -> None:
    files = {
        "a.yaml": "input_files:\n- {path: in.csv, content: [{x: 1}]}\n- {path: d/t, content: '1', file_type: json}\n"
        "- {path: copied.txt, source: data/original.txt}\nexpected: {}",
        "b.yaml": "input_files: {c.json: {k: 1}, d.txt: hello}\nexpected: {}",
        "data/original.txt": "hello",
    }
    (first, _), (second, _) = load(make_problem, files)
    assert [(str(f.path), f.file_type.value, f.content) for f in first.input_files] == [
        ("in.csv", "csv", [{"x": 1}]),
        ("d/t", "json", "1"),
        ("copied.txt", "text", "hello"),
    ]
    assert [(str(f.path), f.file_type.value, f.content) for f in second.input_files] == [
        ("c.json", "json", {"k": 1}),
        ("d.txt", "text", "hello"),
    ]


def test_group_files_are_not_cases(make_problem: MakeProblem) -> None:
    files = {"a.yaml": "expected: {}", "shared.yaml": "x", "data/more.json": "[1]"}
    assert ids(load(make_problem, files, {"group_files": ["shared.yaml", "data"]})) == ["a"]


TAGGED = {
    "a.yaml": "tags: [fast, net]\npriority: low\nexpected: {}",
    "b.yaml": "tags: [slow]\npriority: high\nexpected: {}",
    "c.yaml": "priority: 1\nexpected: {}",
    "d.yaml": "expected: {}",
}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"tags": ["fast", "slow"]}, ["a", "b"]),
        ({"tags": "net"}, ["a"]),
        ({"priority": "normal"}, ["b", "c"]),
        ({"priority": 2}, ["b"]),
        ({"priority": "low"}, ["a", "b", "c", "d"]),
        ({"tags": ["fast"], "priority": "high"}, []),
        ({}, ["a", "b", "c", "d"]),
    ],
)
def test_a_group_can_filter_by_tags_and_priority(make_problem: MakeProblem, filters: Any, found: list[str]) -> None:
    assert ids(load(make_problem, TAGGED, {"filters": filters})) == found


def test_api_case_files_are_read(make_problem: MakeProblem) -> None:
    text = "method: POST\npath: /x\nquery: {q: 1}\nheaders: {X-N: 5}\nbody: {a: 1}\nretries: 2\nexpected: {status_code: 201}"
    ((case, expected),) = load(make_problem, {"a.yaml": text}, adapter={"type": "api"})
    assert (case.method, case.path, case.query, case.headers, case.body, case.retries) == (
        "POST",
        "/x",
        {"q": 1},
        {"X-N": "5"},
        {"a": 1},
        2,
    )
    assert expected.status_code == 201


def test_unknown_keys_stay_on_the_case_and_typos_are_warned_about(make_problem: MakeProblem) -> None:
    with structlog.testing.capture_logs() as logs:
        ((case, _),) = load(make_problem, {"a.yaml": "argumnets: [x]\nticket: 5\nexpected: {}"})
    assert case.ticket == 5
    assert len(logs) == 1
    assert 'a.yaml:1: case "a" has unknown key "argumnets" (did you mean "arguments"?)' in logs[0]["event"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\n", r'a.yaml:1: case "x" lacks the key "expected"'),
        ("name: x\nexpcted: {}\n", r'lacks the key "expected" \("expcted" looks like a misspelling'),
        ("expected: 5\n", r'a.yaml:1: case "a": "expected" should be a mapping, found 5'),
        (
            "expected:\n  status_code: ok\n",
            r'a.yaml:2: case "a": "expected.status_code" should be a whole number, found "ok"',
        ),
        ("timeout: -1\nexpected: {}\n", r'a.yaml:1: case "a": "timeout(_s)?" should be more than 0'),
        ("arguments: {a: 1}\nexpected: {}\n", r'a.yaml:1: case "a": "arguments'),
        ("input_files: [{pth: x}]\nexpected: {}\n", r'a.yaml:1: case "a"'),
        ("input_files: [{path: x, source: nowhere}]\nexpected: {}\n", r'a.yaml:1: .*input file "x" cannot be read'),
        ("", r"a.yaml: a case should be a mapping with an `expected` key; the file is empty"),
        ("5", r"a.yaml:1: a case should be a mapping .*; found 5"),
        ("- x\n", r'a.yaml:1: a case should be a mapping .*; found "x"'),
        ("cases: 5", r'a.yaml: "cases" should be a list'),
        ("a: [", r"a.yaml:1: is not YAML"),
        ("- {name: x, expected: {}}\n- {name: x, expected: {}}\n", r'already a case named "x"'),
    ],
)
def test_a_wrong_case_file_is_told_with_its_line(make_problem: MakeProblem, text: str, message: str) -> None:
    with pytest.raises(LoaderError, match=message):
        load(make_problem, {"a.yaml": text})


def test_json_errors_have_a_line_too(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r"a.json:2: is not JSON: "):
        load(make_problem, {"a.json": '{\n"x": }'})
    with pytest.raises(LoaderError, match=r'a.json:1: the key "x" stands here again'):
        load(make_problem, {"a.json": '{"x": 1, "x": 2}'})
    with pytest.raises(LoaderError, match=r'a.json:3: case "a": "expected.status_code" should be a whole number'):
        load(make_problem, {"a.json": '{\n"expected": {\n"status_code": "x"}}'})


def test_two_files_with_one_name_name_each_other(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r'sub/a.yaml: there is already a case named "a" in .*core/a.yaml'):
        load(make_problem, {"a.yaml": "expected: {}", "sub/a.yaml": "expected: {}"})


def test_a_bad_filter_is_told(make_problem: MakeProblem) -> None:
    with pytest.raises(ConfigError, match='unknown priority "urgent": use low, normal, high or a number'):
        load(make_problem, {"a.yaml": "expected: {}"}, {"filters": {"priority": "urgent"}})
    with pytest.raises(ConfigError, match='"filters" should be a mapping'):
        load(make_problem, {"a.yaml": "expected: {}"}, {"filters": ["x"]})


def test_names_and_arguments_in_the_configuration_mean_what_the_author_sees(make_problem: MakeProblem) -> None:
    folder = make_problem(
        """
        name: d
        version: 1
        description: d
        entry_file: d
        adapter: {type: cli}
        loader_script: builtin:files
        checkpoints:
          one:
            groups:
              core: {case_order: [002, 001], case_defaults: {arguments: [add, 1.50, 010, yes]}}
        """,
        {"one/core/001.yaml": "expected: {}", "one/core/002.yaml": "expected: {}"},
    )
    pairs = read(folder)
    assert ids(pairs) == ["002", "001"]
    assert pairs[0][0].arguments == ["add", "1.50", "010", "yes"]


def test_an_explicit_null_in_a_case_file_means_no_limit(make_problem: MakeProblem) -> None:
    files = {"a.yaml": "timeout: null\nexpected: {}", "b.yaml": "expected: {}"}
    (first, _), (second, _) = load(make_problem, files, timeout=5)
    assert (first.timeout_s, second.timeout_s) == (None, 5)
