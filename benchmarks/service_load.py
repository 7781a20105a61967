"""Many clients telling at once: none lost, and how long each waits.

    python benchmarks/service_load.py                                    # SQLite
    python benchmarks/service_load.py --journal postgresql+psycopg://...
    python benchmarks/service_load.py --append benchmarks/results/service_load.json

It starts `windward serve`, makes a study whose asks are cheap, and lets 200 clients, each on a connection of its own, tell
their trials one after the other; then it reads the journal back and compares every value.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from machine import described  # noqa: E402

TOKEN = "a-token-for-this-measurement"
DECLARATION = {
    "name": "load",
    "decision": {"order": {"part": "Real", "low": 0, "high": 1}},
    "context": {"demand": {"part": "Real", "low": 0, "high": 1}},
    "policy": {"method": "random"},
}


def call(url: str, method: str, path: str, body: Any = None) -> Any:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers, method=method), timeout=60) as answer:
        return json.load(answer)


def start(journal: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "windward", "serve", "--port", "0", "--journal", journal, "--json"]
    environment = {**os.environ, "WINDWARD_ADMIN_TOKEN": TOKEN, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    said = ""
    while not said.rstrip().endswith("}"):
        line = process.stdout.readline()  # type: ignore[union-attr]
        assert line, "the service did not start"
        said += line
    url = json.loads(said)["url"]
    for _ in range(300):
        try:
            call(url, "GET", "/health")
            return process, url
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the service does not answer")


async def client(host: str, port: int, ids: list[int], waited: list[float], go: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    await go.wait()
    for id in ids:
        body = json.dumps({"value": value_of(id), "context": {"demand": (id % 97) / 97}}).encode()
        head = (
            f"POST /api/studies/load/trials/{id}/tell HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n"
            f"content-type: application/json\r\nidempotency-key: result-{id}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        began = time.perf_counter()
        writer.write(head.encode() + body)
        await writer.drain()
        status = await reader.readline()
        length = 0
        while (line := await reader.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        await reader.readexactly(length)
        waited.append(time.perf_counter() - began)
        assert b" 200 " in status, status
    writer.close()


def value_of(id: int) -> float:
    return id / 7 + 0.1


async def load(url: str, clients: int, each: int) -> list[float]:
    host, port = url.removeprefix("http://").split(":")
    waited: list[float] = []
    go = asyncio.Event()
    jobs = [
        asyncio.create_task(client(host, int(port), list(range(n * each, (n + 1) * each)), waited, go))
        for n in range(clients)
    ]
    await asyncio.sleep(0.5)  # all are connected
    go.set()
    await asyncio.gather(*jobs)
    return waited


def measure(journal: str, clients: int, each: int) -> dict[str, Any]:
    import windward as ww

    process, url = start(journal)
    try:
        call(url, "POST", "/api/studies", DECLARATION)
        study = ww.Study.open("load", journal=journal)
        for _ in range(clients * each):
            study.ask()
        call(url, "GET", "/api/studies/load")
        began = time.perf_counter()
        waited = sorted(asyncio.run(load(url, clients, each)))
        seconds = time.perf_counter() - began - 0.5
    finally:
        process.terminate()
        process.wait(60)
    again = ww.Study.open("load", journal=journal)
    wrong = [trial.id for trial in again.trials if trial.value != value_of(trial.id)]
    ww.delete_study("load", journal=journal)
    return {
        "journal": journal.split(":")[0],
        "clients": clients,
        "tells": len(waited),
        "lost or wrong": len(wrong),
        "per second": round(len(waited) / seconds, 1),
        "p50 seconds": round(waited[len(waited) // 2], 3),
        "p95 seconds": round(waited[int(0.95 * len(waited))], 3),
        "largest seconds": round(waited[-1], 3),
        "stopped with": process.returncode,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", help="database URL; a new SQLite file where not given")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--each", type=int, default=10, help="tells per client")
    parser.add_argument("--append", type=Path, help="JSON file to add the result to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        journal = options.journal or f"sqlite:///{folder}/load.db"
        result = {**measure(journal, options.clients, options.each), "machine": described()}
    print(json.dumps(result, indent=2))
    if options.append is not None:
        before = json.loads(options.append.read_text()) if options.append.exists() else []
        options.append.write_text(json.dumps([*before, result], indent=2) + "\n")


if __name__ == "__main__":
    main()
