"""How a problem's verifier is found and made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation.adapters.cli import CLIResult
from slop_code.evaluation.config import ProblemConfig
from slop_code.evaluation.verifiers import VerifierError, VerifierProtocol, initialize_verifier
from slop_code.evaluation.verifiers.calling import call_verifier
from slop_code.evaluation.verifiers.initialization import verifier_folder
from slop_code.evaluation.verifiers.ready import ReadyVerifier
from tests.conftest import MakeProblem
from tests.markdown import blocks

ONE = {"checkpoints": {"one": {"groups": {"core": {"type": "Core"}}, "tolerance": 0.5}}}
PLAIN = """
class {name}:
    label = "{name}"
    def __init__(self, checkpoint_config):
        self.config = checkpoint_config
    def __call__(self, group_name, case_name, actual, expected):
        return {{}}
"""


def made(folder: Path) -> Any:
    problem = ProblemConfig.from_yaml(folder)
    return initialize_verifier(problem, next(problem.iterate_checkpoints()))


def test_the_verifier_is_the_class_verifier_of_verifier_py(make_problem: MakeProblem) -> None:
    script = PLAIN.format(name="Other") + PLAIN.format(name="Verifier")
    verifier = made(make_problem(ONE, {"verifier.py": script}))
    assert verifier.label == "Verifier"
    assert isinstance(verifier, VerifierProtocol)


def test_the_users_interrupt_is_not_the_verifiers_error(make_problem: MakeProblem) -> None:
    script = PLAIN.format(name="Verifier").replace("self.config = checkpoint_config", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        made(make_problem(ONE, {"verifier.py": script}))


def test_it_is_made_with_the_checkpoint_by_position(make_problem: MakeProblem) -> None:
    script = PLAIN.replace("checkpoint_config", "whatever").format(name="Verifier")
    verifier = made(make_problem(ONE, {"verifier.py": script}))
    assert verifier.config.name == "one"
    assert verifier.config.get("tolerance", 1e-6) == 0.5


def test_a_class_named_verifier_may_come_from_a_neighbour(make_problem: MakeProblem) -> None:
    files = {"judges.py": PLAIN.format(name="Verifier"), "verifier.py": "from judges import Verifier\n"}
    assert made(make_problem(ONE, files)).label == "Verifier"


@pytest.mark.parametrize(
    "beside",
    [
        "",
        "class Helper:\n    pass\n",
        "import enum\nclass Color(enum.Enum):\n    RED = 1\n",
        "class NeedsMore:\n    def __init__(self, a, b): ...\n    def __call__(self, group_name, case_name, actual, expected): ...\n",
        "class OtherCall:\n    def __init__(self, config): ...\n    def __call__(self, text): ...\n",
        "import abc\nclass Base(abc.ABC):\n    def __init__(self, config): ...\n    @abc.abstractmethod\n    def __call__(self, group_name, case_name, actual, expected): ...\n",
        "from typing import Protocol\nclass VerifierProtocol(Protocol):\n    def __init__(self, config): ...\n    def __call__(self, group_name, case_name, actual, expected): ...\n",
        "from judges import Imported\n",
    ],
)
def test_without_that_name_the_only_class_of_the_script_that_satisfies_the_protocol_is_taken(
    make_problem: MakeProblem, beside: str
) -> None:
    files = {"judges.py": PLAIN.format(name="Imported"), "verifier.py": beside + PLAIN.format(name="JSONVerifier")}
    assert made(make_problem(ONE, files)).label == "JSONVerifier"


def test_a_second_name_makes_no_second_candidate(make_problem: MakeProblem) -> None:
    script = PLAIN.format(name="JSONVerifier") + "\nMine = JSONVerifier\n"
    assert made(make_problem(ONE, {"verifier.py": script})).label == "JSONVerifier"


def test_of_several_candidates_none_is_guessed(make_problem: MakeProblem) -> None:
    script = PLAIN.format(name="One") + PLAIN.format(name="Two")
    with pytest.raises(VerifierError, match=r'verifier.py: "One" and "Two" could each be .* "verifier_entrypoint"'):
        made(make_problem(ONE, {"verifier.py": script}))


def test_script_and_class_can_be_named(make_problem: MakeProblem) -> None:
    script = PLAIN.format(name="Verifier") + PLAIN.format(name="Special")
    config = {**ONE, "verifier_script": "scripts/judge.py", "verifier_entrypoint": "Special"}
    folder = make_problem(config, {"scripts/judge.py": script, "verifier.py": PLAIN.format(name="Verifier")})
    assert made(folder).label == "Special"


def test_without_a_script_the_ready_verifier_is_made(make_problem: MakeProblem) -> None:
    folder = make_problem(ONE)
    assert isinstance(made(folder), ReadyVerifier)
    assert verifier_folder(ProblemConfig.from_yaml(folder)) is None


def test_the_folder_is_the_one_of_the_script(make_problem: MakeProblem) -> None:
    config = {**ONE, "verifier_script": "scripts/judge.py"}
    folder = make_problem(config, {"scripts/judge.py": PLAIN.format(name="Verifier")})
    found = verifier_folder(ProblemConfig.from_yaml(folder))
    assert found is not None
    assert found.root == folder / "scripts"


def test_an_edited_verifier_is_read_anew(make_problem: MakeProblem) -> None:
    folder = make_problem(ONE, {"verifier.py": PLAIN.format(name="Verifier")})
    assert made(folder).label == "Verifier"
    (folder / "verifier.py").write_text(PLAIN.format(name="Verifier").replace('"Verifier"', '"edited"') + "\n\n")
    assert made(folder).label == "edited"


@pytest.mark.parametrize(
    ("config", "script", "said"),
    [
        ({"verifier_script": "gone.py"}, None, r'gone.py: the script that "verifier_script" names is missing'),
        (
            {"verifier_entrypoint": "Mine"},
            None,
            r'verifier.py: the verifier script is missing, .*"verifier_entrypoint"',
        ),
        ({}, "class Helper: ...\n", r'verifier.py: no verifier class: .* \(the script defines "Helper"\)'),
        (
            {},
            "def Verifier(config): ...\n",
            r'verifier.py: the verifier "Verifier" is a function(.|\n)*class Verifier:',
        ),
        (
            {"verifier_entrypoint": "Verifer"},
            PLAIN.format(name="Verifier"),
            r'names "Verifer" \(did you mean "Verifier"\?\), which the script does not have',
        ),
        ({}, "import nothing_like_it\n", r"cannot be imported: .*verifier.py:1: ModuleNotFoundError"),
        ({}, "x = 1\ndef broken(:\n", r"cannot be imported: .*verifier.py:2: SyntaxError"),
        ({}, "import sys\nsys.exit(3)\n", r"verifier.py:2: the script called sys.exit\(3\)"),
        (
            {},
            "class Verifier:\n    def __init__(self, config):\n        raise KeyError('limit')\n    def __call__(self): ...\n",
            r"cannot be made: .*verifier.py:3: KeyError: 'limit'\n\s+raise KeyError",
        ),
        (
            {},
            "\n\nclass Verifier:\n    def __call__(self, group_name, case_name, actual, expected): ...\n",
            r"cannot be made: .*verifier.py:3: TypeError: Verifier\(\) takes no arguments",
        ),
        (
            {},
            "class Verifier:\n    def __init__(self, config): ...\n",
            r'verifier.py:1: the verifier "Verifier" has no __call__',
        ),
        (
            {},
            "class Verifier:\n    def __init__(self, config): ...\n    def __call__(self, group, case, got, want): ...\n",
            r"given the keywords group_name, case_name, actual, expected, and its __call__ takes \(group, case, got, want\)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_authors_file_and_line(
    make_problem: MakeProblem, config: dict[str, Any], script: str | None, said: str
) -> None:
    folder = make_problem({**ONE, **config}, {} if script is None else {"verifier.py": script})
    with pytest.raises(VerifierError, match=said):
        made(folder)


def test_a_decorated_call_is_taken_for_what_its_wrapper_accepts(make_problem: MakeProblem) -> None:
    script = """
        import functools
        def logged(function):
            @functools.wraps(function)
            def wrapper(self, **keywords):
                return function(self, *keywords.values())
            return wrapper
        class Verifier:
            def __init__(self, config): ...
            @logged
            def __call__(self, a, b, c, d):
                return {}
    """
    assert callable(made(make_problem(ONE, {"verifier.py": script})))


GUIDE = Path(__file__).parents[3] / "shared" / "seeds" / "verification.md"
GUIDE_IMPORTS = "import json\nfrom slop_code.evaluation.verifiers.models import VerificationResult\n"
GUIDE_VERIFIERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Verifier": ({"output": "a"}, {"output": "a"}),
    "JSONVerifier": ({"output": '{"a": 1}'}, {"output": {"a": 2}, "fields": {"a": 1}}),
    "FileVerifier": ({"files": {"f": "x"}}, {"files": [{"path": "f", "contains": "x"}]}),
    "NumericVerifier": ({"output": "1.0 2"}, {"numbers": [1, 2]}),
    "WeightedVerifier": ({"output": "[1]", "elapsed": 2}, {"output": "[1]", "max_execution_time": 3}),
}


@pytest.mark.skipif(not GUIDE.exists(), reason="the seed guides are not beside this checkout")
@pytest.mark.parametrize("name", GUIDE_VERIFIERS)
def test_every_verifier_of_the_guide_is_found_made_and_called(make_problem: MakeProblem, name: str) -> None:
    (block,) = [block for block in blocks(GUIDE, "python") if f"\nclass {name}:" in f"\n{block.text}"]
    folder = make_problem(ONE, {"verifier.py": GUIDE_IMPORTS + block.text})
    problem = ProblemConfig.from_yaml(folder)
    actual, expected = (CLIResult(**fields) for fields in GUIDE_VERIFIERS[name])
    returned = call_verifier(
        made(folder), verifier_folder(problem), group_name="core", case_name="one", actual=actual, expected=expected
    )
    assert returned
    assert all(result.is_correct for result in returned.values())


def test_what_a_script_prints_does_not_reach_stdout(
    make_problem: MakeProblem, capsys: pytest.CaptureFixture[str]
) -> None:
    made(make_problem(ONE, {"verifier.py": "print('loading')\n" + PLAIN.format(name="Verifier")}))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "loading" in captured.err
