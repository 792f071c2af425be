"""What an observation depends on is in its key, whatever it is; what it does not depend on is not."""

from __future__ import annotations

import datetime
import decimal
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.adapters import APIAdapterConfig, APICase, CLICase
from slop_code.evaluation.observation_keys import after, case_key, place_key, start_of_row
from slop_code.execution import EnvironmentSpec
from slop_code.execution.assets import Assets
from slop_code.execution.driver import open_driver
from slop_code.execution.environment import (
    CommandsBlock,
    EnvironmentBlock,
    LimitsBlock,
    SetupBlock,
    SnapshotBlock,
)
from slop_code.execution.file_ops import FileType, InputFile, InputFileError
from tests.conftest import MakeProblem


class Place:
    """A submission, a problem and an environment, and the key of all that is around the cases."""

    def __init__(self, make_problem: MakeProblem, root: Path) -> None:
        self.root = root
        self.make_problem = make_problem
        self.problem_name = "demo"
        self.checkpoint = "one"
        self.config: dict[str, Any] = {
            "entry_file": "main",
            "adapter": {"type": "cli", "tracked_files": ["made.txt"]},
            "env": {"SHADE": "dark"},
            "static_assets": {"words": {"path": "words.txt"}},
            "checkpoints": {"one": {"groups": {"core": {}, "kept": {"isolated": False}}}},
        }
        self.files = {"words.txt": "a word"}
        self.spec: dict[str, Any] = {"type": "local", "commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}
        self.submission = root / "submission"
        (self.submission / "deep").mkdir(parents=True)
        self.write("main.sh", "echo hello\n")
        self.write("deep/data.txt", "1\n")
        (self.submission / "link").symlink_to("main.sh")

    def write(self, name: str, text: str) -> Path:
        (self.submission / name).write_text(text)
        return self.submission / name

    @property
    def key(self) -> str:
        folder = self.make_problem(self.config, self.files, self.problem_name)
        problem = ProblemConfig.from_yaml(folder)
        spec = EnvironmentSpec.model_validate(self.spec)
        with prepared(spec, self.submission) as image:
            declared = {name: (asset.path, asset.save_path) for name, asset in problem.static_assets.items()}
            assets = Assets.copy(problem.path, declared)
            try:
                return place_key(image, spec, problem, problem.load_checkpoint(self.checkpoint), assets)
            finally:
                assets.close()


@contextmanager
def prepared(spec: EnvironmentSpec, submission: Path) -> Iterator[Any]:
    driver = open_driver(spec)
    image = driver.prepare(submission)
    try:
        yield image
    finally:
        image.close()
        driver.close()


@pytest.fixture
def place(make_problem: MakeProblem, tmp_path: Path) -> Place:
    return Place(make_problem, tmp_path)


def change_a_line(place: Place) -> None:
    place.write("main.sh", "echo hello # again\n")


def make_it_executable(place: Place) -> None:
    (place.submission / "main.sh").chmod(0o755)


def close_a_folder(place: Place) -> None:
    (place.submission / "deep").chmod(0o700)


def turn_a_link(place: Place) -> None:
    (place.submission / "link").unlink()
    (place.submission / "link").symlink_to("deep/data.txt")


def a_copy_for_a_link(place: Place) -> None:
    (place.submission / "link").unlink()
    place.write("link", "echo hello\n")


def add_an_empty_folder(place: Place) -> None:
    (place.submission / "empty").mkdir()


def add_an_empty_file(place: Place) -> None:
    place.write("empty", "")


def add_a_hidden_file(place: Place) -> None:
    place.write(".hidden", "")


def add_what_git_ignores(place: Place) -> None:
    place.write(".gitignore", "data\n")
    before = place.key
    place.write("data", "x")
    assert place.key != before


def rename_in_another_case(place: Place) -> None:
    (place.submission / "deep/data.txt").rename(place.submission / "deep/Data.txt")


def swap_two_files(place: Place) -> None:
    place.write("main.sh", "1\n")
    place.write("deep/data.txt", "echo hello\n")


def move_a_newline_to_the_next_file(place: Place) -> None:
    place.write("deep/data.txt", "")
    place.write("deep/data.txt1", "\n")


def name_another_entry_file(place: Place) -> None:
    place.config["entry_file"] = "other"


def say_the_same_command_in_another_way(place: Place) -> None:
    # The line is the same, but here it is not known which file the program is.
    place.spec["commands"] = {"command": "sh", "entry_file": " {entry_file}.sh"}
    before = place.key
    place.spec["commands"] = {"command": "sh ", "entry_file": "{entry_file}.sh"}
    assert place.key != before


def change_the_problems_variables(place: Place) -> None:
    place.config["env"] = {"SHADE": "light"}


def set_a_variable_of_the_checkpoint(place: Place) -> None:
    place.config["checkpoints"]["one"]["env"] = {"SHADE": "light"}


def change_an_asset(place: Place) -> None:
    place.files["words.txt"] = "other words"


def put_an_asset_elsewhere(place: Place) -> None:
    place.config["static_assets"]["words"]["save_path"] = "dictionary/words.txt"


def add_an_asset(place: Place) -> None:
    place.config["static_assets"]["more"] = {"path": "words.txt"}


def track_another_file(place: Place) -> None:
    place.config["adapter"]["tracked_files"].append("more.txt")


def look_elsewhere_for_tools(place: Place) -> None:
    os.environ["PATH"] += ":/nowhere"


def run_a_setup_command(place: Place) -> None:
    place.spec["setup"] = {"commands": ["true"]}


def set_up_with_another_outcome(place: Place) -> None:
    given = place.root / "given"
    given.write_text("today")
    place.spec["setup"] = {"commands": [f"cp {given} fetched"]}
    before = place.key
    given.write_text("tomorrow")
    assert place.key == before, "it is prepared once"
    shutil.rmtree(Path(os.environ["SLOP_CODE_CACHE"]) / "images")
    assert place.key != before


@pytest.mark.parametrize(
    "change",
    [
        change_a_line,
        make_it_executable,
        close_a_folder,
        turn_a_link,
        a_copy_for_a_link,
        add_an_empty_folder,
        add_an_empty_file,
        add_a_hidden_file,
        add_what_git_ignores,
        rename_in_another_case,
        swap_two_files,
        move_a_newline_to_the_next_file,
        name_another_entry_file,
        say_the_same_command_in_another_way,
        change_the_problems_variables,
        set_a_variable_of_the_checkpoint,
        change_an_asset,
        put_an_asset_elsewhere,
        add_an_asset,
        track_another_file,
        look_elsewhere_for_tools,
        run_a_setup_command,
        set_up_with_another_outcome,
    ],
)
def test_what_programs_can_see_is_in_the_key(
    place: Place, change: Callable[[Place], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # What a change does to the variables or to the cache is its own affair.
    monkeypatch.setenv("PATH", os.environ["PATH"])
    if change is set_up_with_another_outcome:
        monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))
    before = place.key
    assert place.key == before
    change(place)
    assert place.key != before


def nothing(place: Place) -> None:
    """The same once more."""


def touch_everything(place: Place) -> None:
    for path in (place.submission, *place.submission.rglob("*")):
        os.utime(path, (1, 1), follow_symlinks=False)


def move_the_submission(place: Place) -> None:
    place.submission = place.submission.rename(place.root / "elsewhere")


def move_the_problem(place: Place) -> None:
    place.problem_name = "another/place"


def rename_the_problem(place: Place) -> None:
    place.config["name"] = "renamed"


def rename_the_checkpoint(place: Place) -> None:
    place.config["checkpoints"] = {"two": place.config["checkpoints"]["one"]}
    place.checkpoint = "two"


def rename_an_isolated_group(place: Place) -> None:
    groups = place.config["checkpoints"]["one"]["groups"]
    groups["heart"] = groups.pop("core")


def add_a_group(place: Place) -> None:
    place.config["checkpoints"]["one"]["groups"]["more"] = {"type": "Error", "weight": 3}


def rename_the_environment(place: Place) -> None:
    place.spec["name"] = "renamed"


def leave_bytecode_behind(place: Place) -> None:
    place.write("main.pyc", "x")


def add_what_nobody_reads(place: Place) -> None:
    place.files["one/spec.md"] = "Say hello."
    place.files["verifier.py"] = "x"


@pytest.mark.parametrize(
    "change",
    [
        nothing,
        touch_everything,
        move_the_submission,
        move_the_problem,
        rename_the_problem,
        rename_the_checkpoint,
        rename_an_isolated_group,
        add_a_group,
        rename_the_environment,
        leave_bytecode_behind,
        add_what_nobody_reads,
    ],
)
def test_names_places_times_and_what_judges_are_not(place: Place, change: Callable[[Place], None]) -> None:
    before = place.key
    change(place)
    assert place.key == before


OTHER: dict[str, Any] = {
    "type": "api",
    "setup_script": "x",
    "teardown_script": "x",
    "tracked_files": ["other"],
    "address": "localhost",
    "port": 4711,
    "health_path": "/health",
    "startup_timeout_s": 3,
    "max_startup_attempts": 2,
    "delay_startup_attempts": 1,
    "response_is_json": True,
    "arguments": ["--fast"],
    "env": {"A": "b"},
    "include_os_env": True,
    "pass_env": ["HOME"],
    "python": f"{os.sys.version_info.major}.{os.sys.version_info.minor}",  # type: ignore[attr-defined]
    "commands": ["true"],
    "eval_commands": ["true"],
    "resume_commands": ["true"],
    "virtualenv": True,
    "network": False,
    "strict": True,
    "command": "sh -e",
    "entry_file": "{entry_file}",
    "agent_command": "x",
    "keep_globs": ["*.sh"],
    "ignore_globs": ["deep/*"],
    "compression": "gz",
    "archive_save_dir": "x",
}


def fields_of(*blocks: tuple[str, type[BaseModel]]) -> list[tuple[str, str]]:
    return [(block, name) for block, model in blocks for name in model.model_fields]


@pytest.mark.parametrize(
    ("block", "name"),
    fields_of(
        ("environment", EnvironmentBlock),
        ("setup", SetupBlock),
        ("commands", CommandsBlock),
        ("limits", LimitsBlock),
        ("snapshot", SnapshotBlock),
    ),
)
def test_every_setting_of_an_environment_is_in_the_key(place: Place, block: str, name: str) -> None:
    before = place.key
    value = 7 if block == "limits" else OTHER[name]
    place.spec[block] = {**place.spec.get(block, {}), name: value}
    assert place.key != before


@pytest.mark.parametrize("name", APIAdapterConfig.model_fields)
def test_every_setting_of_an_adapter_is_in_the_key(place: Place, name: str) -> None:
    if name != "type":
        place.config["adapter"] = {"type": "api"}
    before = place.key
    place.config["adapter"] = {**place.config["adapter"], name: OTHER[name]}
    assert place.key != before


def test_a_variable_of_the_host_that_is_passed_on_is_in_the_key(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.spec["environment"] = {"pass_env": ["GREETING"]}
    monkeypatch.setenv("GREETING", "one")
    before = place.key
    monkeypatch.setenv("UNRELATED", "two")
    assert place.key == before
    monkeypatch.setenv("GREETING", "two")
    assert place.key != before


ASKED: dict[str, Any] = {
    "arguments": ["other"],
    "timeout_s": 3,
    "input_files": [InputFile(path="a.txt", content="x")],
    "tracked_files": ["made.txt"],
    "reset": True,
    "stdin": "text",
    "query": {"a": "b"},
    "method": "POST",
    "path": "/x",
    "headers": {"x": "y"},
    "body": {"a": 1},
    "retries": 2,
}
NAMED: dict[str, Any] = {
    "id": "other",
    "name": "",
    "group": "other",
    "group_type": "Error",
    "checkpoint": "other",
    "original_group": "other",
    "original_checkpoint": "other",
    "order": 5,
    "description": "other",
    "tags": ["other"],
    "priority": 9,
    "metadata": {"other": 1},
}


@pytest.mark.parametrize("kind", [CLICase, APICase])
def test_every_field_of_a_case_is_either_asked_or_only_a_name(kind: type[CLICase] | type[APICase]) -> None:
    plain = case_key(kind(id="a"))
    assert set(kind.model_fields) <= ASKED.keys() | NAMED.keys()
    for name in kind.model_fields:
        if name in ASKED:
            assert case_key(kind.model_validate({"id": "a", name: ASKED[name]})) != plain, name
        elif NAMED[name]:
            assert case_key(kind.model_validate({"id": "a", name: NAMED[name]})) == plain, name


def key_of(content: Any, path: str = "in.txt", **how: Any) -> str:
    return case_key(CLICase(id="a", input_files=[InputFile(path=path, content=content, **how)]))


def nested(depth: int, innermost: Any) -> Any:
    value = innermost
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x", b"x"),
        ("", None),
        ("", b""),
        ("None", None),
        (1, "1"),
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (float("nan"), "nan"),
        (float("nan"), None),
        ([], {}),
        ([1], (1,)),
        ([1], {1}),
        ({1: "a"}, {"1": "a"}),
        ({None: "a"}, {"null": "a"}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (datetime.date(2024, 1, 1), "2024-01-01"),
        (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)),
        (decimal.Decimal("1.0"), "1.0"),
        (b"\xff\x00", b"\xff\x01"),
        ("\ud800", "\\ud800"),
        ("\x00", "\\u0000"),
        ({"$bytes": "eA=="}, b"x"),
        ({"\0": ["tuple", [1]]}, (1,)),
        (nested(300, "x"), nested(300, "y")),
        (nested(5_000, "x"), nested(5_000, "y")),
    ],
)
def test_contents_that_are_not_the_same_have_keys_that_are_not(one: Any, other: Any) -> None:
    assert key_of(one) != key_of(other)


