import re
import sys

SPACES = {"hex": 1, "rgb": 3, "hsl": 3, "hsv": 3}
DECIMAL = r"-?[0-9]+(\.[0-9]+)?"


def fail(text):
    print(text, file=sys.stderr)
    raise SystemExit(2)


def main(arguments):
    match arguments:
        case ["convert", source, target, *values]:
            convert(source, target, values)
        case ["convert", *_]:
            fail("usage: hue convert FROM TO VALUE...")
        case _:
            fail("usage: hue COMMAND ARGUMENT...")


def convert(source, target, values):
    for space in (source, target):
        if space not in SPACES:
            fail(f"error: unknown space {space}")
    needed = SPACES[source]
    if len(values) != needed:
        fail(f"error: {source} needs {needed} {'value' if needed == 1 else 'values'}, got {len(values)}")
    print(target, written(target, read(source, values)))


def read(space, values):
    """Red, green and blue between 0 and 1."""
    if space == "hex":
        return hex_channels(values[0])
    if space == "rgb":
        return [number / 255 for number in numbers(values, "-?[0-9]+", [255, 255, 255])]
    hue, saturation, third = numbers(values, DECIMAL, [None, 100, 100])
    if space == "hsl":
        spread, smallest = from_lightness(saturation / 100, third / 100)
    else:
        spread, smallest = from_value(saturation / 100, third / 100)
    return [smallest + spread * part for part in wheel(hue)]


def hex_channels(text):
    if not re.fullmatch("#([0-9a-fA-F]{3}){1,2}", text):
        fail(f"error: not a colour: {text}")
    digits = text[1:]
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    return [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]


def numbers(values, pattern, highest):
    for value in values:
        if not re.fullmatch(pattern, value):
            fail(f"error: not a number: {value}")
    for value, limit in zip(values, highest):
        if limit is not None and not 0 <= float(value) <= limit:
            fail(f"error: out of range: {value}")
    return [float(value) for value in values]


def from_lightness(saturation, lightness):
    spread = saturation * (1 - abs(2 * lightness - 1))
    return spread, lightness - spread / 2


def from_value(saturation, value):
    spread = saturation * value
    return spread, value - spread


def wheel(hue):
    sixth = hue % 360 / 60
    x = 1 - abs(sixth % 2 - 1)
    return [(1, x, 0), (x, 1, 0), (0, 1, x), (0, x, 1), (x, 0, 1), (1, 0, x)][int(sixth) % 6]


def written(space, channels):
    if space == "hex":
        return "#" + "".join(f"{nearest(channel):02x}" for channel in channels)
    if space == "rgb":
        return " ".join(str(nearest(channel)) for channel in channels)
    hue, *others = to_lightness(channels) if space == "hsl" else to_value(channels)
    shown = decimal(hue)
    return " ".join(["0" if shown == "360" else shown, *(decimal(100 * other) for other in others)])


def nearest(channel):
    return int(channel * 255 + 0.5)


def decimal(value):
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def hue_of(channels):
    red, green, blue = channels
    largest, spread = max(channels), max(channels) - min(channels)
    if spread == 0:
        return 0.0
    if largest == red:
        return 60 * ((green - blue) / spread)
    if largest == green:
        return 60 * ((blue - red) / spread + 2)
    return 60 * ((red - green) / spread + 4)


def to_lightness(channels):
    largest, smallest = max(channels), min(channels)
    lightness = (largest + smallest) / 2
    spread = largest - smallest
    return hue_of(channels), spread / (1 - abs(2 * lightness - 1)) if spread else 0.0, lightness


def to_value(channels):
    largest, smallest = max(channels), min(channels)
    return hue_of(channels), (largest - smallest) / largest if largest else 0.0, largest


main(sys.argv[1:])
