"""Slow clients, wrong tokens, and how fast an answer goes out."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import closing, contextmanager

import pytest
import uvicorn
from fastapi.testclient import TestClient
from service_helpers import ADMIN, bearer

from windward.service import access, fits
from windward.service.app import create_app
from windward.service.gate import MOST_REMEMBERED, Gate
from windward.service.run import bound, configured
from windward.service.settings import Settings

HEADER_SECONDS, BODY_SECONDS = 0.4, 0.6


def test_answers_do_not_wait_for_acknowledgements():
    async def accepted():
        taken = asyncio.get_running_loop().create_future()

        class Taking(asyncio.Protocol):
            def connection_made(self, transport):
                taken.set_result(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

        serving = await asyncio.get_running_loop().create_server(Taking, sock=bound("127.0.0.1", 0))
        async with serving:
            _, writer = await asyncio.open_connection(*serving.sockets[0].getsockname())
            writer.close()
            return await taken

    assert asyncio.run(accepted()) != 0


# -- slow clients --------------------------------------------------------------------------------------------------------


class NoFitter:
    """A fitting process that is not there: nothing is fitted here."""

    last_study = None

    def __init__(self, url, memory, *, plugins):
        pass

    def close(self):
        pass


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a service in a thread, with short limits."""
    url = f"sqlite:///{tmp_path_factory.mktemp('limits')}/x.db"
    settings = Settings(url, ADMIN, header_seconds=HEADER_SECONDS, body_seconds=BODY_SECONDS)
    with pytest.MonkeyPatch.context() as patch, closing(bound("127.0.0.1", 0)) as listening:
        patch.setattr(fits, "Fitter", NoFitter)
        server = uvicorn.Server(configured(create_app(settings), settings))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


@contextmanager
def connected(port):
    with closing(socket.create_connection(("127.0.0.1", port), timeout=10)) as connection:
        yield connection


def drip(connection, data, seconds, pause=0.05):
    """Send a byte now and then, for so long or until the connection is closed; return all that comes and when it ended."""
    began, connection_gone = time.monotonic(), False
    connection.settimeout(pause)
    came = b""
    while not connection_gone and time.monotonic() - began < seconds:
        try:
            connection.sendall(data[:1])
            data = data[1:] or b"x"
            piece = connection.recv(65536)
            came += piece
            connection_gone = not piece
        except TimeoutError:
            continue
        except OSError:
            connection_gone = True
    return came, time.monotonic() - began, connection_gone


def answer_of(connection, came=b""):
    """Read one answer with a content-length, after `came`; return its head, its body and what came after it."""
    connection.settimeout(10)

    def more():
        piece = connection.recv(65536)
        assert piece, f"the connection was closed after {came!r}"
        return piece

    while b"\r\n\r\n" not in came:
        came += more()
    head, _, came = came.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    while len(came) < length:
        came += more()
    return head, came[:length], came[length:]


def test_headers_that_come_slowly_are_refused(port):
    with connected(port) as connection:
        came, taken, gone = drip(connection, b"GET /health HTTP/1.1\r\nhost: here\r\nx-slow: ", 10 * HEADER_SECONDS)
    assert gone and taken < 5 * HEADER_SECONDS
    head, _, body = came.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ") and b"headers must be complete within" in body
    assert json.loads(body)["error"] and b"content-security-policy" in head and b"nosniff" in head


def test_a_connection_that_says_nothing_is_closed(port):
    with connected(port) as connection:
        began = time.monotonic()
        assert connection.recv(100) == b""
        assert 0.5 * HEADER_SECONDS < time.monotonic() - began < 5 * HEADER_SECONDS