def test_arrays_are_told_apart_in_every_element() -> None:
    numpy = pytest.importorskip("numpy")
    one, other = numpy.zeros(5_000), numpy.zeros(5_000)
    assert key_of(one) == key_of(other)
    other[2_500] = 1
    assert key_of(one) != key_of(other)


def test_what_cannot_be_compared_is_never_the_same() -> None:
    lock = threading.Lock()
    assert key_of(lock) != key_of(lock)


def test_where_and_how_a_file_is_written_is_in_the_key() -> None:
    keys = [
        key_of("x"),
        key_of("x", "other.txt"),
        key_of("x", "IN.txt"),
        key_of("x", file_type="binary"),
        key_of("x", compression="gzip"),
    ]
    assert len(set(keys)) == len(keys)


def test_the_order_of_files_is_in_the_key_since_a_later_one_may_replace_an_earlier_one() -> None:
    files = [InputFile(path="a", content="1"), InputFile(path="a", content="2")]
    assert case_key(CLICase(id="a", input_files=files)) != case_key(CLICase(id="a", input_files=files[::-1]))


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "1", "null", 1.0, 0.5, b"1"])
DAYS = st.sampled_from([datetime.date(2024, 1, 1), "2024-01-01", datetime.datetime(2024, 1, 1)])
CONTENTS = st.recursive(
    SCALARS | DAYS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner)
        | st.dictionaries(st.sampled_from(["a", "1", 1, None, True]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(one=CONTENTS, other=CONTENTS, kind=st.sampled_from(list(FileType)))
def test_equal_keys_mean_equal_bytes_on_the_disk(one: Any, other: Any, kind: FileType) -> None:
    if key_of(one, file_type=kind) == key_of(other, file_type=kind):
        assert written(one, kind) == written(other, kind)


def written(content: Any, kind: FileType) -> bytes | str:
    try:
        return InputFile(path="x", content=content, file_type=kind).to_bytes()
    except InputFileError as error:
        return str(error)


def test_in_a_row_a_case_depends_on_all_before_it_and_their_order() -> None:
    a, b, c = (case_key(CLICase(id="a", arguments=[name])) for name in "abc")

    def row(*keys: str, isolated: bool = False) -> str:
        last = start_of_row(isolated=isolated)
        for key in keys:
            last = after(last, key)
        return last

    rows = [row(a, b, c), row(b, a, c), row(a, c), row(c), row(a, b), row(a, a, c), row(a, b, c, isolated=True), c]
    assert len(set(rows)) == len(rows)
    assert row(a, b, c) == row(a, b, c)
