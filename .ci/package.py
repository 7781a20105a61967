"""Build the wheel and the sdist, and use them as a stranger would: `make package`.

The wheel must hold the package's own files and nothing else, the sdist must build the same wheel, and an environment with
neither this checkout nor any extra must import it, run a study, and name the extra for whatever is missing.
"""

from __future__ import annotations

import argparse
import email
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What the report and the service send to a browser.
PAGES = ("index.html", "page.css", "page.js", "report.html")
FEW_ROUNDS = """
import sys, tempfile
import windward as ww
heavy = [name for name in ("sqlalchemy", "click", "rich", "torch") if name in sys.modules]
assert not heavy, f"import windward also imports {heavy}"
assert sys.prefix in ww.__file__, f"not the installed one: {ww.__file__}"
space = ww.Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})
policy = ww.Policy(context_model=ww.KernelDensity(16), design=ww.Sobol(3))
with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{folder}/shop.db"
    study = ww.Study(space, policy, journal=url, name="shop")
    study.run(lambda s: ww.Result(-(s.decision["order"] - 0.4) ** 2, context={"demand": 0.1 * s.id}), 5, progress=False)
    kept = ww.Study.open("shop", journal=url)
    assert kept.trials.counts() == study.trials.counts() and len(kept.trials) == 5
    print("5 rounds; recommended:", study.recommend().decision)
"""


def refuse(reason: str) -> None:
    """End with what is wrong."""
    sys.exit(f"package: {reason}")


def call(*words: object, **options: object) -> str:
    """Run a command; its output, or an end with all it said."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode:
        refuse(f"{' '.join(map(str, words))[:300]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel; its RECORD of hashes says nothing more."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/RECORD")}


def check_wheel(wheel: Path) -> None:
    """The package's files as git has them, the metadata with every extra, and nothing else."""
    found = contents(wheel)
    own = {name for name in found if ".dist-info/" not in name}
    tracked = set(call("git", "ls-files", "windward", cwd=ROOT).splitlines())
    if own != tracked:
        refuse(f"the wheel lacks {sorted(tracked - own)} and must not hold {sorted(own - tracked)}")
    needed = {"windward/py.typed", *(f"windward/present/pages/{name}" for name in PAGES)}
    if not needed <= own:
        refuse(f"the wheel lacks {sorted(needed - own)}")
    about = {name.split(".dist-info/")[1]: text for name, text in found.items() if ".dist-info/" in name}
    if set(about) != {"METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE"}:
        refuse(f"the wheel's metadata are {sorted(about)}")
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    extras = set(email.message_from_bytes(about["METADATA"]).get_all("Provides-Extra", []))
    if extras != declared:
        refuse(f"the wheel has the extras {sorted(extras)}, pyproject.toml {sorted(declared)}")


def check_sdist(sdist: Path) -> None:
    """No file that git does not have."""
    with tarfile.open(sdist) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames()}
    stray = names - set(call("git", "ls-files", cwd=ROOT).splitlines()) - {"PKG-INFO"}
    if stray:
        refuse(f"the sdist must not hold {sorted(stray)}")


def try_out(python: Path, elsewhere: Path) -> None:
    """Use the installed package from a folder without the checkout."""
    print(call(python, "-c", FEW_ROUNDS, cwd=elsewhere))
    program = elsewhere / "missing_packages.py"
    program.write_text((ROOT / "tests" / "missing_packages.py").read_text())
    print(call(python, program, cwd=elsewhere))
    print(call(python.with_name("windward"), "--version", cwd=elsewhere))


def main() -> None:
    """Build, check, install, use; the same for what the sdist builds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--index", help="another package index, for another torch build")
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="package-") as name:
        folder = Path(name)
        call(sys.executable, "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
        (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
        check_wheel(wheel)
        check_sdist(sdist)
        environment = folder / "environment"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
        index = ["--extra-index-url", arguments.index] if arguments.index else []
        call(*pip, "wheel", "--no-deps", *index, "-w", folder / "again", sdist)
        (again,) = (folder / "again").glob("*.whl")
        if contents(again) != contents(wheel):
            refuse("the sdist builds another wheel than the checkout")
        call(*pip, "install", *index, "-c", arguments.constraints, wheel)
        try_out(python, folder)
        call(*pip, "install", "--no-deps", "--force-reinstall", again)
        try_out(python, folder)
    print(f"{wheel.name} and {sdist.name} are whole; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
