"""What a broken `config.yaml` is told: the file, the line, the rule, and all of it at once; never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.config import ConfigError
from tests.conftest import MINIMAL, MakeProblem

HEAD = "name: demo\nversion: 1\ndescription: d\nentry_file: demo\nadapter: {type: cli}\n"


def error_of(folder: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        ProblemConfig.from_yaml(folder)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: [demo\nversion: 1\n", 2, "is not YAML"),
        ("name: demo\n\tversion: 1\n", 2, "a tab stands where YAML wants spaces"),
        (HEAD + "version: 2\n", 6, 'the key "version" stands here again; it is already on line 2'),
        (HEAD + "checkpoints:\n  one: {order: 1}\n  one: {order: 2}\n", 8, 'the key "one" stands here again'),
        (HEAD + "checkpoints:\n  one:\n", 7, 'checkpoint "one" should be a mapping of keys to values; found nothing'),
        (
            HEAD + "checkpoints:\n  one:\n    groups: {core: null}\n",
            8,
            'group "core" of checkpoint "one" should be a map',
        ),
        (HEAD + "checkpoints:\n  one:\n    groups: [core]\n", 8, '"groups" should be a mapping, found a list'),
        (
            HEAD + "checkpoints:\n  one:\n    groups:\n      core: [1]\n",
            9,
            'group "core" of checkpoint "one" should be',
        ),
        (HEAD + "checkpoints: 5\n", 6, '"checkpoints" should be a mapping of names to bodies or a list of names'),
        (HEAD + "checkpoints: [[1]]\n", 6, "a checkpoint in the list should be a name, found a list"),
        (HEAD + "checkpoints: {a: {path: ../b}}\n", 6, '"path" should be a folder of the problem'),
        (HEAD + "checkpoints: {a: {path: x/c}, b: {path: y/c}}\n", 6, 'checkpoints "a" and "b" have paths that end in'),
        (HEAD.replace("version: 1", "version: one"), 2, '"version" should be a whole number, found "one"'),
        (HEAD.replace("version: 1", "version: 1.5"), 2, '"version" should be a whole number, found 1.5'),
        (HEAD.replace("version: 1", "version: yes"), 2, '"version" should be a number, not true or false'),
        (HEAD + "timeout: soon\n", 6, '"timeout" should be a number, found "soon"'),
        (HEAD + "timeout: 0\n", 6, '"timeout" should be more than 0, found 0'),
        (HEAD + "timeout: .inf\n", 6, '"timeout" should be a finite number'),
        (HEAD + "timeout: true\n", 6, '"timeout" should be a number, not true or false'),
        (HEAD + "tags: one\n", 6, '"tags" should be a list, found "one"'),
        (HEAD + "env: [A]\n", 6, '"env" should be a mapping, found a list'),
        (HEAD + "env: {A: null}\n", 6, '"env.A" should be text, found nothing (null)'),
        (HEAD + "static_assets: {rates: assets}\n", 6, 'asset "rates" should be a mapping, found "assets"'),
        (HEAD + "static_assets: {rates: {pth: x}}\n", 6, 'asset "rates" lacks the key "path" ("pth" looks like'),
        (HEAD.replace("{type: cli}", "cli"), 5, '"adapter" should be a mapping such as {type: cli}, found "cli"'),
        (HEAD.replace("{type: cli}", "{}"), 5, '"adapter" lacks the key "type"'),
        (HEAD.replace("{type: cli}", "{type: clii}"), 5, '"adapter.type" should be one of cli, api, found "clii"'),
        (HEAD.replace("{type: cli}", "{type: api, port: 0}"), 5, 'the adapter: "port"'),
        (HEAD.replace("{type: cli}", "{type: api, address: 'http://x'}"), 5, '"address" should be a bare host'),
        (HEAD.replace("name: demo", "nam: demo"), 1, 'lacks the key "name" ("nam" looks like a misspelling of it)'),
        (HEAD.replace("name: demo", "name: ''"), 1, '"name" must not be empty'),
        (HEAD + "x: &x [*x]\n", 6, "an alias refers to the value that it is part of"),
        (HEAD + "x: !!int abc\n", 6, "holds a value that cannot be read"),
        (HEAD + "x: !!bool maybe\n", 6, "holds a value that cannot be read"),
        (HEAD + "1: x\n'1': y\n", 7, 'the key "1" stands here again'),
        (HEAD + f"checkpoints: [{'x' * 300}]\n", 6, "there is no such file"),
        (HEAD + "checkpoints: {a: {groups: {g: {filters: {priority: x}}}}}\n", 6, 'unknown priority "x"'),
    ],
)
def test_what_is_wrong_is_shown_with_its_line(make_problem: MakeProblem, text: str, line: int, message: str) -> None:
    error = error_of(make_problem(text))
    assert message in str(error)
    found = next(finding for finding in error.findings if message in finding.message)
    assert (Path(found.path).name, found.line) == ("config.yaml", line)
    assert found.excerpt.startswith(f"{line:>6} | ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the configuration should be a mapping of keys to values; the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("- a\n- b\n", "the configuration should be a mapping of keys to values; found a list"),
        ("just words", 'found "just words"'),
        (HEAD + "---\n" + HEAD, "holds several YAML documents"),
        ("a: " + "[" * 5000, "nests deeper than"),
        ("- " * 5000 + "x", "nests deeper than"),
        ("a: " + "9" * 5000, "holds a value that cannot be read"),
        ("a: \x00", "a character that YAML does not allow"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("? [a]\n: b\n", "unhashable"),
    ],
)
def test_what_is_no_configuration_at_all_is_told_so(make_problem: MakeProblem, text: str, message: str) -> None:
    assert message in str(error_of(make_problem(text)))


def test_an_alias_bomb_is_refused_at_once(make_problem: MakeProblem) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "its aliases multiply" in str(error_of(make_problem(HEAD + "\n".join(lines))))


def test_bytes_that_are_not_text_are_told_so(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"name: \xff\xfe")
    assert "is not UTF-8 text" in str(error_of(tmp_path))


def test_a_missing_problem_names_a_near_one(make_problem: MakeProblem) -> None:
    folder = make_problem()
    assert 'no such problem (did you mean "demo"?)' in str(error_of(folder.with_name("dmeo")))


def test_a_folder_without_config_is_told_so(tmp_path: Path) -> None:
    assert "this folder has no config.yaml, so it is not a problem" in str(error_of(tmp_path))


def test_a_config_that_is_a_folder_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    assert "is a folder where a file is expected" in str(error_of(tmp_path))


def test_an_unreadable_config_is_told_so(tmp_path: Path) -> None:
    # Reading this file fails for everybody, root included.
    (tmp_path / "config.yaml").symlink_to("/proc/self/mem")
    assert "cannot be read" in str(error_of(tmp_path))


def test_everything_that_is_wrong_is_told_at_once(make_problem: MakeProblem) -> None:
    error = error_of(
        make_problem(
            """
            name: demo
            version: one
            entry_file: demo
            adapter: {type: cli}
            timeout: soon
            checkpoints:
              a: {order: x}
              b:
                groups:
                  core: {type: Cor, weight: heavy}
                regressions: [{}]
            """
        )
    )
    assert [finding.line for finding in error.findings] == [3, 2, 6, 8, 11, 11, 12]


def test_the_caret_stands_below_the_key(make_problem: MakeProblem) -> None:
    error = error_of(make_problem(HEAD + "checkpoints:\n  one:\n    groups:\n      core: {timeout: fast}\n"))
    lines = str(error).splitlines()
    assert lines[-2] == "     9 |       core: {timeout: fast}"
    assert lines[-1] == "       |              ^^^^^^^"


def test_errors_show_the_path_relative_to_where_the_user_stands(
    make_problem: MakeProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_problem("name: [oops")
    monkeypatch.chdir(tmp_path)
    assert str(error_of(Path("demo"))).startswith("demo/config.yaml:1: ")


def test_merge_keys_and_anchors_work(make_problem: MakeProblem) -> None:
    folder = make_problem(
        HEAD + "shared: &shared {type: Core, timeout: 5}\ncheckpoints:\n  one:\n    groups:\n"
        "      a: *shared\n      b: {<<: *shared, timeout: 7}\n"
    )
    groups = ProblemConfig.from_yaml(folder).checkpoints["one"].groups
    assert (groups["a"].type, groups["b"].type) == ("Core", "Core")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("one") | st.just("*"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=8,
)
group_junk = st.dictionaries(
    st.sampled_from(["type", "timeout", "case_order", "original_group", "original_checkpoint", "weight", "isolated"]),
    junk,
)
checkpoint_junk = st.fixed_dictionaries(
    {},
    optional={
        "groups": junk | st.dictionaries(st.sampled_from(["core", "errors"]), junk | group_junk),
        "regressions": junk
        | st.lists(
            st.dictionaries(st.sampled_from(["checkpoint", "checkpoints", "groups", "name_template", "exclude"]), junk),
            max_size=2,
        ),
        "path": junk,
        "order": junk,
        "env": junk,
        "timeout": junk,
        "loader": junk,
    },
)
config_junk = st.builds(
    lambda base, over: {**base, **over},
    st.just(MINIMAL),
    st.dictionaries(
        st.sampled_from(["name", "version", "adapter", "tags", "env", "static_assets", "timeout", "loader_script"])
        | st.text(max_size=5)
        | st.integers(),
        junk,
        max_size=4,
    )
    | st.fixed_dictionaries(
        {"checkpoints": junk | st.dictionaries(st.sampled_from(["one", "two"]), junk | checkpoint_junk)}
    ),
)


@given(config=config_junk)
def test_structured_junk_gives_a_model_or_a_clear_error(
    config: dict[Any, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    import yaml

    folder = tmp_path_factory.mktemp("junk")
    (folder / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    try:
        ProblemConfig.from_yaml(folder)
    except ConfigError as error:
        assert error.findings


@given(text=st.text(max_size=60))
def test_random_text_gives_a_clear_error(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("text")
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    assert error_of(folder).findings
