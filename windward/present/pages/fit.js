// A figure made to fit the place it is drawn in: panels that would collide stand below each other, and titles are broken into
// lines instead of being cut. The page and the report use the same file.

const LEAST_PANEL = 330;  // pixels: panels side by side that would be narrower are stacked
const PANEL = 230, BETWEEN = 108;  // pixels of a stacked panel, and between two: ticks, the axis's title, the next one's
const LETTER = 7.2;  // pixels of a letter, on average, at the size of axis titles

function wrapped(text, letters) {
  if (!text || text.includes("<")) return text;
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length + 1 > letters) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.join("<br>");
}

const lettersOf = (text) => text.replace(/&[a-z]+;/g, "x").length;

// The name of a layout's axis for a trace's: "x2" is "xaxis2".
const axisOf = (id, letter) => `${letter}axis${(id ?? letter).slice(1)}`;

function panelsOf(data, layout) {
  const found = new Map();
  for (const trace of data) {
    const [x, y] = [axisOf(trace.xaxis, "x"), axisOf(trace.yaxis, "y")];
    const key = `${x} ${y}`;
    if (!found.has(key)) found.set(key, { x, y, traces: [], across: layout[x]?.domain ?? [0, 1], up: layout[y]?.domain ?? [0, 1] });
    found.get(key).traces.push(trace);
  }
  return [...found.values()].sort((one, other) => other.up[1] - one.up[1] || one.across[0] - other.across[0]);
}

function columnsOf(panels) {
  return Math.max(...panels.map((panel) => panels.filter((other) => Math.abs(other.up[1] - panel.up[1]) < 0.01).length));
}

function stack(panels, layout) {
  const inside = panels.length * PANEL + (panels.length - 1) * BETWEEN;
  const titles = (layout.annotations ?? []).filter((one) => one.xref === "paper" && one.yref === "paper" && !one.showarrow);
  const before = panels.map((panel) => ({ middle: (panel.across[0] + panel.across[1]) / 2, top: panel.up[1] }));
  panels.forEach((panel, place) => {
    const top = 1 - place * (PANEL + BETWEEN) / inside, bottom = top - PANEL / inside;
    layout[panel.x] = { ...layout[panel.x], domain: [0, 1] };
    layout[panel.y] = { ...layout[panel.y], domain: [Math.max(0, bottom), top], showticklabels: true };
    for (const trace of panel.traces) {
      if (trace.colorbar) Object.assign(trace.colorbar, { x: 1.02, xanchor: "left", y: (top + bottom) / 2, len: PANEL / inside });
    }
    const { middle, top: was } = before[place];
    const title = titles.find((one) => Math.abs(one.x - middle) < 0.03 && Math.abs(one.y - was) < 0.06);
    if (title) Object.assign(title, { x: 0, xanchor: "left", align: "left", y: top, yanchor: "bottom" });
  });
  return inside;
}

function breakTitles(panels, layout, width, inside) {
  for (const panel of panels) {
    const room = { x: (panel.across[1] - panel.across[0]) * width, y: (panel.up[1] - panel.up[0]) * inside };
    for (const [letter, name] of [["x", panel.x], ["y", panel.y]]) {
      const axis = layout[name] ??= {};
      const text = typeof axis.title === "string" ? axis.title : axis.title?.text;
      axis.automargin = true;
      if (text) axis.title = { ...(typeof axis.title === "string" ? {} : axis.title), text: wrapped(text, Math.max(12, Math.floor(room[letter] / LETTER))) };
    }
  }
  for (const one of layout.annotations ?? []) {
    if (one.xref === "paper" && !one.showarrow && one.text) {
      const panel = panels.find((each) => one.x >= each.across[0] - 0.01 && one.x <= each.across[1] + 0.01) ?? panels[0];
      one.text = wrapped(one.text, Math.max(14, Math.floor((panel.across[1] - panel.across[0]) * width / LETTER)));
    }
  }
}

// Return the data and the layout of a figure for a place of this width.
export function fitted(figure, width) {
  const data = structuredClone(figure.data), layout = structuredClone(figure.layout);
  const margin = { l: 55, r: 12, t: 30, b: 52, ...layout.margin };
  Object.assign(margin, { l: Math.min(margin.l, 55), r: Math.min(margin.r, 12) });
  const panels = panelsOf(data, layout);
  if (panels.length === 0) return { data, layout: { ...layout, margin } };
  let inside = layout.height - margin.t - margin.b;
  const columns = columnsOf(panels);
  if (columns > 1 && width / columns < LEAST_PANEL) {
    const legend = layout.legend?.y ?? 0;
    const below = legend < 0 ? -legend * inside : 0;
    inside = stack(panels, layout);
    for (const panel of panels) Object.assign(panel, { across: [0, 1], up: layout[panel.y].domain });
    if (below) layout.legend = { ...layout.legend, y: -Math.max(below, 78) / inside };
    layout.height = inside + margin.t + margin.b + 24 * Math.ceil(data.filter((trace) => trace.showlegend !== false && trace.name).length / 2);
  }
  breakTitles(panels, layout, width - margin.l - margin.r, inside);
  const letters = Math.floor((width - 70) / LETTER);
  for (const trace of data) if (trace.name && lettersOf(trace.name) > letters) trace.name = wrapped(trace.name, letters);
  return { data, layout: { ...layout, margin } };
}
