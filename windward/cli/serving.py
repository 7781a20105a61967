"""`windward serve`: studies over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from windward.basics.errors import ArgumentError, MissingDependency
from windward.cli.common import echo_json, journal_option, json_option, say


@click.command(short_help="Serve studies over HTTP, with a page.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to bind; others than loopback need a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one.")
@click.option(
    "--admin-token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the admin token; else WINDWARD_ADMIN_TOKEN, else one is made for this run.",
)
@click.option(
    "--fitters",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    help="Processes that fit; a study holds up to half.",
)
@click.option("--memory", type=click.IntRange(1), default=1024, show_default=True, help="MiB that one fit may take.")
@click.option(
    "--largest-body", type=click.IntRange(1), default=1_000_000, show_default=True, help="Bytes of a request."
)
@click.option("--plugins", is_flag=True, help="Allow parts of installed packages in requests and in logs.")
@journal_option
@json_option
def serve(
    host: str,
    port: int,
    admin_token_file: Path | None,
    fitters: int,
    memory: int,
    largest_body: int,
    plugins: bool,
    journal: str,
    as_json: bool,
) -> None:
    """Serve studies over HTTP, with a page to look at them.

    Bound to this machine alone unless told otherwise. Stop it with Ctrl-C or SIGTERM: what runs may finish first.

    \b
    Example: WINDWARD_ADMIN_TOKEN=... windward serve --journal sqlite:///shop.db --port 8080
    """
    given = _given_token(admin_token_file)
    try:
        from windward.service.fitter import warm

        warm()  # beside what this process loads now
        from windward.service.run import check_binding
        from windward.service.run import serve as serving
        from windward.service.settings import Settings, new_token
    except ImportError as error:
        raise MissingDependency("windward serve needs FastAPI and uvicorn: pip install 'windward[service]'.") from error

    check_binding(host, given is not None)
    token = given or new_token()
    settings = Settings(
        journal, token, fitters=fitters, memory=memory * 2**20, largest_body=largest_body, plugins=plugins
    )

    def ready(address: str) -> None:
        import sqlalchemy

        place = sqlalchemy.make_url(journal).render_as_string(hide_password=True)
        # After the hash: a browser keeps it to itself.
        url = address if given else f"{address}/#token={token}"
        if as_json:
            echo_json({"url": address, "journal": place, "admin_token": None if given else token})
        else:
            say(f"Windward serves {place} at {url}")
            if not given:
                say("That token is the admin's, for this run alone; set WINDWARD_ADMIN_TOKEN to choose one.")

    serving(settings, host, port, ready)


def _given_token(file: Path | None) -> str | None:
    import os

    if file is None:
        return os.environ.get("WINDWARD_ADMIN_TOKEN") or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"--admin-token-file {file}: cannot be read: {error}.") from error
