"""The service under load: clients that tell at once, clients that keep their connections, asks beside other work.

    python benchmarks/service_load.py                                    # 200 clients tell at once: none lost
    python benchmarks/service_load.py --journal postgresql+psycopg://...
    python benchmarks/service_load.py latency                            # tell and status at 1, 32 and 200 clients
    python benchmarks/service_load.py asks --fitters 2                   # one ask alone, beside reports, an ask, a page
    PYTHONPATH=another/checkout python benchmarks/service_load.py asks --label before --append results.json

It starts `windward serve`, of the checkout on PYTHONPATH or else of its own. `tells`: each of 200 clients tells its trials one
after the other on a connection of its own; then the journal is read back and every value compared. `latency`: the same
clients, tells and reads of a small study's status timed one by one. `asks`: an ask of a study of 100 trials, timed alone,
beside 80 reports of another study by a reader, beside an ask of a study of 4,000 trials, and beside the figures of its own
page; the fitting processes have their studies open and fitted before anything is timed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

if "PYTHONPATH" not in os.environ:  # else that checkout is measured
    sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parent))
from machine import described

TOKEN = "a-token-for-this-measurement"
DECLARATION = {
    "name": "load",
    "decision": {"order": {"part": "Real", "low": 0, "high": 1}},
    "context": {"demand": {"part": "Real", "low": 0, "high": 1}},
    "policy": {"method": "random"},
}
# Clients, and requests of each: enough for a p95, few enough for a minute.
CLIENTS = ((1, 200), (32, 20), (200, 10))
SMALL, LARGE, REPORTS = 100, 4000, 80
FIGURES = ("landscape", "history", "contexts", "price", "delays")


def call(url: str, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
    headers = {"authorization": f"Bearer {token or TOKEN}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=600) as answer:
        text = answer.read()
        return json.loads(text) if answer.headers["content-type"] == "application/json" else text


@contextmanager
def serving(journal: str, fitters: int | None) -> Iterator[str]:
    process, url = start(journal, fitters)
    try:
        yield url
    finally:
        process.terminate()
        assert process.wait(120) == 0


def start(journal: str, fitters: int | None = None) -> tuple[subprocess.Popen[str], str]:
    import windward

    # -P: not from the folder this is run in.
    command = [sys.executable, "-P", "-m", "windward", "serve", "--port", "0", "--journal", journal, "--json"]
    command += [] if fitters is None else ["--fitters", str(fitters)]
    source = str(Path(windward.__file__).parents[1])  # the service is of the same checkout
    environment = {**os.environ, "WINDWARD_ADMIN_TOKEN": TOKEN, "OMP_NUM_THREADS": "1", "PYTHONPATH": source}
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
    """Tell the trials of these ids, one after the other."""
    await requests(host, port, [telling(id) for id in ids], waited, go)


def telling(id: int) -> bytes:
    body = json.dumps({"value": value_of(id), "context": {"demand": (id % 97) / 97}}).encode()
    more = f"content-type: application/json\r\nidempotency-key: result-{id}\r\ncontent-length: {len(body)}\r\n"
    return request_of("POST", f"/api/studies/load/trials/{id}/tell", more) + body


def request_of(method: str, path: str, more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {TOKEN}\r\n{more}\r\n".encode()


async def requests(host: str, port: int, sent: list[bytes], waited: list[float], go: asyncio.Event) -> None:
    """Send requests on one connection, and note how long each answer took."""
    reader, writer = await asyncio.open_connection(host, port)
    await go.wait()
    for each in sent:
        began = time.perf_counter()
        writer.write(each)
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


async def load(url: str, sent: list[list[bytes]]) -> list[float]:
    """Send each client's requests, all clients at once; return how long each answer took."""
    host, port = url.removeprefix("http://").split(":")
    waited: list[float] = []
    go = asyncio.Event()
    jobs = [asyncio.create_task(requests(host, int(port), each, waited, go)) for each in sent]
    await asyncio.sleep(0.5)  # all are connected
    go.set()
    await asyncio.gather(*jobs)
    return waited


def tells(journal: str, fitters: int | None, clients: int, each: int) -> dict[str, Any]:
    import windward as ww

    process, url = start(journal, fitters)
    try:
        call(url, "POST", "/api/studies", DECLARATION)
        study = ww.Study.open("load", journal=journal)
        for _ in range(clients * each):
            study.ask()
        call(url, "GET", "/api/studies/load")
        began = time.perf_counter()
        sent = [[telling(id) for id in range(n * each, (n + 1) * each)] for n in range(clients)]
        waited = sorted(asyncio.run(load(url, sent)))
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


# -- tell and status on connections that are kept ------------------------------------------------------------------------


def latency(journal: str, fitters: int | None) -> dict[str, Any]:
    import windward as ww

    found: dict[str, Any] = {}
    with serving(journal, fitters) as url:
        for name in ("load", "small"):
            call(url, "POST", "/api/studies", {**DECLARATION, "name": name})
        study, small = (ww.Study.open(name, journal=journal) for name in ("load", "small"))
        for _ in range(sum(clients * each for clients, each in CLIENTS) + 10):
            study.ask()
        for n in range(10):
            small.add({"order": n / 10}, float(n), context={"demand": 0.5})
        asyncio.run(load(url, [[telling(id)] for id in range(10)]))  # the study is open
        first = 10
        for clients, each in CLIENTS:
            sent = [[telling(first + n * each + k) for k in range(each)] for n in range(clients)]
            first += clients * each
            found[f"tell, {clients} clients"] = quantiles(asyncio.run(load(url, sent)))
            status = [[request_of("GET", "/api/studies/small")] * each for _ in range(clients)]
            found[f"status, {clients} clients"] = quantiles(asyncio.run(load(url, status)))
    return found


