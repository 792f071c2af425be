"""What the right answers are, exactly: fractions wherever the formulas allow it.

Written apart from the reference solutions, and after other formulas where there are any, so that the two can be wrong
only in different places. A colour is its red, green and blue between 0 and 1.
"""

from fractions import Fraction

Colour = tuple[Fraction, Fraction, Fraction]

SPACES = ("hex", "rgb", "hsl", "hsv")
WAYS = ("rgb", "linear", "hsl")


def read(space: str, values: list[str]) -> Colour:
    """The colour that values of a space mean."""
    if space == "hex":
        digits = values[0].removeprefix("#")
        width = len(digits) // 3
        pairs = [digits[at : at + width] * (3 - width) for at in range(0, len(digits), width)]
        return tuple(Fraction(int(pair, 16), 255) for pair in pairs)
    if space == "rgb":
        return tuple(Fraction(value) / 255 for value in values)
    hue, saturation, third = Fraction(values[0]), Fraction(values[1]) / 100, Fraction(values[2]) / 100
    return from_hsl(hue, saturation, third) if space == "hsl" else from_hsv(hue, saturation, third)


def numbers(space: str, colour: Colour) -> list[Fraction]:
    """The numbers of a colour in a space, before anything is rounded; for `hex`, those of its channels."""
    largest, smallest = max(colour), min(colour)
    if space in ("hex", "rgb"):
        return [255 * channel for channel in colour]
    if space == "hsv":
        return [hue(colour), 100 * (1 - smallest / largest) if largest else Fraction(0), 100 * largest]
    lightness = (largest + smallest) / 2
    room = min(lightness, 1 - lightness)
    return [hue(colour), 100 * (largest - lightness) / room if room else Fraction(0), 100 * lightness]


def mixture(way: str, share: Fraction, one: Colour, other: Colour) -> list[float]:
    """The channels of a mixture, before anything is rounded."""
    part = share / 100
    if way == "rgb":
        return [float(255 * (a * (1 - part) + b * part)) for a, b in zip(one, other, strict=True)]
    if way == "linear":
        weights = (1 - float(part), float(part))
        pairs = zip(map(light, one), map(light, other), strict=True)
        return [255 * gamma(weights[0] * a + weights[1] * b) for a, b in pairs]
    (h1, s1, l1), (h2, s2, l2) = numbers("hsl", one), numbers("hsl", other)
    if is_grey(one):
        h1 = h2
    if is_grey(other):
        h2 = h1
    if h2 - h1 > 180:
        h1 += 360
    elif h1 - h2 >= 180:
        h2 += 360
    mixed = [a * (1 - part) + b * part for a, b in ((h1, h2), (s1, s2), (l1, l2))]
    return [float(255 * channel) for channel in from_hsl(mixed[0], mixed[1] / 100, mixed[2] / 100)]


def contrast(one: Colour, other: Colour) -> float:
    first, second = luminance(one) + 0.05, luminance(other) + 0.05
    return max(first / second, second / first)


def verdict(ratio: float) -> str:
    return next(word for least, word in ((7, "AAA"), (4.5, "AA"), (3, "large"), (0, "poor")) if ratio >= least)


def is_grey(colour: Colour) -> bool:
    return len(set(colour)) == 1


def hue(colour: Colour) -> Fraction:
    if is_grey(colour):
        return Fraction(0)
    at = colour.index(max(colour))
    return (120 * at + 60 * (colour[(at + 1) % 3] - colour[(at + 2) % 3]) / (max(colour) - min(colour))) % 360


def from_hsl(hue: Fraction, saturation: Fraction, lightness: Fraction) -> Colour:
    reach = saturation * min(lightness, 1 - lightness)

    def channel(offset: int) -> Fraction:
        place = (offset + hue / 30) % 12
        return lightness - reach * max(-1, min(place - 3, 9 - place, 1))

    return channel(0), channel(8), channel(4)


def from_hsv(hue: Fraction, saturation: Fraction, value: Fraction) -> Colour:
    def channel(offset: int) -> Fraction:
        place = (offset + hue / 60) % 6
        return value - value * saturation * max(0, min(place, 4 - place, 1))

    return channel(5), channel(3), channel(1)


def light(channel: Fraction) -> float:
    value = float(channel)
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def gamma(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def luminance(colour: Colour) -> float:
    red, green, blue = map(light, colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
