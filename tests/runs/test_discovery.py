"""Finding the snapshots of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from slop_code.runs.discovery import DiscoveryError, places_of_results, snapshots_of_problem, snapshots_of_run
from tests.runs.world import World


def folders(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).mkdir(parents=True)
    return root


def test_every_problem_checkpoint_snapshot_is_found_in_order_with_a_place_for_its_results(tmp_path: Path) -> None:
    run = folders(tmp_path, "b/one/snapshot", "a/two/snapshot", "a/one/snapshot")
    found = snapshots_of_run(run).snapshots
    assert [(item.problem, item.checkpoint) for item in found] == [("a", "one"), ("a", "two"), ("b", "one")]
    assert found[0].path == run / "a" / "one" / "snapshot"
    assert found[0].results == run / "a" / "one"


def test_results_go_to_the_same_places_below_another_folder(tmp_path: Path) -> None:
    run = folders(tmp_path / "run", "a/one/snapshot")
    (found,) = snapshots_of_run(run, tmp_path / "out").snapshots
    assert found.results == tmp_path / "out" / "a" / "one"


def test_other_files_and_folders_and_hidden_ones_are_no_snapshots(tmp_path: Path) -> None:
    run = folders(tmp_path, "a/one/snapshot", "a/two/logs", "logs/today", ".git/x/snapshot")
    (run / "notes.txt").touch()
    assert [item.checkpoint for item in snapshots_of_run(run).snapshots] == ["one"]


def test_a_snapshot_may_be_a_link_to_a_folder(tmp_path: Path) -> None:
    folders(tmp_path, "elsewhere", "run/a/one")
    (tmp_path / "run/a/one/snapshot").symlink_to(tmp_path / "elsewhere")
    assert len(snapshots_of_run(tmp_path / "run").snapshots) == 1


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("snapshot", "it is one checkpoint: slop-code eval-snapshot"),
        ("one/snapshot", "it looks like the checkpoints of one problem: slop-code eval-problem"),
        ("run/a/one/snapshot", "it looks like a folder of runs: slop-code eval"),
    ],
)
def test_a_folder_that_is_no_run_is_told_what_it_looks_like(tmp_path: Path, path: str, hint: str) -> None:
    folders(tmp_path, path)
    with pytest.raises(DiscoveryError, match=hint):
        snapshots_of_run(tmp_path)


def test_a_folder_that_is_not_there_is_told_of_its_neighbours(tmp_path: Path) -> None:
    folders(tmp_path, "monday")
    with pytest.raises(DiscoveryError, match=r'no such folder \(did you mean "monday"\?\)'):
        snapshots_of_run(tmp_path / "mondaay")


def test_a_problem_folder_has_a_snapshot_for_each_checkpoint(tmp_path: Path) -> None:
    folders(tmp_path, "one/snapshot", "two/snapshot")
    found = snapshots_of_problem(tmp_path, "greet").snapshots
    assert [(item.problem, item.checkpoint) for item in found] == [("greet", "one"), ("greet", "two")]


def test_a_wanted_problem_that_is_not_in_the_run_is_named_with_those_that_are(world: World) -> None:
    found = snapshots_of_run(world.root / "run").only(["greet", "great"])
    assert [item.checkpoint for item in found.snapshots] == ["first", "second"]
    assert found.troubles == ['no snapshots of a problem "great" (did you mean "greet"?): there are some of "greet"']


def test_several_runs_have_a_folder_of_their_own_below_the_output(tmp_path: Path) -> None:
    runs = [tmp_path / "monday", tmp_path / "tuesday"]
    assert list(places_of_results([*runs, runs[0]]).items()) == [(run, run) for run in runs]
    assert places_of_results(runs[:1], tmp_path / "out") == {runs[0]: tmp_path / "out"}
    assert list(places_of_results(runs, tmp_path / "out").values()) == [
        tmp_path / "out" / "monday",
        tmp_path / "out" / "tuesday",
    ]


def test_runs_of_the_same_name_cannot_share_an_output_folder(tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError, match='two runs are named "run"'):
        places_of_results([tmp_path / "a" / "run", tmp_path / "b" / "run"], tmp_path / "out")
