"""How a service runs."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field

from windward import check
from windward.errors import ArgumentError

# Shorter ones can be guessed; `secrets.token_urlsafe()` makes 43 characters.
SHORTEST_TOKEN = 20


@dataclass(frozen=True)
class Settings:
    """Where studies are kept, who administers, and the limits."""

    journal: str
    admin_token: str = field(repr=False)
    fitters: int = 1  # processes that fit; each holds torch, some 300 MB
    most_waiting: int = 64  # asks, recommendations and figures that may queue for them
    memory: int = 2**30  # bytes that one fit may take; more is refused before it starts
    largest_body: int = 1_000_000  # bytes of a request
    most_numbers: int = 100_000  # the largest whole number in a policy: counts of points, starts, samples
    most_parameters: int = 200  # decisions and contexts, every choice of a category counting as one

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
        for name in ("fitters", "most_waiting", "memory", "largest_body", "most_numbers", "most_parameters"):
            check.whole("Settings", name, getattr(self, name), low=1)


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
