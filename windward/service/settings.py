"""How a service runs."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field

from windward.basics import arguments
from windward.basics.errors import ArgumentError

# Shorter ones can be guessed; `secrets.token_urlsafe()` makes 43 characters.
SHORTEST_TOKEN = 20
# One study holds at most half of the fitters, so that with two there is always one for the others.
FEWEST_FITTERS = 2


@dataclass(frozen=True)
class Settings:
    """Where studies are kept, who administers, and the limits."""

    journal: str
    admin_token: str = field(repr=False)
    fitters: int = FEWEST_FITTERS  # processes that fit; each holds torch, some 300 MB
    most_waiting: int = 128  # fits of one class that may wait or run; one study may take half of these places
    memory: int = 2**30  # bytes that one fit may take; more is refused before it starts
    largest_body: int = 1_000_000  # bytes of a request
    most_numbers: int = 100_000  # the largest whole number in a policy: counts of points, starts, samples
    most_parameters: int = 200  # decisions and contexts, every choice of a category counting as one
    header_seconds: float = 10.0  # until the headers of a request are complete
    body_seconds: float = 30.0  # until the body of a request is complete
    wrong_tokens: int = 10  # wrong tokens that an address may send at once; every 6 s it may send one more
    plugins: bool = False  # whether requests and logs may name parts of installed packages

    def __post_init__(self) -> None:
        if not isinstance(self.journal, str) or not self.journal:
            raise ArgumentError(f"Settings(journal={self.journal!r}): give a database URL such as 'sqlite:///shop.db'.")
        if (
            not isinstance(self.admin_token, str)
            or len(self.admin_token) < SHORTEST_TOKEN
            or not _sendable(self.admin_token)
        ):
            raise ArgumentError(
                f"Settings(admin_token=...): an admin token has at least {SHORTEST_TOKEN} printable ASCII characters and "
                "no spaces; make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        arguments.whole("Settings", "fitters", self.fitters, low=FEWEST_FITTERS)
        for name in ("most_waiting", "memory", "largest_body", "most_numbers", "most_parameters", "wrong_tokens"):
            arguments.whole("Settings", name, getattr(self, name), low=1)
        for name in ("header_seconds", "body_seconds"):
            arguments.number("Settings", name, getattr(self, name), low=0.0, open_low=True)
        arguments.flag("Settings", "plugins", self.plugins)


def new_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


def is_loopback(host: str) -> bool:
    """Return whether a host to bind can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name: who knows where it leads
        return False


def _sendable(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token
