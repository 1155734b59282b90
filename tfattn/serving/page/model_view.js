// Model view: all layers and heads as thumbnails, and an enlarged head.

import { drawMatrix, headColour, percent, sized, styleColour } from "./canvas.js";
import { element } from "./elements.js";

const THUMBNAIL = 60; // pixels
const LARGE = 520;
const MOST_LABELS = 45;
const LABELS = 110; // pixels, for the names of tokens

/** Shows all heads of a part; `open` is called with the layer and the head to enlarge. */
export function modelView(part, lens, state, open) {
  const table = element("table", { className: "thumbnails" });
  const large = element("div", { className: "large" });
  const drawn = [];
  const heads = [...Array(part.heads).keys()];
  table.append(element("tr", {}, element("td", {}), ...heads.map((head) => element("th", { scope: "col" }, `head ${head + 1}`))));
  for (let layer = 0; layer < part.layers; layer++) {
    const cells = heads.map((head) => {
      const canvas = element("canvas", {});
      const button = element("button", { type: "button", ariaLabel: `layer ${layer + 1}, head ${head + 1}` }, canvas);
      button.onclick = () => enlarge(layer, head);
      drawn.push(() => drawMatrix(canvas, lens, layer, head, THUMBNAIL, headColour(head)));
      return element("td", {}, button);
    });
    table.append(element("tr", {}, element("th", { scope: "row" }, `layer ${layer + 1}`), ...cells));
  }

  function enlarge(layer, head) {
    const canvas = element("canvas", { className: "matrix" });
    const told = element("p", { className: "told", ariaLive: "polite" }, "");
    const button = element("button", { type: "button" }, "Show its lines");
    button.onclick = () => open(layer, head);
    large.replaceChildren(element("h3", {}, `Layer ${layer + 1}, head ${head + 1} `, button), told, labelled(canvas, lens));
    const largest = drawMatrix(canvas, lens, layer, head, LARGE, headColour(head));
    told.textContent = `Rows look at columns; the darkest is ${percent(largest)}. Move over the picture to see each.`;
    if (lens.rows.length <= MOST_LABELS && lens.columns.length <= MOST_LABELS) drawLabels(canvas, lens, layer, head, largest);
    canvas.onmousemove = ({ offsetX, offsetY }) => {
      const row = Math.floor(((offsetY - +canvas.dataset.top) / +canvas.dataset.height) * lens.rows.length);
      const column = Math.floor(((offsetX - +canvas.dataset.left) / +canvas.dataset.width) * lens.columns.length);
      if (!lens.rows[row] || !lens.columns[column]) return;
      const weight = lens.weights(layer, head, row).sums[column];
      const [from, to] = [lens.rows[row], lens.columns[column]].map(({ label }) => element("bdi", {}, label));
      told.replaceChildren("“", from, "” looks at “", to, `”: ${percent(weight)}`);
    };
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!canvas.dataset.width) Object.assign(canvas.dataset, { left: 0, top: 0, width, height });
    large.scrollIntoView({ block: "nearest" });
  }

  return { content: [element("div", { className: "wide", tabIndex: 0 }, table), large], draw: () => drawn.forEach((one) => one()) };
}

const labelled = (canvas) => element("div", { className: "wide" }, canvas);

/** Redraws the picture with the names of tokens on the left and at the top. */
function drawLabels(canvas, lens, layer, head, largest) {
  const cell = Math.max(14, Math.min(26, LARGE / Math.max(lens.rows.length, lens.columns.length)));
  const [width, height] = [cell * lens.columns.length, cell * lens.rows.length];
  const context = sized(canvas, LABELS + width, LABELS + height);
  context.font = `${Math.min(13, cell - 2)}px system-ui, sans-serif`;
  context.fillStyle = styleColour(canvas, "--view-ink");
  context.textBaseline = "middle";
  context.textAlign = "right";
  lens.rows.forEach(({ label }, row) => context.fillText(short(label), LABELS - 6, LABELS + (row + 0.5) * cell));
  lens.columns.forEach(({ label }, column) => {
    context.save();
    context.translate(LABELS + (column + 0.5) * cell, LABELS - 6);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(short(label), 0, 0);
    context.restore();
  });
  lens.rows.forEach((_, row) => {
    lens.weights(layer, head, row).sums.forEach((weight, column) => {
      context.fillStyle = headColour(head, Math.min(1, weight / largest) ** 0.6);
      context.fillRect(LABELS + column * cell, LABELS + row * cell, cell - 1, cell - 1);
    });
  });
  Object.assign(canvas.dataset, { left: LABELS, top: LABELS, width, height });
}

const short = (label) => (label.length > 14 ? `${label.slice(0, 13)}…` : label);