def test_the_second_request_of_a_connection_has_the_same_limit(port):
    request = b"GET /health HTTP/1.1\r\nhost: here\r\n\r\n"
    with connected(port) as connection:
        connection.sendall(request)
        assert answer_of(connection)[0].startswith(b"HTTP/1.1 200 ")
        time.sleep(1.5 * HEADER_SECONDS)  # idle: uvicorn's own limit, of seconds, holds
        connection.sendall(request)
        assert answer_of(connection)[0].startswith(b"HTTP/1.1 200 ")
        came, taken, gone = drip(connection, request[:-3] + b"\r\nx-slow: ", 10 * HEADER_SECONDS)
    assert gone and taken < 5 * HEADER_SECONDS and came.startswith(b"HTTP/1.1 408 ")


HEAD = (
    b"POST /api/studies HTTP/1.1\r\nhost: here\r\nauthorization: Bearer %s\r\n"
    b"content-type: application/json\r\ncontent-length: 10000\r\n\r\n"
)


@pytest.mark.parametrize("token", [ADMIN, "nobody's"])
def test_bodies_that_come_slowly_are_refused(port, token):
    with connected(port) as connection:
        connection.sendall(HEAD % token.encode())
        came, taken, gone = drip(connection, b'{"name": "', 10 * BODY_SECONDS)
    assert gone and taken < 5 * BODY_SECONDS
    assert came.startswith(b"HTTP/1.1 408 ") and b"a body must arrive within" in came


def test_the_rest_of_a_request_that_was_answered_is_not_awaited_for_ever(port):
    with connected(port) as connection:
        connection.sendall((HEAD % ADMIN.encode()).replace(b"10000", b"9000000"))  # refused before its body comes
        came, taken, gone = drip(connection, b'{"name": "', 10 * BODY_SECONDS)
    assert gone and taken < 5 * BODY_SECONDS and came.startswith(b"HTTP/1.1 413 ")


def test_what_is_no_http_gets_json_and_headers(port):
    with connected(port) as connection:
        connection.sendall(b"\x16\x03\x01 TLS perhaps\r\n\r\n")
        head, body, _ = answer_of(connection)
    assert head.startswith(b"HTTP/1.1 400 ") and json.loads(body)["error"] and b"x-frame-options: DENY" in head


def test_requests_sent_together_are_answered_in_turn(port):
    request = b"GET /health HTTP/1.1\r\nhost: here\r\n\r\n"
    with connected(port) as connection:
        connection.sendall(request + request + request[:10])
        came = b""
        for _ in range(2):  # both may come at once
            head, _, came = answer_of(connection, came)
            assert head.startswith(b"HTTP/1.1 200 ")
        connection.sendall(request[10:])
        assert answer_of(connection, came)[0].startswith(b"HTTP/1.1 200 ")


# -- wrong tokens --------------------------------------------------------------------------------------------------------


@pytest.fixture
def strict(tmp_path, monkeypatch):
    monkeypatch.setattr(fits, "Fitter", NoFitter)
    settings = Settings(f"sqlite:///{tmp_path}/x.db", ADMIN)
    with TestClient(create_app(settings), raise_server_exceptions=False) as made:
        yield made


def test_wrong_tokens_are_limited_by_address(strict, monkeypatch):
    looked_up = []
    identify = access.TokenStore.identify
    monkeypatch.setattr(
        access.TokenStore, "identify", lambda self, token: looked_up.append(token) or identify(self, token)
    )
    assert strict.get("/api/me").status_code == 401  # no token at all: nothing is guessed
    statuses = [strict.get("/api/me", headers=bearer(f"ww_{n}_x")).status_code for n in range(15)]
    assert statuses == [401] * 10 + [429] * 5 and len(looked_up) == 10
    refused = strict.get("/api/me", headers=bearer(ADMIN))  # not seen yet: it could be a guess
    assert refused.status_code == 429 and 1 <= int(refused.headers["retry-after"]) <= 6
    assert "too many wrong tokens" in refused.json()["error"] and refused.headers["x-frame-options"] == "DENY"
    elsewhere = TestClient(strict.app, client=("198.51.100.7", 1))
    assert elsewhere.get("/api/me", headers=bearer(ADMIN)).status_code == 200
    assert strict.get("/api/me", headers=bearer(ADMIN)).status_code == 200  # seen valid just now, wherever


