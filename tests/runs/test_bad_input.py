"""What is wrong costs itself only: one clear line, everything else is evaluated, exit code 2."""

from __future__ import annotations

import pytest

from tests.runs.world import World


def evaluated(world: World) -> list[str]:
    return [line["checkpoint"] for line in world.lines()]


def test_a_folder_without_snapshots_is_exit_code_2(world: World) -> None:
    (world.root / "empty").mkdir()
    done = world.invoke("eval", "empty")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: empty: has no <problem>/<checkpoint>/snapshot/\n"
    assert list((world.root / "empty").iterdir()) == []


def test_another_run_is_evaluated_all_the_same(done: World) -> None:
    ended = done.invoke("eval", "nowhere", "run")
    assert ended.returncode == 2
    assert "error: nowhere: no such folder" in ended.stderr
    assert evaluated(done) == ["first", "second"]


def test_an_unknown_problem_is_one_line_with_those_that_are_known(done: World) -> None:
    for checkpoint in ("first", "second"):
        done.snapshot("run", "great", checkpoint)
    ended = done.invoke("eval", "run")
    assert ended.returncode == 2
    message = 'error: run/great: not evaluated: no problem "great" (did you mean "greet"?): problems has "greet"\n'
    assert ended.stderr.count(message) == 1
    assert ended.stderr.count("error: ") == 1
    assert evaluated(done) == ["first", "second"]


def test_an_unknown_checkpoint_is_one_line_with_those_that_are_known(done: World) -> None:
    done.snapshot("run", "greet", "frist")
    ended = done.invoke("eval", "run")
    assert ended.returncode == 2
    assert (
        'error: run/greet/frist: not evaluated: problem "greet" has no checkpoint "frist" (did you mean "first"?): '
        'it has "first" and "second"\n'
    ) in ended.stderr
    assert evaluated(done) == ["first", "second"]


def test_a_problem_may_be_called_by_the_name_in_its_configuration(done: World) -> None:
    done.greet.rename(done.root / "problems" / "folder")
    assert done.invoke("eval", "run").returncode == 0


def test_a_broken_package_shows_what_is_wrong_with_it(done: World) -> None:
    done.problem("wave", version="x")
    for checkpoint in ("first", "second"):
        done.snapshot("run", "wave", checkpoint)
    ended = done.invoke("eval", "run")
    assert ended.returncode == 2
    assert ended.stderr.count("error: run/wave: not evaluated: problems/wave/config.yaml:2: ") == 1
    assert evaluated(done) == ["first", "second"]


def test_a_problem_path_that_is_not_there_is_said(world: World) -> None:
    done = world.invoke("-p", "problms", "eval", "run")
    assert done.returncode == 2
    assert "problms: no such folder of problems" in done.stderr


def test_a_verifier_that_cannot_be_imported_costs_its_problem(done: World) -> None:
    done.problem("wave")
    done.write("problems/wave/verifier.py", "import nothing_of_that_name\n")
    done.snapshot("run", "wave", "first")
    ended = done.invoke("eval", "run")
    assert ended.returncode == 2
    assert (
        "error: wave/first: not evaluated: the verifier cannot be imported: problems/wave/verifier.py:1: "
        in ended.stderr
    )
    assert evaluated(done) == ["first", "second"]


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_a_snapshot_that_is_no_folder_costs_itself(done: World, kind: str) -> None:
    done.problem("greet", ("first", "second", "third"))
    place = done.root / "run/greet/third/snapshot"
    place.parent.mkdir()
    if kind == "file":
        place.touch()
    else:
        place.symlink_to("nowhere")
    ended = done.invoke("eval", "run")
    assert ended.returncode == 2
    assert (
        "error: greet/third: not evaluated: run/greet/third/snapshot: no such folder of a submission\n" in ended.stderr
    )
    assert "greet    2/2 ✓  2/2 ✓   not judged ✗" in ended.stderr
    assert evaluated(done) == ["first", "second"]


def test_a_place_that_cannot_be_written_costs_its_checkpoint(world: World) -> None:
    world.write("out/greet/first", "a file where a folder should be")
    done = world.invoke("eval", "run", "-o", "out")
    assert done.returncode == 2
    assert "error: greet/first: not evaluated: out/greet/first" in done.stderr
    assert [line["checkpoint"] for line in world.lines("out")] == ["second"]


def test_an_environment_that_is_not_there_is_exit_code_2_and_nothing_is_touched(done: World) -> None:
    (done.root / "sh.yaml").unlink()
    ended = done.invoke("eval", "run")
    assert ended.returncode == 2
    assert 'no environment "sh.yaml"' in ended.stderr
    assert not (done.root / "run/checkpoint_results.jsonl").exists()


def test_an_environment_that_cannot_be_had_here_is_said_once(done: World) -> None:
    done.write("sh.yaml", "type: docker\ndocker: {image: python}\n")
    ended = done.slop_code("eval", "run", env={"DOCKER_HOST": f"unix://{done.root}/nobody.sock"})
    assert ended.returncode == 2
    assert ended.stderr.count("error: ") == 1
    assert "error: greet/first, greet/second: not evaluated: " in ended.stderr
    done.write("sh.yaml", "type: local\nenvironment: {python: '2.1'}\n")
    assert 'environment.python asks for "2.1"' in done.invoke("eval", "run").stderr


def test_an_unknown_policy_is_exit_code_2(done: World) -> None:
    ended = done.invoke("eval", "run", "--pass-policy", "most")
    assert ended.returncode == 2
    assert "all-non-error-cases" in ended.stderr


def test_two_before_three_before_one(world: World) -> None:
    world.snapshot("run", "greet", "second", "echo no\n")
    world.problem("wave")
    world.write("problems/wave/loader.py", "raise RuntimeError('broken')\n")
    config = world.root / "problems/wave/config.yaml"
    config.write_text(config.read_text().replace("builtin:files", "loader.py"))
    world.snapshot("run", "wave", "first")
    assert world.invoke("eval", "run", "--problem", "greet").returncode == 1
    assert world.invoke("eval", "run").returncode == 3
    assert world.invoke("eval", "run", "--problem", "greet", "--problem", "wave", "--problem", "x").returncode == 2
