"""Cases from tables, from products of a few values, and from seeded chance; `oracle` knows the right answers."""

import csv
import itertools
import random
import shlex
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import oracle

from slop_code.evaluation import GroupConfig
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, helpers

Pair = tuple[CLICase, CLIResult]

# Rounding moves a channel by half a step at most; a little more is for those who compute with floating point.
HALF_A_STEP = 0.501
RANDOM_CASES = 6
SEED = 1853
# A colour in each space, for the conversions from it to every other.
A_COLOUR = {
    "hex": ["#3d9a5f"],
    "rgb": ["12", "200", "31"],
    "hsl": ["301.5", "33.3", "64"],
    "hsv": ["42", "87.25", "91"],
}


class Loader(BaseLoader):
    def __call__(self, group: GroupConfig, store: Any) -> Iterator[Pair]:
        # A regression group is loaded like the group that it repeats.
        yield from getattr(self, group.get_real_name())(group)

    def named(self, group: GroupConfig) -> Iterator[Pair]:
        for row in self.table(group):
            space, *values = row["expected"].split()
            wanted = hex_channels(*values) if space == "hex" else [float(value) for value in values]
            arguments = ["convert", row["from"], row["to"], *row["values"].split()]
            yield a_case(row["name"], arguments, form=space, numbers=wanted)

    def every_pair(self, group: GroupConfig) -> Iterator[Pair]:
        for source, target in itertools.product(oracle.SPACES, repeat=2):
            yield converted(f"{source}_to_{target}", source, A_COLOUR[source], target)

    def random_colours(self, group: GroupConfig) -> Iterator[Pair]:
        random.seed(SEED)
        for number in range(RANDOM_CASES):
            source, target = random.choice(oracle.SPACES), random.choice(oracle.SPACES[1:])
            yield converted(f"random_{number}", source, random_values(source), target)

    def errors(self, group: GroupConfig) -> Iterator[Pair]:
        for row in self.table(group):
            expected = CLIResult(status_code=2, output="", stderr=row["message"] + "\n")
            yield CLICase(id=row["name"], arguments=quoted(row["arguments"].split())), expected

    def mixes(self, group: GroupConfig) -> Iterator[Pair]:
        for row in self.table(group):
            arguments = ["mix", row["way"], row["share"], row["one"], row["other"]]
            yield a_case(row["name"], arguments, form="hex", numbers=hex_channels(row["expected"]))

    def contrasts(self, group: GroupConfig) -> Iterator[Pair]:
        for row in self.table(group):
            arguments = ["contrast", row["one"], row["other"]]
            yield a_case(row["name"], arguments, form="contrast", numbers=[float(row["ratio"])], verdict=row["verdict"])

    def mix_grid(self, group: GroupConfig) -> Iterator[Pair]:
        pairs = {"warm_cold": ("#e8a33d", "#2b6cb0"), "over_red": ("#f0308a", "#d8c020")}
        for way, share, name in itertools.product(oracle.WAYS, ("12.5", "60"), pairs):
            yield mixed(f"{way}_{share.replace('.', '_')}_{name}", way, share, *pairs[name])

    def random_mixes(self, group: GroupConfig) -> Iterator[Pair]:
        random.seed(SEED)
        for number in range(RANDOM_CASES):
            way, share = random.choice(oracle.WAYS), str(random.randint(1, 99))
            yield mixed(f"random_{number}", way, share, *random_values("hex"), *random_values("hex"))

    def table(self, group: GroupConfig) -> Iterable[dict[str, str]]:
        folder = helpers.get_chkpt_path(group, self.problem, self.checkpoint)
        with (folder / f"{group.get_real_name()}.csv").open(newline="", encoding="utf-8") as lines:
            yield from csv.DictReader(lines)


def converted(name: str, source: str, values: list[str], target: str) -> Pair:
    numbers = [float(number) for number in oracle.numbers(target, oracle.read(source, values))]
    tolerance = {"tolerance": HALF_A_STEP} if target in ("hex", "rgb") else {}
    return a_case(name, ["convert", source, target, *values], form=target, numbers=numbers, **tolerance)


def mixed(name: str, way: str, share: str, one: str, other: str) -> Pair:
    channels = oracle.mixture(way, Fraction(share), oracle.read("hex", [one]), oracle.read("hex", [other]))
    return a_case(name, ["mix", way, share, one, other], form="hex", numbers=channels, tolerance=HALF_A_STEP)


def a_case(name: str, arguments: list[str], **expected: Any) -> Pair:
    return CLICase(id=name, arguments=quoted(arguments)), CLIResult(status_code=0, **expected)


def quoted(arguments: list[str]) -> list[str]:
    """Arguments are shell fragments, and `#` begins a comment there."""
    return [shlex.quote(argument) for argument in arguments]


def hex_channels(text: str) -> list[float]:
    return [float(255 * channel) for channel in oracle.read("hex", [text])]


def random_values(space: str) -> list[str]:
    if space == "hex":
        return [f"#{random.randrange(16**6):06x}"]
    if space == "rgb":
        return [str(random.randrange(256)) for _ in range(3)]
    return [f"{random.uniform(-720, 720):.1f}", f"{random.uniform(0, 100):.2f}", f"{random.uniform(0, 100):.2f}"]
