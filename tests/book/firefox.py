"""A stock Firefox, driven over WebDriver BiDi: enough to open a page and ask it things."""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from websocket import create_connection

# Every host but this machine is a dead end.
PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
    "network.captive-portal-service.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "remote.prefs.recommended": True,
    "browser.shell.checkDefaultBrowser": False,
}


def find() -> str | None:
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    def __init__(self, path: str) -> None:
        self.profile = tempfile.mkdtemp()
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
        Path(self.profile, "user.js").write_text("\n".join(lines))
        command = [path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", self.profile]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        found = next(
            filter(None, (re.search(r"BiDi listening on (ws://\S+)", line) for line in self.process.stderr))
        )
        self.socket = create_connection(f"{found[1]}/session", timeout=120, suppress_origin=True)
        self.number = 0
        self.call("session.new", capabilities={})
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, url: str) -> None:
        self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def ask(self, script: str) -> object:
        """The value of an expression in the page; of a promise, what it comes to."""
        answer = self.call(
            "script.evaluate", expression=f"(async () => JSON.stringify(await ({script}) ?? null))()",
            target={"context": self.context}, awaitPromise=True,
        )  # fmt: skip
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def close(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.profile, ignore_errors=True)