def test_a_bad_client_does_not_lock_out_the_others_behind_its_proxy(strict):
    good = bearer(ADMIN)
    assert strict.get("/api/me", headers=good).status_code == 200
    for n in range(20):
        strict.get("/api/me", headers=bearer(f"ww_{n}_x"))
    assert strict.get("/api/me", headers=bearer("ww_0_y")).status_code == 429
    assert strict.get("/api/me", headers=good).status_code == 200


def test_the_bucket_fills_again_and_valid_tokens_are_forgotten():
    now = [1000.0]
    gate = Gate(10, lambda: now[0])
    gate.valid("good")
    for n in range(10):
        assert gate.seconds_to_wait("192.0.2.1", f"bad {n}") == 0.0
        gate.wrong("192.0.2.1", f"bad {n}")
    assert gate.seconds_to_wait("192.0.2.1", "bad") == pytest.approx(6.0)
    assert gate.seconds_to_wait("192.0.2.2", "bad") == 0.0 and gate.seconds_to_wait("192.0.2.1", "good") == 0.0
    now[0] += 6.0
    assert gate.seconds_to_wait("192.0.2.1", "bad") == 0.0
    gate.wrong("192.0.2.1", "bad")
    assert gate.seconds_to_wait("192.0.2.1", "bad") > 0.0
    now[0] += 590.0
    assert gate.seconds_to_wait("192.0.2.1", "bad") == 0.0  # full again, and no fuller than full
    for _ in range(10):
        gate.wrong("192.0.2.1", "bad")
    assert gate.seconds_to_wait("192.0.2.1", "bad") > 0.0 and gate.seconds_to_wait("192.0.2.1", "good") == 0.0
    now[0] += 5.0
    assert gate.seconds_to_wait("192.0.2.1", "good") > 0.0  # ten minutes have passed
    gate.valid("good")
    gate.wrong("192.0.2.1", "good")  # revoked since
    assert gate.seconds_to_wait("192.0.2.1", "good") > 0.0


def test_one_client_has_many_addresses_of_ipv6_and_memory_is_bounded():
    gate = Gate(1, lambda: 0.0)
    gate.wrong("2001:db8::1", "bad")
    assert (
        gate.seconds_to_wait("2001:db8::ffff:1", "bad") > 0.0 and gate.seconds_to_wait("2001:db8:0:1::1", "bad") == 0.0
    )
    gate.wrong("::ffff:192.0.2.1", "bad")
    assert gate.seconds_to_wait("192.0.2.1", "bad") > 0.0
    for n in range(MOST_REMEMBERED + 50):
        gate.wrong(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", "bad")
        gate.valid(f"good {n}")
    assert len(gate._buckets) == len(gate._valid) == MOST_REMEMBERED


def test_the_schema_takes_a_token(strict):
    refused = strict.get("/openapi.json")
    assert refused.status_code == 401 and "paths" not in refused.text
    assert strict.get("/openapi.json", headers=bearer(ADMIN)).json()["paths"]
    assert strict.get("/health").status_code == 200 and strict.get("/").status_code == 200


def test_an_old_token_that_comes_again_and_again_locks_nobody_out():
    now = [0.0]
    gate = Gate(10, lambda: now[0])
    for _ in range(200):  # a client that polls with a token of before
        if not gate.known_wrong("ww_old_token"):
            gate.wrong("10.0.0.1", "ww_old_token")
        now[0] += 0.5
    assert gate.seconds_to_wait("10.0.0.1", "never seen before") == 0.0
    for guess in range(200):
        gate.wrong("10.0.0.1", f"guess {guess}")
    assert gate.seconds_to_wait("10.0.0.1", "never seen before") > 0.0
