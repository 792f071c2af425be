import sys


def fail(text):
    print(text, file=sys.stderr)
    raise SystemExit(2)


def number(text):
    try:
        return float(text)
    except ValueError:
        fail(f"error: not a number: {text}")


def shown(value):
    return f"{value:.6f}".rstrip("0").rstrip(".")


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


def main(arguments):
    if len(arguments) != 3:
        fail("usage: calc OPERATION A B")
    operation, left, right = arguments
    print(shown(calculate(operation, number(left), number(right))))


main(sys.argv[1:])
