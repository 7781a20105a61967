"""A `windward` command for shell scripts that does not load torch each time.

`python warm_windward.py SOCKET` loads the command line once and waits. The command that `command` writes sends it the
arguments, the folder, the environment and the three standard files; a forked process does what `python -m windward` would,
and its exit code comes back. Every command is a process of its own, as a user's is; only the imports are shared.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# -S, -E and few imports: it starts in a hundredth of what torch takes.
CLIENT = """#!{python} -SE
import json, os, socket, sys
said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as wire:
    wire.connect({address!r})
    socket.send_fds(wire, [len(said).to_bytes(8, "big")], [0, 1, 2])
    wire.sendall(said)
    sys.exit(int(wire.recv(8)))
"""


@contextmanager
def command(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Write the command `windward` into a folder; it works until the end of the block."""
    address = str(folder / "warm")
    process = subprocess.Popen([sys.executable, __file__, address], env=environment)
    try:
        deadline = time.monotonic() + 60
        while not Path(address).exists():
            assert process.poll() is None and time.monotonic() < deadline, "the warm process did not start"
            time.sleep(0.02)
        (folder / "windward").write_text(CLIENT.format(python=sys.executable, address=address))
        (folder / "windward").chmod(0o755)
        yield
    finally:
        process.terminate()
        process.wait(10)


def serve(address: str) -> None:
    """Do one command after another, each in a fork."""
    # What a command loads first; forks share it.
    import coarse_figures  # noqa: F401

    import windward._public
    import windward.cli.deciding
    import windward.cli.history
    import windward.cli.rounds
    import windward.cli.studies
    import windward.journal.sql
    import windward.suggest.suggest  # noqa: F401

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address + ".new")
        door.listen()
        os.rename(address + ".new", address)  # it is there when it can be called
        while True:
            wire, _ = door.accept()
            with wire:
                size, files, _, _ = socket.recv_fds(wire, 8, 3)
                said = b""
                while len(said) < int.from_bytes(size, "big"):
                    said += wire.recv(1 << 16)
                child = os.fork()
                if child == 0:
                    door.close()
                    wire.close()
                    run(*json.loads(said), files)
                for file in files:
                    os.close(file)
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                wire.sendall(str(code if code >= 0 else 128 - code).encode())


def run(arguments: list[str], folder: str, environment: dict[str, str], files: list[int]) -> None:
    """Be the command: never return."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["windward", *arguments]
    code = 0
    try:
        from windward.cli.main import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
