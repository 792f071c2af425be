"""What a package's configuration promises and its folder has to keep: specifications, assets, placeholders."""

from __future__ import annotations

from pathlib import PurePosixPath

from slop_code.evaluation.adapters.api import APIAdapterConfig
from slop_code.evaluation.check_arguments import Surroundings, misread_arguments
from slop_code.evaluation.check_cases import report_unknown_assets, texts_in
from slop_code.evaluation.check_places import ConfigSpots
from slop_code.evaluation.config.errors import ConfigError
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.findings import Findings, did_you_mean
from slop_code.paths import shown_path


def check_specification(checkpoint: CheckpointConfig, spots: ConfigSpots, findings: Findings) -> None:
    """Warn of a checkpoint that nobody can write a submission for."""
    spot = spots.of_checkpoint(checkpoint)
    path = checkpoint.path / checkpoint.specification
    if not path.exists():
        near = [entry.name for entry in path.parent.iterdir() if entry.is_file()] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, near)
        message = f"its specification is missing: there is no {shown_path(path)}{hint}"
        spot.report("warning", message, findings, "specification")
        return
    try:
        if not checkpoint.get_spec_text().strip():
            spot.report("warning", f"its specification, {shown_path(path)}, is empty", findings, "specification")
    except ConfigError as error:
        spot.report("warning", str(error), findings, "specification")


def check_assets(problem: ProblemConfig, spots: ConfigSpots, findings: Findings) -> None:
    """Report assets that are not there, or that would be put outside their folder."""
    spot = spots.of_problem()
    for name, asset in problem.static_assets.items():
        source = problem.path / asset.path
        if not source.exists():
            near = [entry.name for entry in source.parent.iterdir()] if source.parent.is_dir() else []
            message = f'asset "{name}": {shown_path(source)} does not exist{did_you_mean(source.name, near)}'
            spot.report("error", message, findings, "static_assets", name, "path")
        parts = PurePosixPath(asset.save_path or name).parts
        if ".." in parts or not [part for part in parts if part != "/"]:
            message = f'asset "{name}": save_path "{asset.save_path or name}" leaves the assets folder'
            spot.report("error", message, findings, "static_assets", name, "save_path")


def check_adapter_arguments(problem: ProblemConfig, spots: ConfigSpots, findings: Findings) -> None:
    """Report what is wrong with the arguments that every server is started with."""
    if not isinstance(problem.adapter, APIAdapterConfig):
        return
    spot = spots.of_problem()
    arguments = problem.adapter.arguments
    report_unknown_assets(problem, texts_in(arguments, ("adapter", "arguments")), spot, findings)
    variables = set(problem.env).union(*(checkpoint.env for checkpoint in problem.checkpoints.values()))
    for misread in misread_arguments(arguments, Surroundings(variables=variables)):
        message = f"the adapter: {misread.message}; if that is not meant, quote it"
        spot.report("warning", message, findings, "adapter", "arguments", misread.index)
