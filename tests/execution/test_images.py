"""A submission is prepared once, completely or not at all, and shared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slop_code.execution import EnvironmentSpec, ExecutionError, cache
from slop_code.execution.cache import cache_folder, cached_images, clear_cache
from slop_code.execution.driver import open_driver
from slop_code.execution.image import Image
from slop_code.execution.interpreter import Interpreter, available, choose_interpreter, own_interpreter
from tests import warm
from tests.execution.drivers import DRIVERS, make_spec, opened

PYTHON_DRIVERS = DRIVERS[:2]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "main.py").write_text("print('one')\n")
    return folder


def prepared(program: Path, kind: str = "local", **blocks: Any) -> Image:
    driver = open_driver(make_spec(kind, **blocks))
    try:
        image = driver.prepare(program)
    finally:
        driver.close()
    image.close()
    return image


def count_setup(tmp_path: Path) -> dict[str, Any]:
    return {"commands": [f"echo run >> {tmp_path}/log"], "network": False}


def test_setup_runs_once_per_submission_and_environment_not_per_case(program: Path, tmp_path: Path) -> None:
    setup = count_setup(tmp_path)
    for _ in range(3):
        with opened("local", program, setup=setup) as session:
            session.run("true")
    assert (tmp_path / "log").read_text() == "run\n"
    first, second = prepared(program, setup=setup), prepared(program, setup=setup)
    assert first.key == second.key
    assert second.reused


@pytest.mark.parametrize(
    "change",
    [
        lambda program: (program / "main.py").write_text("print('two')\n"),
        lambda program: (program / "main.py").chmod(0o755),
        lambda program: (program / "other").mkdir(),
        lambda program: (program / "link").symlink_to("main.py"),
        lambda program: (program / "main.py").rename(program / "renamed.py"),
    ],
)
def test_any_change_of_the_submission_is_another_image(program: Path, change: Any) -> None:
    before = prepared(program).key
    change(program)
    assert prepared(program).key != before


def test_only_what_decides_the_image_is_in_its_key(program: Path, tmp_path: Path) -> None:
    key = prepared(program).key
    copy = shutil.copytree(program, tmp_path / "elsewhere", symlinks=True)
    os.utime(copy / "main.py", (1, 1))
    assert prepared(copy).key == key
    assert prepared(program, commands={"command": "other"}).key == key
    assert prepared(program, limits={"memory_mb": 77}).key == key
    assert prepared(program, setup={"commands": ["true"]}).key != key
    assert prepared(program, environment={"env": {"A": "1"}}).key != key
    assert prepared(program, "sandbox").key != key


def test_ignored_files_are_no_part_of_a_submission(program: Path) -> None:
    key = prepared(program).key
    for name in (".venv/bin/python", "venv/x", "cache.pyc", "deep/old.pyc"):
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        (program / name).touch()
    (program / "deep" / "old.pyc").unlink()
    (program / "deep").rmdir()
    assert prepared(program).key == key
    with opened("local", program, snapshot={"keep_globs": ["*.py"]}) as session:
        assert session.run("ls -A").stdout == b"main.py\n"


def test_a_half_made_image_is_never_used(program: Path, empty_cache: Path, tmp_path: Path) -> None:
    image = prepared(program, setup=count_setup(tmp_path))
    (image.folder / "complete").unlink()
    (image.folder / "workspace" / "main.py").write_text("rubble")
    with opened("local", program, setup=count_setup(tmp_path)) as session:
        assert session.run("cat main.py").stdout == b"print('one')\n"
    assert (tmp_path / "log").read_text() == "run\nrun\n"


def test_a_crash_half_way_is_mended_by_the_next_run(program: Path, tmp_path: Path) -> None:
    setup = {"commands": [f"touch {tmp_path}/begun; test -e {tmp_path}/go || sleep 66.25", "echo done > made"]}
    evaluator = preparing(program, setup)
    while not (tmp_path / "begun").exists():
        assert evaluator.poll() is None
        time.sleep(0.01)
    evaluator.kill()
    evaluator.wait()
    (tmp_path / "go").touch()
    with opened("local", program, setup=setup) as session:
        assert session.run("cat made").stdout == b"done\n"


def preparing(program: Path, setup: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Another process that prepares a submission."""
    code = (
        "import sys; from pathlib import Path; from slop_code.execution import EnvironmentSpec;"
        "from slop_code.execution.driver import open_driver;"
        "open_driver(EnvironmentSpec.model_validate_json(sys.argv[1])).prepare(Path(sys.argv[2])).close()"
    )
    return subprocess.Popen([*warm.python(), code, make_spec("local", setup=setup).model_dump_json(), program])


