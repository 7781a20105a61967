"""A few SVG shapes for the diagrams: cards, words and arrows that read on a light page and on a dark one.

Cards carry their own background; whatever stands on the page itself is of a middle grey.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

INK, MUTED, LINE = "#12303c", "#4a6572", "#7f929b"
SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
MONO = "ui-monospace, Consolas, 'DejaVu Sans Mono', monospace"
FILLS = {
    "blue": ("#e3f1f6", "#1f6f8b"),
    "red": ("#fbe9e4", "#c8553d"),
    "green": ("#e6f3ea", "#3c8259"),
    "grey": ("#f1f4f5", "#8fa1a9"),
    "sand": ("#fbf3df", "#b98a2d"),
}


def card(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a rounded rectangle."""
    inside, edge = FILLS[fill]
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" fill="{inside}" stroke="{edge}" '
        'stroke-width="1.5"/>'
    )


def words(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 14,
    color: str = INK,
    weight: int = 400,
    code: bool = False,
    anchor: str = "start",
) -> str:
    """Return one line of text, its baseline at y."""
    return (
        f'<text x="{x}" y="{y}" font-family="{MONO if code else SANS}" font-size="{size}" fill="{color}" '
        f'font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def arrow(points: list[tuple[float, float]], *, dashed: bool = False, head: bool = True) -> str:
    """Return a line through points, with a head at the last."""
    path = "M" + " L".join(f"{x},{y}" for x, y in points)
    return (
        f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="2" stroke-linejoin="round"'
        + (' stroke-dasharray="5 5"' if dashed else "")
        + (' marker-end="url(#head)"' if head else "")
        + "/>"
    )


def write(path: Path, width: float, height: float, label: str, shapes: list[str]) -> None:
    """Write the drawing; `label` is what a screen reader says."""
    head = (
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L10,5 L0,10 z" fill="{LINE}"/></marker></defs>'
    )
    body = "\n".join([head, *shapes])
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(label)}">\n{body}\n</svg>\n'
    )
