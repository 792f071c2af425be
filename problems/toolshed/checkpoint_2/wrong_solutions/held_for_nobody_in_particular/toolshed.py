"""The tool shed over HTTP: what is asked for, and the answers."""

import argparse
import json
import re
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, unquote, urlsplit

from shed import Refusal, Shed, missing


def home(shed, request):
    return 200, {"service": "toolshed"}, {}


def list_tools(shed, request):
    return 200, shed.list_tools(request.parameters()), {}


def add_tool(shed, request):
    tool = shed.add_tool(request.data())
    return 201, tool.shown(), {"ETag": etag(tool), "Location": f"/tools/{tool.id}"}


def read_tool(shed, request, identity):
    tool = shed.tool(identity)
    if request.headers.get("If-None-Match") in ("*", etag(tool)):
        return 304, None, {"ETag": etag(tool)}
    return 200, tool.shown(), {"ETag": etag(tool)}


def change_tool(shed, request, identity):
    tool = shed.tool(identity)
    match = request.headers.get("If-Match")
    if match is None:
        raise Refusal(428, "if_match_required", "say in If-Match which version you mean to change")
    if match not in ("*", etag(tool)):
        raise Refusal(412, "changed", "somebody has changed the tool meanwhile")
    shed.change_tool(tool, request.data())
    return 200, tool.shown(), {"ETag": etag(tool)}


def remove_tool(shed, request, identity):
    shed.remove_tool(shed.tool(identity))
    return 204, None, {}


def read_queue(shed, request, identity):
    tool = shed.tool(identity)
    return 200, {"tool": tool.id, "waiting": tool.queue}, {}


def join_queue(shed, request, identity):
    return 201, shed.wait_for(shed.tool(identity), request.data()), {}


def list_loans(shed, request):
    return 200, shed.list_loans(request.parameters()), {}


def borrow(shed, request):
    loan = shed.borrow(request.data())
    return 201, loan.shown(), {"Location": f"/loans/{loan.id}"}


def read_loan(shed, request, identity):
    return 200, shed.loan(identity).shown(), {}


def bring_back(shed, request, identity):
    return 200, shed.bring_back(shed.loan(identity), request.data()).shown(), {}


def etag(tool):
    return f'"{tool.version}"'


ROUTES = [
    ("/", {"GET": home}),
    ("/tools", {"GET": list_tools, "POST": add_tool}),
    ("/tools/([^/]+)", {"GET": read_tool, "PATCH": change_tool, "DELETE": remove_tool}),
    ("/tools/([^/]+)/queue", {"GET": read_queue, "POST": join_queue}),
    ("/loans", {"GET": list_loans, "POST": borrow}),
    ("/loans/([^/]+)", {"GET": read_loan}),
    ("/loans/([^/]+)/return", {"POST": bring_back}),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave in one packet

    def answer(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            with self.server.lock:
                status, body, headers = self.route()
        except Refusal as refusal:
            status, body = refusal.status, refusal.body
            headers = {"Allow": body.pop("allow")} if "allow" in body else {}
        # No date and no version of ours: the same requests give the same answers.
        self.send_response_only(status)
        payload = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        if body is not None:
            headers = {"Content-Type": "application/json", **headers}
        if status not in (204, 304):
            headers["Content-Length"] = str(len(payload))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def __getattr__(self, name):
        # The base class looks for do_GET, do_POST and so on; routing decides which of them there are.
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def route(self):
        path = urlsplit(self.path).path
        for pattern, methods in ROUTES:
            if match := re.fullmatch(pattern, path):
                if self.command not in methods:
                    allowed = ", ".join(sorted(methods))
                    raise Refusal(405, "not_allowed", f"this path knows {allowed}", allow=allowed)
                return methods[self.command](self.server.shed, self, *map(unquote, match.groups()))
        raise missing("path")

    def parameters(self):
        return dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))

    def data(self):
        try:
            data = json.loads(self.body)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise Refusal(400, "bad_json", "the body should be a JSON object")
        return data

    def log_message(self, *words):
        pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser(prog="toolshed")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with Server((options.address, options.port), Handler) as server:
        server.shed = Shed(options.seed)
        server.lock = threading.Lock()
        server.serve_forever()


main()
