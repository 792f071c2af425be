"""The form of a line and the numbers in it, each on its own: a right colour in the wrong form is worth something."""

import re

from slop_code.evaluation import CheckpointConfig
from slop_code.evaluation.adapters import CLIResult
from slop_code.evaluation.verifiers import (
    VerificationResult,
    VerifierReturnType,
    matches_status_code,
    numeric_match,
    text_diff,
)

NUMBER = r"(?:0|[1-9][0-9]*)(?:\.[0-9]?[1-9])?"
WHOLE = r"(?:0|[1-9][0-9]*)"
FORMS = {
    "hex": r"hex #[0-9a-f]{6}\n",
    "rgb": rf"rgb {WHOLE} {WHOLE} {WHOLE}\n",
    "hsl": rf"hsl (?!360 ){NUMBER} {NUMBER} {NUMBER}\n",
    "hsv": rf"hsv (?!360 ){NUMBER} {NUMBER} {NUMBER}\n",
    "contrast": rf"{NUMBER} (?:AAA|AA|large|poor)\n",
}
# Half a hundredth for rounding, and a little for those who compute with floating point.
TOLERANCE = 0.006
WEIGHTS = {"status_code": 1.0, "form": 1.0, "number": 2.0, "verdict": 2.0}


class Verifier:
    def __init__(self, checkpoint_config: CheckpointConfig) -> None:
        self.checkpoint = checkpoint_config

    def __call__(self, group_name: str, case_name: str, actual: CLIResult, expected: CLIResult) -> VerifierReturnType:
        results = {"status_code": matches_status_code(actual.status_code, expected.status_code, WEIGHTS["status_code"])}
        if expected.stderr is not None:
            return results | {
                "output": same_text(actual.output, ""),
                "stderr": same_text(actual.stderr, expected.stderr),
            }
        results["form"] = judge_form(expected.form, actual.output)
        tolerance = getattr(expected, "tolerance", TOLERANCE)
        found = numbers_in(expected.form, actual.output)
        for position, wanted in enumerate(expected.numbers):
            number = found[position] if position < len(found) else None
            if number is not None and position == 0 and expected.form in ("hsl", "hsv"):
                number = nearest_turn(number, wanted)
            results[f"number_{position}"] = numeric_match(wanted, number, tolerance, weight=WEIGHTS["number"])
        if expected.form == "contrast":
            results["verdict"] = judge_verdict(expected.verdict, actual.output)
        return results


def same_text(found: str, wanted: str) -> VerificationResult:
    return VerificationResult.create(text_diff(wanted, found), found == wanted)


def judge_form(form: str, output: str) -> VerificationResult:
    fits = re.fullmatch(FORMS[form], output) is not None
    said = "has the form" if fits else "has not the form"
    return VerificationResult.create(f"{output[:200]!r} {said} of {form}", fits, WEIGHTS["form"])


def judge_verdict(wanted: str, output: str) -> VerificationResult:
    word = (output[:200].split() or [None])[-1]
    return VerificationResult.create(f"expected {wanted}, got {word}", word == wanted, WEIGHTS["verdict"])


def numbers_in(form: str, output: str) -> list[float]:
    """The numbers of an output, as far as it has any, whatever its form."""
    if form == "hex":
        match = re.search(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})\b", output[:1000])
        return [float(int(pair, 16)) for pair in match.groups()] if match else []
    return [float(text) for text in re.findall(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", output[:1000])]


def nearest_turn(hue: float, wanted: float) -> float:
    """The same hue, in the turn of the circle in which `wanted` is: 0 is near 359.999."""
    return hue - 360 * round((hue - wanted) / 360)
