"""The decision tree of docs/choosing.md.

python docs/figures/choosing.py        writes docs/figures/choosing.svg
"""

from __future__ import annotations

from pathlib import Path

from svg import LINE, MUTED, arrow, card, words, write

QUESTION, FIRST, SECOND, LEAF = 20, 372, 706, 314
ROW, TOP = 104, 20

# (question, its second line, the answer that leads to the right, leaf where the distribution is learnt, where it is known)
ROWS = (
    ("Is there a context", "that you can see?", "no", ("auto(), no context declared", "contexts act as noise"), None),
    (
        "Can you choose it?",
        "a simulator, a fold",
        "yes",
        ("papers.drbqo(Known(...), radius)", "says which context to evaluate"),
        None,
    ),
    (
        "Is it known before",
        "each decision?",
        "yes",
        ("study.ask(context={...})", "with any policy; parts of it too, or a forecast of it"),
        None,
    ),
    (
        "Is there a target",
        "that must be met?",
        "yes",
        ("auto(Satisficing(...))", "least fragile way to meet it"),
        ("replace(auto(...), Known)", "the same, around what is known"),
    ),
    (
        "Do you want",
        "a guarantee?",
        "yes",
        ("auto(Robust(divergence, Confidence(0.9)))", "a value that the true average keeps, with 90 % confidence"),
        None,
    ),
    (
        "Will the contexts",
        "come to differ?",
        "yes",
        ("auto(Robust(...))", "anywhere, or beside those seen"),
        ("replace(auto(Robust(...)), Known)", "worst case around what is known"),
    ),
    (
        "Must every usual",
        "context be survived?",
        "yes",
        ("auto(Minimum()) · auto(CVaR(0.1))", "the least value · the worst tenth"),
        ("replace(auto(Minimum()), Known)", "the least value over its points"),
    ),
    (
        "Otherwise: the",
        "average counts",
        "",
        ("auto(), the default", "or no policy at all"),
        ("replace(auto(), Known)", "the expectation under it"),
    ),
)


def leaf(x: float, y: float, lines: tuple[str, str], width: float, fill: str) -> list[str]:
    return [
        card(x, y, width, 66, fill),
        words(x + 14, y + 28, lines[0], size=13.5, code=True),
        words(x + 14, y + 51, lines[1], size=13.5, color=MUTED),
    ]


def row(index: int) -> list[str]:
    first, second, answer, learnt, known = ROWS[index]
    y, last = TOP + ROW * index, index == len(ROWS) - 1
    shapes = [
        card(QUESTION, y, 230, 66, "grey" if last else "blue"),
        words(QUESTION + 16, y + 28, first, size=15.5, weight=600),
        words(QUESTION + 16, y + 50, second, size=15.5, weight=600),
        arrow([(QUESTION + 236, y + 33), (FIRST - 6, y + 33)]),
        words((QUESTION + 230 + FIRST) / 2 - 4, y + 24, answer, size=14, color=LINE, weight=600, anchor="middle"),
        *leaf(FIRST, y, learnt, LEAF if known else SECOND + LEAF - FIRST, "sand" if known else "green"),
        *(leaf(SECOND, y, known, LEAF, "red") if known else []),
    ]
    if not last:
        other = "yes" if answer == "no" else "no"
        shapes.append(arrow([(QUESTION + 60, y + 70), (QUESTION + 60, y + ROW - 5)]))
        shapes.append(words(QUESTION + 74, y + 90, other, size=14, color=LINE, weight=600))
    return shapes


def main() -> None:
    """Draw it."""
    head = TOP + ROW * next(index for index, row in enumerate(ROWS) if row[-1]) - 12
    y = TOP + ROW * len(ROWS)
    shapes = [
        words(FIRST + 4, head, "the distribution is learnt", size=14, color=LINE, weight=600),
        words(SECOND + 4, head, "the distribution is known", size=14, color=LINE, weight=600),
        *(shape for index in range(len(ROWS)) for shape in row(index)),
        card(QUESTION, y, SECOND + LEAF - QUESTION, 92, "grey"),
        words(QUESTION + 16, y + 28, "And whichever it is: do results come late, or never?", size=15.5, weight=600),
        words(QUESTION + 16, y + 54, "Late is only late: nothing to do.", size=14, color=MUTED),
        words(QUESTION + 16, y + 77, "Late means bad:", size=14, color=MUTED),
        words(
            QUESTION + 138,
            y + 77,
            "feedback=Censor(worst, patience), belief=UpperConfidence(delayed_width())",
            size=13.5,
            code=True,
        ),
    ]
    label = "A decision tree from the situation to the call; the table below it says the same."
    write(Path(__file__).with_suffix(".svg"), SECOND + LEAF + 20, y + 110, label, shapes)


if __name__ == "__main__":
    main()
