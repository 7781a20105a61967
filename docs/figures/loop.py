"""The picture of the loop: a decision, conditions seen afterwards, a result that comes late or never.

python docs/figures/loop.py        writes docs/figures/loop.svg
"""

from __future__ import annotations

from pathlib import Path

from svg import LINE, MUTED, arrow, card, words, write

WIDTH, LEFT = 262, (16, 328, 640)


def step(column: int, number: str, title: str, lines: tuple[str, str], call: str, fill: str) -> list[str]:
    x = LEFT[column]
    return [
        card(x, 20, WIDTH, 124, fill),
        words(x + 18, 50, f"{number}  {title}", size=17, weight=600),
        words(x + 18, 75, lines[0], color=MUTED),
        words(x + 18, 95, lines[1], color=MUTED),
        words(x + 18, 127, call, size=13, code=True),
    ]


def part(column: int, title: str, lines: tuple[str, str], fill: str) -> list[str]:
    x = LEFT[column]
    return [
        card(x, 236, WIDTH, 94, fill),
        words(x + 18, 266, title, size=16, weight=600),
        words(x + 18, 291, lines[0], color=MUTED),
        words(x + 18, 311, lines[1], color=MUTED),
    ]


def main() -> None:
    """Draw it."""
    middle = [x + WIDTH / 2 for x in LEFT]
    shapes = [
        *step(0, "1", "Decide", ("The next decision, chosen", "before conditions are known"), "study.ask()", "blue"),
        *step(
            1,
            "2",
            "Conditions show",
            ("The context: demand, weather,", "a patient's week. Not chosen"),
            "study.reveal(id, context)",
            "sand",
        ),
        *step(
            2,
            "3",
            "The result comes",
            ("The value: late, out of", "order, or never"),
            "study.tell(id, value) or lose",
            "red",
        ),
        *part(0, "What to try next", ("the best over what may come,", "with credit for what it teaches"), "blue"),
        *part(1, "How often each comes", ("learnt from what was seen, and", "how wrong that may still be"), "sand"),
        *part(2, "What each is worth", ("arrived values teach; what is", "on its way is imagined"), "red"),
        arrow([(LEFT[0] + WIDTH + 6, 82), (LEFT[1] - 6, 82)]),
        arrow([(LEFT[1] + WIDTH + 6, 82), (LEFT[2] - 6, 82)], dashed=True),
        words((LEFT[1] + WIDTH + LEFT[2]) / 2, 68, "later", size=13, color=LINE, anchor="middle"),
        arrow([(middle[1], 150), (middle[1], 230)]),
        words(middle[1] + 12, 195, "counts at once", size=13, color=LINE),
        arrow([(middle[2], 150), (middle[2], 230)], dashed=True),
        words(middle[2] + 12, 195, "when it arrives", size=13, color=LINE),
        arrow([(LEFT[1] - 6, 283), (LEFT[0] + WIDTH + 6, 283)]),
        arrow([(middle[2], 336), (middle[2], 360), (middle[0], 360), (middle[0], 336)]),
        arrow([(middle[0], 230), (middle[0], 150)]),
        words(middle[0] + 12, 195, "the best under doubt", size=13, color=LINE),
        card(LEFT[0], 384, LEFT[2] + WIDTH - LEFT[0], 46, "grey"),
        words(
            (LEFT[0] + LEFT[2] + WIDTH) / 2,
            412,
            "An append-only log: every call is an event on disk before it returns; killed and opened again, it goes on",
            color=MUTED,
            anchor="middle",
        ),
    ]
    label = "Decide, see the conditions, hear the result late or never; both teach the models that choose the next decision."
    write(Path(__file__).with_suffix(".svg"), LEFT[2] + WIDTH + 16, 446, label, shapes)


if __name__ == "__main__":
    main()
