"""A wrong distribution: a dose is tuned on volunteers, of whom few clear the drug slowly, and given to a ward of whom many do.

The dose is chosen before the patient's clearance is known. One study maximizes the expected benefit, the other the worst
expected benefit over every mix of patients within a radius of the volunteers': radius 0.8 in total variation lets 40 % of
the patients turn out to be of the least favourable kind. It prints both doses, judged on the volunteers and on the ward.

python examples/02_when_the_distribution_is_wrong.py [--rounds 40] [--seed 0]
"""

import argparse

import numpy as np

import windward as ww

SPACE = ww.Space(decision={"dose": ww.Real(0, 100)}, context={"clearance": ww.Real(2, 12)})
OBJECTIVES = {"expected": ww.Expected(), "robust": ww.Robust(ww.TotalVariation(), radius=0.8)}


def patients(slow: float, count: int, world: np.random.Generator) -> np.ndarray:
    """Return the clearances of some patients, a share of whom is slow."""
    fast = world.normal(8.5, 0.8, count)
    return np.where(world.random(count) < slow, world.normal(5.0, 0.5, count), fast).clip(2, 12)


def benefit(dose: float, clearance: float | np.ndarray) -> np.ndarray:
    """Return the benefit: it saturates with the exposure, and the harm grows beyond an exposure of 7."""
    exposure = dose / clearance
    return 10 * (1 - np.exp(-exposure / 4)) - 0.2 * np.maximum(0, exposure - 7) ** 2


def main() -> None:
    """Tune both doses on the same volunteers and judge them on the ward."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    truth = np.random.default_rng(12345)
    volunteers, ward = patients(0.1, 20_000, truth), patients(0.6, 20_000, truth)
    print("            dose   benefit: volunteers    ward    worst twentieth of the ward")
    for name, objective in OBJECTIVES.items():
        seen = patients(0.1, arguments.rounds, np.random.default_rng(arguments.seed))
        study = ww.Study(SPACE, ww.Policy(context_model=ww.KernelDensity(), objective=objective), seed=arguments.seed)
        for clearance in seen.tolist():
            suggestion = study.ask()
            value = float(benefit(suggestion.decision["dose"], clearance))
            study.tell(suggestion.id, value, context={"clearance": clearance})
        dose = study.recommend().decision["dose"]
        on_ward = benefit(dose, ward)
        figures = benefit(dose, volunteers).mean(), on_ward.mean(), np.quantile(on_ward, 0.05)
        print(f"{name:<10} {dose:5.1f}   {figures[0]:19.2f} {figures[1]:7.2f} {figures[2]:30.2f}")
    print("Nobody tuned for the ward: the last two columns are what a wrong distribution costs.")


if __name__ == "__main__":
    main()
