"""What is in the shed, and the rules for changing it."""

import random
import string

KINDS = ("hand", "garden", "power")
CENTS_A_DAY = {"hand": 50, "garden": 80, "power": 200}
MOST_LOANS = 3
LETTERS = string.ascii_lowercase + string.digits


class Refusal(Exception):
    """Something that cannot be done, as it is told to the client."""

    def __init__(self, status, error, message, **details):
        super().__init__(message)
        self.status = status
        self.body = {"error": error, "message": message, **details}


def invalid(fields):
    return Refusal(422, "invalid", "some fields are not right", fields=fields)


def conflict(error, message):
    return Refusal(409, error, message)


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
        self.loan = None
        self.queue = []

    def shown(self):
        names = ("id", "name", "kind", "deposit", "state", "version")
        return {name: getattr(self, name) for name in names}

    def becomes(self, state):
        self.state = state
        self.version += 1


class Loan:
    def __init__(self, identity, tool, borrower, day, days):
        self.id = identity
        self.tool = tool
        self.borrower = borrower
        self.day = day
        self.due = day + days
        self.returned = None
        self.fee = 0

    def shown(self):
        return {**vars(self), "tool": self.tool.id}


class Shed:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.given = set()
        self.tools = {}
        self.loans = {}

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
        if tool.state != "in":
            raise conflict("in_use", "the tool is not in")
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
        return {"total": len(found), "tools": [tool.shown() for tool in page]}

    def loan(self, identity):
        if identity not in self.loans:
            raise missing("loan")
        return self.loans[identity]

    def borrow(self, data):
        rules = {"tool": self.known_tool, "borrower": label, "day": whole(0), "days": whole(1, 28)}
        values = checked(data, rules, required=rules)
        tool, borrower = values["tool"], values["borrower"]
        if tool.state == "out":
            raise conflict("not_available", "somebody has the tool")
        if tool.state == "held" and tool.queue[0] != borrower:
            raise conflict("held", "the tool is held for somebody else")
        if sum(loan.borrower == borrower and loan.returned is None for loan in self.loans.values()) >= MOST_LOANS:
            raise conflict("too_many_loans", f"nobody may have more than {MOST_LOANS} tools")
        if tool.state == "held":
            tool.queue.pop(0)
        loan = Loan(self.new_id(), **values)
        self.loans[loan.id] = loan
        tool.loan = loan
        tool.becomes("out")
        return loan

    def known_tool(self, identity):
        if not isinstance(identity, str) or identity not in self.tools:
            raise ValueError("should be the id of a tool")
        return self.tools[identity]

    def bring_back(self, loan, data):
        day = checked(data, {"day": whole(loan.day)}, required=("day",))["day"]
        if loan.returned is not None:
            raise conflict("already_returned", f"it was returned on day {loan.returned}")
        tool = loan.tool
        fee = max(0, day - loan.due) * CENTS_A_DAY[tool.kind]
        loan.fee = min(fee, tool.deposit) if tool.deposit else fee
        loan.returned = day
        tool.loan = None
        tool.becomes("held" if tool.queue else "in")
        return loan

    def list_loans(self, parameters):
        values = checked(parameters, {"borrower": label, "open": one_of(("true", "false"))})
        found = [
            loan.shown()
            for loan in self.loans.values()
            if values.get("borrower", loan.borrower) == loan.borrower
            and ("open" not in values or (values["open"] == "true") == (loan.returned is None))
        ]
        return {"total": len(found), "loans": found}

    def wait_for(self, tool, data):
        borrower = checked(data, {"borrower": label}, required=("borrower",))["borrower"]
        if tool.state == "in":
            raise conflict("not_out", "the tool is in")
        if borrower in tool.queue or (tool.loan and tool.loan.borrower == borrower):
            raise conflict("already_there", "one has the tool, or waits for it already")
        tool.queue.append(borrower)
        return {"tool": tool.id, "borrower": borrower, "position": len(tool.queue)}


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
