"""Reads case folders:

checkpoint_3/
  files.yaml           inputs of every case of the checkpoint, if there are any
  core/rejects/        a case, named after its folder
    case.yaml          what it shows, its command line, inputs that are made, and what it should print
    inputs/            inputs that are copied exactly as they are here
    reports/           the reports that it should write
"""

import yaml

from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, helpers
from slop_code.execution.file_ops import Compression, FileType, InputFile


class Loader(BaseLoader):
    def __call__(self, group, store):
        folder = helpers.get_group_path(group, self.problem, self.checkpoint)
        common = helpers.get_chkpt_path(group, self.problem, self.checkpoint) / "files.yaml"
        shared = made_files(yaml.safe_load(common.read_bytes())) if common.exists() else []
        for case_dir in helpers.discover_dir_cases(group, folder):
            yield read_case(case_dir, shared, group.case_defaults.get("expected", {}))


def read_case(case_dir, shared, defaults):
    written = yaml.safe_load((case_dir / "case.yaml").read_bytes())
    case = CLICase(
        id=case_dir.name,
        description=written["description"],
        arguments=written["cmd"],
        input_files=[*shared, *copied_files(case_dir / "inputs"), *made_files(written.get("files", {}))],
    )
    reports = {
        f"reports/{name.as_posix()}": (case_dir / "reports" / name).read_text(encoding="utf-8")
        for name in helpers.get_files_from_globs(case_dir / "reports", ["."])
    }
    return case, CLIResult(files=reports, **expectation({**defaults, **written["expected"]}))


def expectation(written):
    """An `error: {place, reason}` is one line on standard error, of which the verifier also judges the place alone."""
    values = {"status_code": 0, **written}
    error = values.pop("error", None)
    if error is not None:
        values |= {"stderr": f"error: {error['place']}: {error['reason']}\n", "error_place": error["place"]}
    return values


def copied_files(folder):
    # Left to the suffixes, these would be read and written anew, and in some cases they are meant to be broken.
    return [
        InputFile.from_path(name, relative_to=folder, file_type=FileType.TEXT, compression=Compression.NONE)
        for name in helpers.get_files_from_globs(folder, ["."])
    ]


def made_files(contents):
    """Inputs that are easier to read as YAML: databases, compressed files, bytes. The suffix tells which."""
    return [InputFile(path=name, content=content) for name, content in contents.items()]