def test_two_evaluators_share_one_preparation(program: Path, tmp_path: Path) -> None:
    setup = {"commands": [f"echo run >> {tmp_path}/log; sleep 0.2"]}
    evaluators = [preparing(program, setup) for _ in range(3)]
    assert [evaluator.wait(60) for evaluator in evaluators] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "run\n"


def test_the_cache_can_be_listed_and_cleared_but_not_while_in_use(program: Path, empty_cache: Path) -> None:
    image = open_driver(make_spec("local")).prepare(program)
    assert cache_folder() == empty_cache
    assert [item.folder for item in cached_images(empty_cache)] == [image.folder]
    assert cached_images(empty_cache)[0].size > 0
    assert clear_cache(empty_cache) == []
    image.close()
    assert [item.folder for item in clear_cache(empty_cache)] == [image.folder]
    assert cached_images(empty_cache) == []


def test_clearing_to_a_size_removes_what_was_used_longest_ago(program: Path, empty_cache: Path) -> None:
    first = prepared(program)
    (program / "main.py").write_text("print('two')\n")
    second = prepared(program)
    os.utime(first.folder / "complete", (1, 1))
    size = cached_images(empty_cache)[1].size
    assert [item.folder for item in clear_cache(empty_cache, keep_bytes=size)] == [first.folder]
    assert [item.folder for item in cached_images(empty_cache)] == [second.folder]


def test_the_cache_is_bounded_by_those_who_add_to_it_now_and_then(
    program: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "DEFAULT_LIMIT", 1)
    images = []
    for number in range(3):
        (program / "main.py").write_text(f"print({number})\n")
        images.append(prepared(program))
        if number == 0:
            # For those after the second one, somebody has just looked.
            os.utime(empty_cache / "bounded", (1, 1))
    assert [image.folder.exists() for image in images] == [False, True, True]


def test_a_size_is_looked_up_where_nobody_noted_it(program: Path, empty_cache: Path) -> None:
    complete = prepared(program).folder / "complete"
    noted = cached_images(empty_cache)[0].size
    record = json.loads(complete.read_text())
    assert record.pop("size") == noted
    complete.write_text(json.dumps(record))
    # Now there is the note itself, too.
    assert noted < cached_images(empty_cache)[0].size < noted + 10_000


