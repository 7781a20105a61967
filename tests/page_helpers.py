"""What the tests of the page look at in every state: what somebody without a mouse, or with a screen reader, meets."""

from __future__ import annotations

# Run in the page; returns what is wrong, in words. The rules are those of WCAG 2.1 AA that a program can check.
LOOK = r"""
() => {
  const wrong = [];
  const seen = (node) => node.checkVisibility() && node.getClientRects().length > 0;
  const words = (node) => (node.outerHTML ?? node.textContent).slice(0, 120);
  const named = (node) => node.labels?.length > 0 || node.getAttribute("aria-label") || node.getAttribute("aria-labelledby")
    || (node.matches("button, a, summary") && node.textContent.trim());
  for (const node of document.querySelectorAll("input, select, textarea, button, a[href], summary, dialog, [role=img]")) {
    if (seen(node) && !named(node)) wrong.push(`no name: ${words(node)}`);
  }
  for (const node of document.querySelectorAll("button[aria-label], a[aria-label]")) {  // who speaks to it says what it shows
    const shown = node.textContent.trim(), name = node.getAttribute("aria-label").toLowerCase();
    if (/\w/.test(shown) && !name.includes(shown.toLowerCase())) wrong.push(`named otherwise than shown: ${words(node)}`);
  }
  const ids = [...document.querySelectorAll("main [id]:not(.plot [id]):not(svg [id])")].map((node) => node.id);
  for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) wrong.push(`id twice: ${id}`);
  for (const node of document.querySelectorAll("main *:not(.plot *)")) {
    if (node.scrollWidth > node.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(node).overflowX) && node.tabIndex < 0) {
      wrong.push(`scrolls, and no key reaches it: ${words(node)}`);
    }
  }
  let level = 1;
  for (const node of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!seen(node) || node.closest("dialog")) continue;
    if (Number(node.tagName[1]) > level + 1) wrong.push(`a heading is left out before ${words(node)}`);
    level = Number(node.tagName[1]);
  }
  if ([...document.querySelectorAll("h1")].filter(seen).length !== 1) wrong.push("there must be one h1");
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, node = text.parentElement;
    if (!text.textContent.trim() || !seen(node)) continue;
    if (node.closest("svg, script, style, .stale, :disabled, .skip, option")) continue;
    const [one, other] = [light(rgb(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    if ((one + 0.05) / (other + 0.05) < 4.5) wrong.push(`too faint: ${text.textContent.trim().slice(0, 60)}`);
  }
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) wrong.push(`wider than the screen: ${width}`);
  return [...new Set(wrong)];
}
"""


def accessible(tab) -> None:
    """Fail where the page, as it is now, has something that somebody cannot reach, read or make sense of."""
    assert tab.evaluate(LOOK) == []
