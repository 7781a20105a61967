// A figure made to fit the place it is drawn in: panels that would collide stand below each other, and titles are broken into
// lines instead of being cut. The page and the report use the same file.

const LEAST_PANEL = 330;  // pixels: panels side by side that would be narrower are stacked
const PANEL = 230, BETWEEN = 108;  // pixels of a stacked panel, and between two: ticks, the axis's title, the next one's
const LINE = 17;  // pixels of a line of text
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

const titleOf = (axis) => (typeof axis?.title === "string" ? axis.title : axis?.title?.text);

// Panels that stand beside each other share the first one's title; below each other each needs its own.
function shareTitles(panels, layout) {
  for (const panel of panels) {
    const first = panels.find((other) => Math.abs(other.up[1] - panel.up[1]) < 0.01);
    if (!titleOf(layout[panel.y]) && titleOf(layout[first.y])) layout[panel.y] = { ...layout[panel.y], title: layout[first.y].title };
  }
}

function stack(panels, layout) {
  shareTitles(panels, layout);
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

const longestOf = (labels) => Math.max(...labels.flatMap((label) => String(label).split("<br>").map(lettersOf)));

// Labels that would run into each other are written smaller; of a scale, whose labels follow from each other, every other goes.
function shrinkLabels(axis, room) {
  const labels = axis.ticktext;
  if (!labels?.length) return;
  const longest = longestOf(labels) + 1, scale = axis.tickvals?.some((value, place) => value !== place);
  const slot = room / labels.length;
  if (longest * LETTER > slot && scale) {
    const apart = Math.ceil(longest * LETTER / slot), kept = (_, place) => place % apart === 0;
    Object.assign(axis, { tickvals: axis.tickvals.filter(kept), ticktext: labels.filter(kept) });
  } else if (longest * LETTER > slot) axis.tickfont = { ...axis.tickfont, size: Math.max(8, Math.floor(13 * slot / (longest * LETTER))) };
}

// Names beside bars are broken into lines where they would take the place of the bars; return how many pixels they need.
function breakNames(panel, layout, width) {
  const names = panel.traces.filter((trace) => trace.orientation === "h").flatMap((trace) => trace.y).filter((each) => typeof each === "string");
  if (names.length === 0) return 0;
  const letters = Math.max(10, Math.floor(0.3 * width / LETTER));
  const own = [...new Set(names)], broken = own.map((name) => wrapped(name, letters));
  layout[panel.y] = { ...layout[panel.y], tickmode: "array", tickvals: own, ticktext: broken };
  return longestOf(broken) * LETTER;
}

function breakTitles(panels, layout, width, inside) {
  for (const panel of panels) {
    const across = width - breakNames(panel, layout, width);
    const room = { x: (panel.across[1] - panel.across[0]) * across, y: (panel.up[1] - panel.up[0]) * inside };
    for (const [letter, name] of [["x", panel.x], ["y", panel.y]]) {
      const axis = layout[name] ??= {};
      const text = titleOf(axis);
      axis.automargin = true;
      if (letter === "x") shrinkLabels(axis, room.x);
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
  const last = panels[panels.length - 1], lines = (titleOf(layout[last.x]) ?? "").split("<br>").length - 1;
  if (lines > 0 && (layout.legend?.y ?? 0) < 0) {
    layout.legend = { ...layout.legend, y: layout.legend.y - lines * LINE / inside };
    layout.height += lines * LINE;
  }
  // The page has the title, so that only titles of panels need room above them.
  const titled = (layout.annotations ?? []).filter((one) => /paper|domain/.test(one.yref ?? "paper") && !one.showarrow && one.y > 0.98);
  const above = titled.length ? 10 + LINE * Math.max(...titled.map((one) => (one.text ?? "").split("<br>").length)) : 12;
  layout.height += above - margin.t;
  margin.t = above;
  layout.title = undefined;
  const letters = Math.floor((width - 70) / LETTER);
  for (const trace of data) if (trace.name && lettersOf(trace.name) > letters) trace.name = wrapped(trace.name, letters);
  return { data, layout: { ...layout, margin } };
}
