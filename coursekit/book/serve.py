"""`coursekit book --serve`: the built book on this machine alone, where a page can run its equations."""

import functools
import http.server
from pathlib import Path


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The files of one folder; what is asked for is not printed."""

    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}  # noqa: RUF012

    def log_message(self, *args: object) -> None:
        pass


def server(folder: Path, port: int = 0) -> http.server.ThreadingHTTPServer:
    """A server of `folder` on the loopback address; port 0 is any that is free."""
    return http.server.ThreadingHTTPServer(
        ("127.0.0.1", port), functools.partial(Quiet, directory=str(folder))
    )


def address(of: http.server.ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{of.server_port}"
