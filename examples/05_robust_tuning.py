"""Robust tuning over folds: a model must serve patients of every weight, and one fit on one fold is one evaluation.

The folds of the cross-validation are the patients by body-mass index, so each is predicted from the others. DRBQO picks
the hyper-parameters and the fold to try them on, for the worst mix of folds within a radius. It prints the score (R2) on
average and on the worst fold, beside the same method for the plain average and random search with as many fits.

python examples/05_robust_tuning.py [--rounds 40] [--seed 0]        needs scikit-learn
"""

import argparse

import numpy as np

import windward as ww

try:
    from sklearn.datasets import load_diabetes
    from sklearn.kernel_ridge import KernelRidge
except ImportError as error:
    raise ww.MissingDependency("this example needs scikit-learn: pip install 'windward[bench]'.") from error

FOLDS = ["lightest", "light", "middle", "heavy", "heaviest"]
SPACE = ww.Space(
    decision={"gamma": ww.Real(0.01, 100, log=True), "alpha": ww.Real(0.001, 10, log=True)},
    context={"fold": ww.Categorical(FOLDS)},
)
ROWS, TARGET = load_diabetes(return_X_y=True)
FOLD_OF = np.argsort(np.argsort(ROWS[:, 2])) * len(FOLDS) // len(ROWS)  # column 2 is the body-mass index


def score(decision: dict, fold: str) -> float:
    """Fit on the other folds and return R2 on this one, against the spread of all patients."""
    held_out = np.isin(FOLD_OF, FOLDS.index(fold))
    center = TARGET[~held_out].mean()
    model = KernelRidge(kernel="rbf", **decision).fit(ROWS[~held_out] * 10, TARGET[~held_out] - center)
    error = model.predict(ROWS[held_out] * 10) + center - TARGET[held_out]
    return float(1 - np.mean(error**2) / TARGET.var())


def main() -> None:
    """Tune three ways with as many fits each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folds = ww.Known({"fold": FOLDS})
    for name, policy in {"robust": ww.papers.drbqo(folds, radius=1.0), "average": ww.papers.bqo_ts(folds)}.items():
        study = ww.Study(SPACE, policy, seed=arguments.seed)
        study.run(lambda asked: score(asked.decision, asked.context["fold"]), arguments.rounds, progress=False)
        scores = [score(study.recommend().decision, fold) for fold in FOLDS]
        print(f"{name:<9} {np.mean(scores):.3f} on average, {min(scores):.3f} on the worst fold")
    drawn = ww.Study(SPACE, ww.papers.random(), seed=arguments.seed).ask_many(max(1, arguments.rounds // len(FOLDS)))
    tables = [[score(asked.decision, fold) for fold in FOLDS] for asked in drawn]
    best = max(tables, key=min)
    print(f"random    {np.mean(best):.3f} on average, {min(best):.3f} on the worst fold")


if __name__ == "__main__":
    main()