def test_an_image_that_was_half_made_when_the_cache_was_looked_at_and_is_complete_now_stays(
    program: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = prepared(program)
    before = [item._replace(complete=False, used=0.0) for item in cached_images(empty_cache)]
    monkeypatch.setattr(cache, "cached_images", lambda folder: before)
    assert clear_cache(empty_cache) == []
    assert image.folder.exists()


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_failing_setup_command_ends_a_strict_run_with_its_output(kind: str, program: Path) -> None:
    setup = {"commands": ["echo trying; echo no luck >&2; exit 3"], "network": False}
    with pytest.raises(ExecutionError, match=r"setup command failed with exit code 3: echo trying.*\ntrying\nno luck"):
        prepared(program, kind, setup={**setup, "strict": True})
    image = prepared(program, kind, setup={**setup, "commands": [*setup["commands"], "touch later"]})  # type: ignore[misc]
    assert [(step.status, step.output) for step in image.preparation.steps] == [(3, "trying\nno luck\n"), (0, "")]
    assert (image.folder / "workspace" / "later").exists()


@pytest.mark.parametrize("kind", DRIVERS)
def test_setup_happens_in_a_folder_named_workspace(kind: str, program: Path) -> None:
    image = prepared(program, kind, setup={"commands": ["basename $PWD"], "network": False})
    assert image.preparation.steps[0].output == "workspace\n"


@pytest.mark.parametrize("kind", DRIVERS)
def test_folders_that_setup_filled_are_shared_read_only_and_the_rest_is_fresh(kind: str, program: Path) -> None:
    setup = {
        "commands": ["mkdir -p deps few; for n in $(seq 300); do echo $n > deps/$n; done; echo x > few/x"],
        "network": False,
    }
    with opened(kind, program, setup=setup) as session:
        assert session.run("cat deps/300 few/x").stdout == b"300\nx\n"
        if kind != "local":
            assert session.run("echo y > deps/300").status != 0
        # In `local` nothing but good will protects what is shared.
        session.run("echo y > few/x; rm -rf " + ("deps" if kind == "local" else "deps/1 deps"))
        session.restore()
        assert session.run("cat deps/1 few/x").stdout == b"1\nx\n"


@pytest.mark.parametrize("kind", DRIVERS)
def test_folders_that_may_not_be_written_to_are_kept_so_and_restored(kind: str, program: Path) -> None:
    (program / "fixed").mkdir()
    (program / "fixed" / "f").write_text("one")
    (program / "fixed").chmod(0o555)
    with opened(kind, program) as session:
        for _ in range(2):
            assert session.run("stat -c %a fixed; cat fixed/f").stdout == b"555\none"
            session.run("chmod 755 fixed; echo two > fixed/f; echo x > fixed/g; chmod 555 fixed")
            session.restore()
    (program / "fixed").chmod(0o755)


def wheel(folder: Path) -> Path:
    """A package that nobody has to fetch."""
    path = folder / "sayhello-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sayhello.py", "WORD = 'hello'\n")
        archive.writestr("sayhello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sayhello\nVersion: 1.0\n")
        archive.writestr(
            "sayhello-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("sayhello-1.0.dist-info/RECORD", "sayhello.py,,\n")
    return path


OFFLINE = {"env": {"UV_FIND_LINKS": ".", "UV_NO_INDEX": "1", "PIP_FIND_LINKS": ".", "PIP_NO_INDEX": "1"}}


@pytest.mark.parametrize("kind", PYTHON_DRIVERS)
@pytest.mark.parametrize("asked_in", ["requirements.txt", "pyproject.toml"])
def test_the_shipped_environments_install_what_the_submission_asks_for(kind: str, asked_in: str, program: Path) -> None:
    wheel(program)
    text = (
        "sayhello\n"
        if asked_in == "requirements.txt"
        else '[project]\nname = "p"\nversion = "1"\ndependencies = ["sayhello"]\n'
    )
    (program / asked_in).write_text(text)
    (program / "main.py").write_text("import sayhello; print(sayhello.WORD, sayhello.__cached__.endswith('.pyc'))\n")
    shipped = EnvironmentSpec.from_yaml(f"{kind}-py").model_dump(exclude={"environment"})
    with opened(kind, program, **{**shipped, "environment": OFFLINE}) as session:
        outcome = session.run(session.spec.get_command("main"))
        assert (outcome.stdout, outcome.stderr) == (b"hello True\n", b"")
        compiled = session.run("ls $(dirname $(python -c 'import sayhello; print(sayhello.__cached__)'))").stdout
        assert b"sayhello" in compiled
        assert b"venv/bin/python" in session.run("which python").stdout


@pytest.mark.parametrize("kind", PYTHON_DRIVERS)
def test_the_machines_own_packages_are_not_visible_to_a_submission(kind: str, program: Path) -> None:
    shipped = EnvironmentSpec.from_yaml(f"{kind}-py").model_dump()
    with opened(kind, program, **shipped) as session:
        assert session.run("python -c 'import pydantic'").status == 1


@pytest.mark.parametrize("kind", PYTHON_DRIVERS)
def test_an_environment_that_says_uv_run_and_uv_add_works(kind: str, program: Path) -> None:
    wheel(program)
    (program / "requirements.txt").write_text("sayhello\n")
    (program / "main.py").write_text("import sayhello; print(sayhello.WORD)\n")
    setup = {"commands": ["uv init --bare --no-workspace", "uv add --quiet -r requirements.txt"], "strict": True}
    with opened(kind, program, environment=OFFLINE, setup=setup, commands={"command": "uv run"}) as session:
        for _ in range(2):
            session.restore()
            outcome = session.run(session.spec.get_command("main"), timeout=60)
            assert outcome.stdout == b"hello\n", outcome.stderr


@pytest.mark.nightly
def test_without_uv_venv_and_pip_do_the_same(program: Path) -> None:
    from slop_code.execution.python_setup import virtualenv_commands

    wheel(program)
    (program / "requirements.txt").write_text("sayhello\n")
    place = program.parent / "made"
    lines = virtualenv_commands(program, own_interpreter(), str(place), None)
    env = {**os.environ, **OFFLINE["env"]}
    env.pop("PIP_CONFIG_FILE", None)
    for line in lines:
        subprocess.run(["/bin/sh", "-c", line], cwd=program, env=env, check=True, capture_output=True)
    done = subprocess.run([place / "bin" / "python", "-c", "import sayhello"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("kind", PYTHON_DRIVERS)
@pytest.mark.parametrize(
    ("command", "file", "text"),
    [
        ("node", "main.js", "console.log('hi from node')"),
        ("sh", "main.sh", "echo hi from node"),
    ],
)
def test_other_languages_need_nothing_but_another_environment(
    kind: str, command: str, file: str, text: str, program: Path
) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not on this machine")
    (program / file).write_text(text)
    commands = {"command": command, "entry_file": "{entry_file}" + Path(file).suffix}
    with opened(kind, program, commands=commands) as session:
        assert session.run(session.spec.get_command("main")).stdout == b"hi from node\n"


@pytest.fixture(scope="module")
def others() -> list[Interpreter]:
    """The machine's other Pythons, at least one; each is started to be asked who it is."""
    found = [item for item in available() if item.minor != own_interpreter().minor]
    return found or pytest.skip("there is only one Python on this machine")


@pytest.mark.parametrize("kind", PYTHON_DRIVERS)
def test_environment_python_chooses_the_interpreter(kind: str, program: Path, others: list[Interpreter]) -> None:
    other = next((item for item in others if item.minor in {"3.9", "3.10", "3.12", "3.13"}), others[0])
    blocks: dict[str, Any] = {"environment": {"python": other.minor}, "setup": {"virtualenv": True}}
    image = prepared(program, kind, **blocks)
    assert image.preparation.python == other.version
    with opened(kind, program, **blocks) as session:
        outcome = session.run("python -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'")
        assert outcome.stdout.decode().strip() == other.minor


def test_the_submission_can_ask_for_a_python(program: Path, others: list[Interpreter]) -> None:
    other = others[0]
    (program / ".python-version").write_text(f"{other.minor}\n")
    assert choose_interpreter(None, program).minor == other.minor
    (program / ".python-version").write_text("3.99\n")
    assert choose_interpreter(None, program) == own_interpreter()
    (program / ".python-version").unlink()
    (program / "pyproject.toml").write_text(f'[project]\nrequires-python = "=={other.minor}.*"\n')
    assert choose_interpreter(None, program).minor == other.minor
    (program / "pyproject.toml").write_text('[project]\nrequires-python = "nonsense"\n')
    assert choose_interpreter(None, program) == own_interpreter()


def test_a_folder_on_the_path_that_cannot_be_read_hides_nothing_in_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    # Root can read everything, but nobody can read a folder of such a name.
    monkeypatch.setenv("PATH", f"/{'x' * 300}:{own_interpreter().path.parent}")
    assert own_interpreter().path in {item.path for item in available.__wrapped__()}


def test_an_interpreter_that_is_not_there_is_told_with_those_that_are(program: Path) -> None:
    with pytest.raises(ExecutionError, match=r'asks for "3.99", which is not on this machine \(it has .*3\.'):
        choose_interpreter("3.99", program)


def test_a_submission_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="nowhere: no such folder of a submission"):
        prepared(tmp_path / "nowhere")


@pytest.mark.parametrize("count", [24, pytest.param(60, marks=pytest.mark.nightly)])
def test_many_new_submissions_can_be_prepared_at_the_same_time(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each clears the cache of what is half-made, and that must not be what another has just made."""
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))
    driver = open_driver(make_spec("local"))

    def prepare(number: int) -> str:
        submission = tmp_path / f"submission-{number}"
        submission.mkdir()
        (submission / "main.py").write_text(f"print({number})\n")
        image = driver.prepare(submission)
        try:
            return (image.folder / "workspace" / "main.py").read_text()
        finally:
            image.close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(prepare, range(count))) == [f"print({number})\n" for number in range(count)]
