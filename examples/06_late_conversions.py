"""A bandit with late conversions: a shop knows who comes, offers a discount, and hears of a sale much later, or of none.

The context (how loyal a visitor is, on which device) is known before the decision: `ask(context=...)`. Who buys is heard
of some visitors later; who does not, never. GP-UCB-SDF counts silence as nothing sold; GP-BUCB takes it for a sale that is
late. It prints the takings per visitor over the second half, beside random, the best single discount and the best of all.

python examples/06_late_conversions.py [--rounds 100] [--seed 0]
"""

import argparse

import numpy as np

import windward as ww

VISITOR = {"loyalty": ww.Real(0, 1), "device": ww.Categorical(["phone", "desk"])}
SPACE = ww.Space(decision={"discount": ww.Real(0, 20)}, context=VISITOR)
SILENT = ww.papers.gp_ucb_sdf(worst=0.0, patience=15, late="use")
METHODS = {"silence is no": SILENT, "silence is late": ww.papers.gp_bucb(), "random": ww.papers.random()}


def takings(discount: float | np.ndarray, loyalty: float | np.ndarray, device: str) -> np.ndarray:
    """Return the true mean takings per visitor: the loyal buy anyway, others want a discount, most so on a phone."""
    wish = -4 + 8 * loyalty + (0.6 if device == "phone" else 0.4) * discount * (1 - loyalty)
    return (25 - discount) / (1 + np.exp(-wish))


def play(policy: ww.Policy, visitors: list, seed: int) -> float:
    """Serve the visitors one by one and return the mean true takings over the second half."""
    world, due, earned = np.random.default_rng(seed), {}, []
    study = ww.Study(SPACE, policy, seed=seed)
    for turn, visitor in enumerate(visitors):
        suggestion = study.ask(context=visitor)
        earned.append(float(takings(suggestion.decision["discount"], **visitor)))
        paid = 25 - suggestion.decision["discount"]
        if world.random() < earned[-1] / paid:  # else nothing is ever heard
            due.setdefault(turn + int(world.geometric(0.25)), []).append((suggestion.id, paid))
        for id, value in due.pop(turn, []):
            study.tell(id, value)
    return float(np.mean(earned[len(earned) // 2 :]))


def main() -> None:
    """Serve the same visitors with each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--rounds", 100), ("--seed", 0)):
        parser.add_argument(option, type=int, default=default)
    arguments = parser.parse_args()
    world = np.random.default_rng(arguments.seed + 1)
    visitors = [{"loyalty": float(world.random()), "device": ["phone", "desk"][i % 2]} for i in range(arguments.rounds)]
    for name, policy in METHODS.items():
        print(f"{name:<16} {play(policy, visitors, arguments.seed):5.2f} per visitor")
    table = np.array([takings(np.linspace(0, 20, 201), **each) for each in visitors[len(visitors) // 2 :]])
    print(f"one discount     {table.mean(0).max():5.2f} per visitor, had it been known")
    print(f"best for each    {table.max(1).mean():5.2f}")


if __name__ == "__main__":
    main()
