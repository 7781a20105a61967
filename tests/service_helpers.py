"""What the tests of the service share: an app in this process, a server in another, and a private PostgreSQL."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
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
def server(journal: str, *options: str, token: str | None = ADMIN, program: tuple[str, str] = ("-m", "windward")):
    """Yield the address and the process of `windward serve`; it is stopped as an operator would, and must stop well."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    environment.pop("WINDWARD_ADMIN_TOKEN", None)
    if token is not None:
        environment["WINDWARD_ADMIN_TOKEN"] = token
    command = [sys.executable, *program, "serve", "--port", "0", "--journal", journal, "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield begun(process.stdout), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


@contextmanager
def warm_server(journal: str):
    """Yield the address of a server whose processes share the imports; it must stop well."""
    process = Forked(_serve, journal)
    try:
        yield begun(process.stdout)["url"]
    finally:
        process.process.terminate()
        process.rest()
    assert process.process.exitcode == 0


def _serve(journal: str) -> None:
    from windward.service import fitter

    fitter._context = inherited
    os.environ["WINDWARD_ADMIN_TOKEN"] = ADMIN
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


@contextmanager
def private_postgresql():
    """Yield the URL of a PostgreSQL server in a folder of its own; as root it runs as somebody else."""
    programs = postgresql_programs()
    folder = Path(tempfile.mkdtemp(prefix="ww-service-"))
    user = next(u.pw_name for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody")) if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)

    def run(program, *arguments):
        extra = {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        with (folder.parent / f"{folder.name}.said").open("wb") as said:  # a pipe would be held open by the server
            subprocess.run(
                [str(programs / program), *arguments],
                check=True,
                cwd="/",
                stdout=said,
                stderr=said,
                timeout=120,
                **extra,
            )

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
        run("pg_ctl", "-D", data, "-w", "-o", f"-k {folder} -h ''", "-l", str(folder / "log"), "start")
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        if (Path(data) / "postmaster.pid").exists():
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)
        (folder.parent / f"{folder.name}.said").unlink(missing_ok=True)


def postgresql_programs() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    return next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


def chromium() -> str | None:
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
