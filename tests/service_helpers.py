"""What the tests of the service share: an app in this process, a server in another, and what both need."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from forked import Forked, inherited, windward

import windward as ww

ADMIN = "the-admin-token-of-the-tests"
# Of the service in this process; small, so that a test can exceed it.
LARGEST_BODY = 100_000
ROOT = Path(__file__).parents[1]
SHOP = {
    "name": "shop",
    "decision": {"order": {"part": "Real", "low": 0, "high": 1}},
    "context": {"demand": {"part": "Real", "low": 0, "high": 1}},
    "policy": {
        "part": "Policy",
        "context_model": {"part": "KernelDensity", "count": 16},
        "objective": {"part": "Robust", "divergence": {"part": "TotalVariation"}, "radius": 0.2},
        "design": {"part": "Sobol", "count": 3},
        "maximize": {"part": "MultiStart", "screen": 32, "starts": 1, "evaluations": 5},
    },
}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def log(url: str, name: str) -> list[ww.journal.Event]:
    """Return a study's events as the journal has them."""
    return ww.SqlJournal(url).read(name)


def request(url: str, method: str, path: str, body: object = None, token: str = ADMIN) -> object:
    headers = {**bearer(token), "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(url + path, data, headers, method=method)
    with urllib.request.urlopen(call, timeout=120) as answer:
        return json.load(answer)


@contextmanager
def server(journal: str):
    """Yield what `windward serve` says and its process, which starts as an operator's does."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    environment["WINDWARD_ADMIN_TOKEN"] = ADMIN
    command = [sys.executable, "-m", "windward", "serve", "--port", "0", "--journal", journal, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield begun(process.stdout), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


@contextmanager
def warm_server(journal: str, token: str | None = ADMIN, grace: float | None = None):
    """Yield what a server says and its process; its processes share the imports. It must stop well."""
    process = Forked(_serve, journal, token, grace)
    try:
        yield begun(process.stdout), process.process
    finally:
        process.process.terminate()
        process.rest()
    assert process.process.exitcode == 0


def _serve(journal: str, token: str | None, grace: float | None) -> None:
    from windward.service import fitter, run

    fitter._context = inherited
    if grace is not None:
        run.GRACE_SECONDS = grace
    os.environ.pop("WINDWARD_ADMIN_TOKEN", None)
    if token is not None:
        os.environ["WINDWARD_ADMIN_TOKEN"] = token
    windward("/", "serve", "--port", "0", "--journal", journal, "--json")


def begun(stdout) -> dict[str, str]:
    """Return what a server says when it starts, once it answers."""
    said = ""
    while not said.rstrip().endswith("}"):
        line = stdout.readline()
        assert line, f"the service did not start: {said}"
        said += line
    told = json.loads(said)
    deadline = time.monotonic() + 60
    while True:
        try:
            request(told["url"], "GET", "/health", token=told["admin_token"] or ADMIN)
            return told
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def chromium() -> str | None:
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
