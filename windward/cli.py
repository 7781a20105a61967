"""The command line: `windward demo` and `windward bench`."""

from __future__ import annotations

from windward.errors import MissingDependency

try:
    import click
except ImportError as error:  # pragma: no cover - exercised in a subprocess without click
    raise MissingDependency(
        "the windward command needs click and rich: pip install 'click>=8.1' 'rich>=13'."
    ) from error

from windward.bench.cli import bench
from windward.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="windward")
def main() -> None:
    """Windward: decisions made before conditions are known and judged by results that come late."""


@main.command()
@click.option("--rounds", type=click.IntRange(min=11), default=40, show_default=True, help="Days to sell.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of demand and decisions.")
def demo(rounds: int, seed: int) -> None:
    """Order stock before demand is known: SBO-KDE beside plain GP-UCB.

    Example: windward demo --rounds 40
    """
    from windward.demo import run_demo  # here: it imports torch, which --help need not wait for

    run_demo(rounds, seed)


main.add_command(bench)
