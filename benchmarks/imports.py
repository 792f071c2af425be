"""What importing costs, beside the two libraries that everything here is built on."""

from __future__ import annotations

from benchmarks.measure import interleaved, python, table

FLOOR = "import pydantic, yaml"
CODES = [
    "pass",
    FLOOR,
    "from pydantic import BaseModel; import yaml\nclass Model(BaseModel): x: int = 1",
    "import slop_code.evaluation",
    "from slop_code.evaluation import ProblemConfig",
    "from slop_code.evaluation import ProblemConfig, initialize_loader",
]


def main() -> None:
    times = interleaved({code: python(code) for code in CODES}, rounds=15)
    rows = [("", "ms", "ratio to the floor")]
    rows += [
        (code.replace("\n", "; "), f"{times[code] * 1000:.1f}", f"{times[code] / times[FLOOR]:.2f}") for code in CODES
    ]
    table(rows)
    print(f"The floor is `{FLOOR}`; `import slop_code.evaluation` should cost at most 1.5 times that.")
