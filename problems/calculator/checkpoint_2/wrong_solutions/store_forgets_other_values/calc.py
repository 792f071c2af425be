import json
import pathlib
import sys

MEMORY = pathlib.Path("memory.json")
SYMBOLS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def fail(text):
    print(text, file=sys.stderr)
    raise SystemExit(2)


def number(text):
    try:
        return float(text)
    except ValueError:
        fail(f"error: not a number: {text}")


def shown(value):
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def calculate(operation, left, right):
    if operation == "add":
        return left + right
    if operation == "sub":
        return left - right
    if operation == "mul":
        return left * right
    if operation == "div":
        if right == 0:
            fail("error: division by zero")
        return left / right
    fail(f"error: unknown operation {operation}")


def memory():
    return json.loads(MEMORY.read_text()) if MEMORY.exists() else {}


def recall(name):
    values = memory()
    if name not in values:
        fail(f"error: nothing stored under {name}")
    return values[name]


def operand(text):
    return recall(text) if text.isidentifier() else number(text)


def evaluate(lines):
    for line in lines:
        if line.strip():
            left, symbol, right = line.split()
            print(shown(calculate(SYMBOLS.get(symbol, symbol), operand(left), operand(right))))


def main(arguments):
    match arguments:
        case ["eval"]:
            evaluate(sys.stdin)
        case ["store", name, value]:
            MEMORY.write_text(json.dumps({name: number(value)}))
        case ["recall", name]:
            print(shown(recall(name)))
        case ["clear"]:
            MEMORY.unlink(missing_ok=True)
        case [operation, left, right]:
            print(shown(calculate(operation, number(left), number(right))))
        case _:
            fail("usage: calc OPERATION A B")


main(sys.argv[1:])
