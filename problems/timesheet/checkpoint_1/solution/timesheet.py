import re
import sys

LETTERS = re.compile(r"([-+]?)(?:([0-9]{1,4})h)?(?:([0-9]{1,4})m)?")
COLON = re.compile(r"([-+]?)([0-9]{1,4}):([0-9]{2})")


def fail(text, status=2):
    print(text, file=sys.stderr)
    raise SystemExit(status)


def minutes_of(text):
    found = LETTERS.fullmatch(text) or COLON.fullmatch(text)
    sign, hours, minutes = found.groups() if found else ("", None, None)
    if not (hours or minutes) or (hours and int(minutes or 0) >= 60):
        fail(f"error: not a duration: {text}")
    total = int(hours or 0) * 60 + int(minutes or 0)
    return -total if sign == "-" else total


def shown(total):
    hours, minutes = divmod(abs(total), 60)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    return ("-" if total < 0 else "") + (text or "0m")


def add(arguments):
    if not arguments:
        fail("usage: timesheet add DURATION...")
    print(shown(sum(map(minutes_of, arguments))))


def main(arguments):
    match arguments:
        case ["add", *durations]:
            add(durations)
        case _:
            fail("usage: timesheet COMMAND [ARGUMENT]...")


main(sys.argv[1:])
