"""What needs a package that a plain `pip install windward` does not bring, and the extra that its error must name.

Tried with imports blocked (test_surface.py), and by `make package`, as a program, where the packages really are missing.
"""

from __future__ import annotations

import sys

import windward as ww

PLAIN = "ww.Study(ww.Space({'a': ww.Real(0, 1)}))"
FIGURE = "from pathlib import Path; from windward.bench import figures; figures.{}([], 'title', Path('x'))"
NEEDS = (
    (f"{PLAIN}.dataframe()", "data"),
    (f"from windward import plots; plots.history({PLAIN})", "plots"),
    ("from windward.present.plots import png; png(None, 'x.png')", "plots"),
    (f"from windward.present.report import report_html; report_html({PLAIN})", "plots"),
    ("ww.SqlJournal('postgresql://me@host/shop')", "cluster"),
    ("ww.SqlJournal('postgresql+psycopg://me@host/shop')", "cluster"),
    ("from windward.cli.serving import serve; serve.main([], standalone_mode=False)", "service"),
    ("import windward.integrations.optuna", "optuna"),
    ("import windward.integrations.botorch", "botorch"),
    ("from windward.bench.problems import problem; problem('svm-wine')", "bench"),
    (FIGURE.format("draw_png"), "bench"),
    (FIGURE.format("draw_html"), "bench"),
)
PACKAGES = (
    *("pandas", "plotly", "kaleido", "psycopg", "psycopg2", "fastapi", "uvicorn", "optuna", "botorch", "gpytorch"),
    *("sklearn", "matplotlib", "distributed", "cvxpy"),
)


def failures() -> list[str]:
    """Return what does not end in a `MissingDependency` with the command that brings the package."""
    found = []
    for code, extra in NEEDS:
        command = f"pip install 'windward[{extra}]'"
        try:
            exec(code, {"ww": ww})
            said = "no error"
        except ww.MissingDependency as error:
            said = str(error)
            if command in said:
                continue
        except Exception as error:
            said = repr(error)
        found.append(f"{code}: must say {command}; got {said}")
    return found


if __name__ == "__main__":
    wrong = failures()
    print("\n".join(wrong) or f"{len(NEEDS)} missing packages are named with their extras")
    sys.exit(bool(wrong))
