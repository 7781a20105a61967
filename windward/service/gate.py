"""How many wrong tokens an address may send.

Each address has a bucket of wrong tokens; when it is empty, a token from there is not looked up until some time has passed.
Tokens that were valid a short while ago pass all the same, and a wrong token that comes again is known and costs nothing: a
client that goes on with an old token must not lock out the others behind its proxy. Whoever guesses sends ever new ones.
"""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

Key = TypeVar("Key")
Entry = TypeVar("Entry")

# Seconds after which an empty bucket takes one more wrong token.
SECONDS_EACH = 6.0
# How long a token that was valid passes whatever else its address sends.
REMEMBERED_SECONDS = 600.0
# How long a wrong token is answered without being looked up or counted again.
WRONG_SECONDS = 60.0
# Addresses and tokens in memory, some 200 bytes each; beyond it the longest unused are forgotten.
MOST_REMEMBERED = 10_000


class Gate:
    """Buckets of wrong tokens by address. Lives in the event loop alone."""

    def __init__(self, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._at_once = at_once
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what was left, and when
        self._valid: OrderedDict[bytes, float] = OrderedDict()  # when a token, by its hash, was valid last
        self._wrong: OrderedDict[bytes, float] = OrderedDict()  # when one was looked up and found wrong

    def seconds_to_wait(self, address: str, token: str) -> float:
        """Return after how many seconds a token may be looked up: 0 means now."""
        seen = self._valid.get(_hash(token))
        if seen is not None and self._clock() - seen <= REMEMBERED_SECONDS:
            return 0.0
        return max(0.0, 1.0 - self._left(_network(address))) * SECONDS_EACH

    def known_wrong(self, token: str) -> bool:
        """Whether a token was found wrong a moment ago."""
        seen = self._wrong.get(_hash(token))
        return seen is not None and self._clock() - seen <= WRONG_SECONDS

    def valid(self, token: str) -> None:
        """Remember that a token is valid."""
        _put(self._valid, _hash(token), self._clock())

    def wrong(self, address: str, token: str) -> None:
        """Count a wrong token."""
        self._valid.pop(_hash(token), None)
        _put(self._wrong, _hash(token), self._clock())
        network = _network(address)
        # Below 0: those that were looked up at the same time count too. Not far below, so that a burst is soon forgiven.
        left = max(self._left(network) - 1.0, -float(self._at_once))
        _put(self._buckets, network, (left, self._clock()))

    def _left(self, network: str) -> float:
        left, since = self._buckets.get(network, (float(self._at_once), 0.0))
        return min(float(self._at_once), left + (self._clock() - since) / SECONDS_EACH)


def _put(entries: OrderedDict[Key, Entry], key: Key, entry: Entry) -> None:
    entries[key] = entry
    entries.move_to_end(key)
    while len(entries) > MOST_REMEMBERED:
        entries.popitem(last=False)


def _network(address: str) -> str:
    """Return what counts as one client: an IPv4 address, the 64 first bits of an IPv6 one, of which each client has many."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # a test's client has a name
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