def quantiles(waited: list[float]) -> dict[str, float]:
    waited = sorted(waited)
    p50, p95 = waited[len(waited) // 2], waited[int(0.95 * len(waited))]
    return {"requests": len(waited), "p50 ms": round(1e3 * p50, 1), "p95 ms": round(1e3 * p95, 1)}


# -- an ask beside other work --------------------------------------------------------------------------------------------


def asks(journal: str, fitters: int | None, repeats: int) -> dict[str, Any]:
    with serving(journal, fitters) as url:
        readers = {name: made(url, journal, name, SMALL) for name in ("alone", "quiet", "beside", "page", "other")}
        readers["large"] = made(url, journal, "large", LARGE)
        for _ in range(3):  # every process has them open and fitted, whichever takes which
            for name in ("alone", "quiet", "beside", "page"):
                together([partial(timed_ask, url, name)] * 2)
            together([partial(call, url, "GET", "/api/studies/other/report")] * 2)
        found: dict[str, Any] = {"alone": [timed_ask(url, "alone") for _ in range(repeats)], "beside reports": []}
        for n in range(repeats):
            # A new revision: no report of it is kept.
            call(url, "POST", "/api/studies/other/trials/0/amend", {"value": float(n)})
            report = partial(read_or_be_refused, url, "/api/studies/other/report", readers["other"])
            found["beside reports"].append(beside([report] * REPORTS, partial(timed_ask, url, "quiet")))
        figures = [f"/api/studies/page/{path}" for path in ("recommendation", *(f"figures/{kind}" for kind in FIGURES))]
        looks = [partial(read_or_be_refused, url, path, readers["page"]) for path in figures]
        found["beside its own page"] = [beside(looks, partial(timed_ask, url, "page")) for _ in range(repeats)]
        long: list[dict[str, float]] = []
        found["beside a large ask"] = [
            beside([lambda: long.append(timed_ask(url, "large"))], partial(timed_ask, url, "beside"))
        ]
        return {**found, "the large ask": long}


def made(url: str, journal: str, name: str, trials: int) -> str:
    """Make a study with the default policy and some history; return its token for reading."""
    import windward as ww

    declared = {**DECLARATION, "name": name, "policy": None}
    declared["decision"] = {each: {"part": "Real", "low": 0, "high": 1} for each in ("order", "price")}
    answer = call(url, "POST", "/api/studies", {key: value for key, value in declared.items() if value is not None})
    study, chance = ww.Study.open(name, journal=journal), random.Random(0)
    for _ in range(trials):
        order, price, demand = chance.random(), chance.random(), chance.random()
        value = min(order, demand) * price - 0.4 * order + 0.05 * chance.gauss(0, 1)
        study.add({"order": order, "price": price}, value, context={"demand": demand})
    token = answer["tokens"]["read"]
    assert isinstance(token, str)
    return token


def timed_ask(url: str, name: str) -> dict[str, float]:
    """Ask until there is an answer, as a client does that heeds Retry-After."""
    began, refused = time.perf_counter(), 0
    while True:
        try:
            call(url, "POST", f"/api/studies/{name}/ask", {})
            return {"seconds": round(time.perf_counter() - began, 2), "refused": refused}
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            refused += 1
            time.sleep(float(error.headers["retry-after"]))


def read_or_be_refused(url: str, path: str, token: str) -> None:
    try:
        call(url, "GET", path, token=token)
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise


def beside(work: list[Callable[[], Any]], timed: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return what `timed` returns while other calls are under way."""
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    time.sleep(0.5)  # they have arrived
    found = timed()
    for thread in threads:
        thread.join()
    return found


def together(work: list[Callable[[], Any]]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", choices=["tells", "latency", "asks"], default="tells")
    parser.add_argument("--journal", help="database URL; a new SQLite file where not given")
    parser.add_argument("--fitters", type=int, help="fitting processes; the service's default where not given")
    parser.add_argument("--clients", type=int, default=200, help="of tells")
    parser.add_argument("--each", type=int, default=10, help="tells per client")
    parser.add_argument("--repeats", type=int, default=3, help="of each ask, except beside the large one")
    parser.add_argument("--label", default="", help="what is measured, such as a version")
    parser.add_argument("--append", type=Path, help="JSON file to add the result to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        journal = options.journal or f"sqlite:///{folder}/load.db"
        if options.scenario == "tells":
            found = tells(journal, options.fitters, options.clients, options.each)
        elif options.scenario == "latency":
            found = latency(journal, options.fitters)
        else:
            found = asks(journal, options.fitters, options.repeats)
    result = {
        "scenario": options.scenario,
        "label": options.label,
        "fitters": options.fitters or "default",
        **found,
        "machine": described(),
    }
    print(json.dumps(result, indent=2))
    if options.append is not None:
        before = json.loads(options.append.read_text()) if options.append.exists() else []
        options.append.write_text(json.dumps([*before, result], indent=2) + "\n")


if __name__ == "__main__":
    main()
