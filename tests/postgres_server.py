"""A private PostgreSQL server in a temporary folder, for tests and benchmarks; nothing on the machine is touched.

The programs are those on the path, or the newest under /usr/lib/postgresql. PostgreSQL refuses to run as root: then it
runs as the user postgres, or nobody.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from types import TracebackType

USERS = ("postgres", "nobody")


def programs() -> Path | None:
    """Return the folder that has initdb and pg_ctl, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    installed = Path("/usr/lib/postgresql")
    if installed.is_dir():
        folders += sorted((version / "bin" for version in installed.iterdir()), key=_version, reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


class Server:
    """`with Server() as server: SqlJournal(server.url)`; without `flush` it would not survive a power cut, and is faster."""

    def __init__(self, *, flush: bool = True) -> None:
        folder = programs()
        if folder is None:
            raise RuntimeError("no PostgreSQL: initdb and pg_ctl are neither on the path nor under /usr/lib/postgresql")
        self._programs = folder
        self._user = next(name for name in USERS if _exists(name)) if os.geteuid() == 0 else None
        # Directly under /tmp: the path of a socket has at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="windward-pg-", dir="/tmp"))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        os.chmod(self.folder, 0o755)
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        with (Path(self._data) / "postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 200\n")
            settings.write("" if flush else "fsync = off\n")
        self.start()

    @property
    def url(self) -> str:
        """The URL of a SQL journal on this server."""
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}"

    def database(self) -> str:
        """Return the URL of a new, empty database."""
        name = f"db{uuid.uuid4().hex}"
        self.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement as the superuser, outside any transaction, and return its rows."""
        import psycopg

        with psycopg.connect(f"host={self.folder} user=postgres dbname=postgres", autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._run("pg_ctl", "-D", self._data, "-l", str(self.folder / "log"), "-w", "-t", "60", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: "fast" ends every session, "immediate" is a crash that the next start recovers from."""
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "-t", "60", "stop")

    def close(self) -> None:
        """Stop the server and remove its folder."""
        if (Path(self._data) / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, program: str, *arguments: str) -> None:
        # Output goes to a file: a server keeps its parent's pipes open for as long as it lives.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                user=self._user,
                group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
                extra_groups=None if self._user is None else [],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=120,
                start_new_session=True,  # Ctrl-C in a test run is not for the server
                check=False,
            )
            said.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} {' '.join(arguments)}: {said.read().decode(errors='replace')[-2000:]}")


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", folder.parent.name))


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
