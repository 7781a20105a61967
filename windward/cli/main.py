"""The command line: a thin group whose commands are loaded when they are called.

Exit codes: 0 done, 1 the request was wrong (the message is on stderr), 2 usage, 3 the storage cannot be reached.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from windward.basics.errors import JournalError, MissingDependency, StudyExists, UnknownStudy, WindwardError

try:
    import click
except ImportError as error:  # pragma: no cover - exercised in a subprocess without click
    raise MissingDependency(
        "the windward command needs click and rich: pip install 'click>=8.1' 'rich>=13'."
    ) from error

from windward.basics.errors import did_you_mean
from windward.basics.rephrase import as_command
from windward.version import __version__

# Where each command is. The modules import torch and the like inside their functions: `--help` waits for neither.
COMMANDS = {
    "new": "windward.cli.studies:new",
    "status": "windward.cli.studies:status",
    "trials": "windward.cli.studies:trials",
    "declare": "windward.cli.studies:declare",
    "import": "windward.cli.history:import_history",
    "ask": "windward.cli.rounds:ask",
    "reveal": "windward.cli.rounds:reveal",
    "tell": "windward.cli.rounds:tell",
    "lose": "windward.cli.rounds:lose",
    "amend": "windward.cli.rounds:amend",
    "note": "windward.cli.rounds:note",
    "recommend": "windward.cli.deciding:recommend",
    "compare": "windward.cli.deciding:compare",
    "whatif": "windward.cli.asking:whatif",
    "settled": "windward.cli.deciding:settled",
    "by-context": "windward.cli.asking:by_context",
    "importance": "windward.cli.asking:importance",
    "check": "windward.cli.deciding:check",
    "report": "windward.cli.deciding:report",
    "delete": "windward.cli.studies:delete",
    "serve": "windward.cli.serving:serve",
    "bench": "windward.bench.cli:bench",
    "demo": "windward.cli.deciding:demo",
}
WRONG, UNREACHABLE = 1, 3
STUDY = "windward.study"


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are needed."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one may be meant."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], COMMANDS)}.")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what Windward refuses is a line on stderr and an exit code, never a traceback."""
        try:
            return super().invoke(ctx)
        except WindwardError as error:
            # The command has left its study's name in the context.
            click.echo(f"windward: {as_command(str(error), ctx.meta.get(STUDY))}", err=True)
            # A log that was read, and holds what cannot be made of it here, was reached.
            read = isinstance(error, UnknownStudy | StudyExists) or isinstance(error.__cause__, WindwardError)
            reached = not isinstance(error, JournalError) or read
            sys.exit(WRONG if reached else UNREACHABLE)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="windward")
def main() -> None:
    """Windward: decisions made before conditions are known and judged by results that come late.

    Studies are kept in a journal, a database named by WINDWARD_JOURNAL or by --journal, an option of each command: it stands
    after the command's name, as in `windward ask shop --journal sqlite:///shop.db`. Exit codes: 0 done, 1 the request was
    wrong, 2 usage, 3 the storage cannot be reached.
    """
