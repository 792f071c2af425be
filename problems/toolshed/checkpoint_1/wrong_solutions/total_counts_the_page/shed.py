"""What is in the shed, and the rules for changing it."""

import random
import string

KINDS = ("hand", "garden", "power")
LETTERS = string.ascii_lowercase + string.digits


class Refusal(Exception):
    """Something that cannot be done, as it is told to the client."""

    def __init__(self, status, error, message, **details):
        super().__init__(message)
        self.status = status
        self.body = {"error": error, "message": message, **details}


def invalid(fields):
    return Refusal(422, "invalid", "some fields are not right", fields=fields)


def missing(what):
    return Refusal(404, "not_found", f"there is no such {what}")


class Tool:
    def __init__(self, number, identity, name, kind, deposit):
        self.number = number
        self.id = identity
        self.name = name
        self.kind = kind
        self.deposit = deposit
        self.state = "in"
        self.version = 1

    def shown(self):
        names = ("id", "name", "kind", "deposit", "state", "version")
        return {name: getattr(self, name) for name in names}


class Shed:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.given = set()
        self.tools = {}

    def new_id(self):
        while True:
            identity = "".join(self.random.choices(LETTERS, k=8))
            if identity not in self.given:
                self.given.add(identity)
                return identity

    def tool(self, identity):
        if identity not in self.tools:
            raise missing("tool")
        return self.tools[identity]

    def add_tool(self, data):
        values = checked(data, TOOL_FIELDS, required=("name", "kind"))
        tool = Tool(len(self.given), self.new_id(), values["name"], values["kind"], values.get("deposit", 0))
        self.tools[tool.id] = tool
        return tool

    def change_tool(self, tool, data):
        values = checked(data, TOOL_FIELDS)
        if any(getattr(tool, name) != value for name, value in values.items()):
            vars(tool).update(values)
            tool.version += 1
        return tool

    def remove_tool(self, tool):
        del self.tools[tool.id]

    def list_tools(self, parameters):
        values = checked(parameters, LIST_PARAMETERS)
        found = [
            tool
            for tool in self.tools.values()
            if values.get("kind", tool.kind) == tool.kind and values.get("search", "").lower() in tool.name.lower()
        ]
        found.sort(key=lambda tool: (tool.name.lower(), tool.number))
        start = values.get("offset", 0)
        page = found[start : start + values.get("limit", 10)]
        return {"total": len(page), "tools": [tool.shown() for tool in page]}


def checked(data, rules, required=()):
    """The values of `data`, each as its rule reads it; a refusal that names everything that is wrong."""
    values, wrong = {}, {name: "is required" for name in required if name not in data}
    for name, value in data.items():
        try:
            values[name] = rules[name](value)
        except KeyError:
            wrong[name] = "is not known"
        except ValueError as error:
            wrong[name] = str(error)
    if wrong:
        raise invalid(wrong)
    return values


def label(value):
    text = value.strip() if isinstance(value, str) else ""
    if not 1 <= len(text) <= 40:
        raise ValueError("should be a text of 1 to 40 characters")
    return text


def one_of(choices):
    def rule(value):
        if value not in choices:
            raise ValueError(f"should be one of {', '.join(choices)}")
        return value

    return rule


def whole(lowest, highest=None):
    def rule(value):
        if type(value) is not int or value < lowest or (highest is not None and value > highest):
            raise ValueError(f"should be a whole number from {lowest}" + (f" to {highest}" if highest else ""))
        return value

    return rule


def written(rule):
    """The rule for a number in a query, where everything is text."""

    def reading(value):
        return rule(int(value) if value.isascii() and value.isdigit() else None)

    return reading


TOOL_FIELDS = {"name": label, "kind": one_of(KINDS), "deposit": whole(0)}
LIST_PARAMETERS = {
    "kind": one_of(KINDS),
    "search": str,
    "offset": written(whole(0)),
    "limit": written(whole(1, 50)),
}
