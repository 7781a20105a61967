// The figures: drawn one after the other as the service has them, in the page's colours, again when the width changes.

import { call, make } from "./base.js";
import { fitted } from "./fit.js";

let plotly = null;
function loadPlotly() {
  plotly ??= new Promise((done, failed) => {
    document.head.append(make("script", { src: "plotly.js", onload: done, onerror: () => failed(new Error("plotly.js did not load.")) }));
  });
  return plotly;
}

function unescaped(text) {
  return new DOMParser().parseFromString(text, "text/html").documentElement.textContent;
}

export async function updateFigures(places, base, current) {
  for (const place of places) if (!place.firstChild) place.append(make("p", { className: "soft" }, "Drawing…"));
  try { await loadPlotly(); } catch (error) {
    for (const place of places) place.replaceChildren(make("p", { className: "bad" }, error.message));
    return;
  }
  for (const place of places) {
    if (!current()) return;
    const kind = place.id.replace("figure-", "");
    try {
      const figure = await call("GET", `${base}/${kind}`);
      if (!current()) return;
      let node = place.querySelector(".plot");
      if (!node) {
        node = make("div", { className: "plot", role: "img" });
        place.replaceChildren(make("h3", {}), make("p", { className: "soft" }), node);
      }
      const title = unescaped(figure.layout.title.text);
      const caption = unescaped(figure.layout.meta.caption);
      place.hidden = false;
      place.querySelector("h3").textContent = title;
      place.querySelector("p").textContent = caption;
      node.setAttribute("aria-label", `${title}. ${caption}`);
      node.figure = figure;
      await draw(node);
    } catch (error) {
      place.hidden = error.status === 409 || error.status === 422;  // it needs more results than there are
      place.replaceChildren(...(place.hidden ? [] : [make("p", { className: "bad" }, error.message)]));
    }
  }
}

async function draw(node) {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const width = node.clientWidth;
  if (width === 0) return;
  node.drawn = width;
  const { data, layout } = fitted(node.figure, width);
  const { height } = layout;
  Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", width });
  layout.font = { ...layout.font, color: color("--ink") };
  for (const [name, axis] of Object.entries(layout)) {
    if (/^[xy]axis\d*$/.test(name)) Object.assign(axis, { gridcolor: color("--grid"), zerolinecolor: color("--line"), linecolor: color("--line") });
  }
  node.style.height = `${height}px`;
  await globalThis.Plotly.react(node, data, layout, { displaylogo: false, displayModeBar: false });
}

// Draw every figure again: other colours, or another width.
export function redraw(onlyWidth = false) {
  for (const node of document.querySelectorAll(".plot")) if (node.figure && (!onlyWidth || node.drawn !== node.clientWidth)) void draw(node);
}

let resizing = null;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(() => redraw(true), 200); });
