// Image view: the attention of a patch or of a special token, drawn over the image.

import { percent, sized, styleColour } from "./canvas.js";
import { element } from "./elements.js";
import { named } from "./neuron_view.js";

const SIDE = 420; // pixels, of the longer side
const STRONGEST = 0.75; // the opacity of the overlay, so that the image remains visible

/** Shows the mean of the chosen heads of a layer; tokens are neither joined nor hidden. */
export function imageView(views, lens, state) {
  const { grid: [rows, columns], image } = views.sequences[0];
  const first = lens.columns.length - rows * columns;
  const options = lens.rows.map(({ label }, place) => element("option", { value: place }, label));
  const query = element("select", { id: "view-patch" }, ...options);
  query.value = Math.min(state.patch ?? 0, lens.rows.length - 1);
  const canvas = element("canvas", { className: "patches" });
  const told = element("p", { className: "told", ariaLive: "polite" });
  const cell = SIDE / Math.max(rows, columns);
  const [width, height] = [columns * cell, rows * cell];
  let picture = null;

  function draw() {
    state.patch = +query.value;
    const sums = new Float32Array(lens.columns.length);
    for (const head of state.heads) {
      lens.weights(state.layer, head, state.patch).sums.forEach((weight, column) => (sums[column] += weight / state.heads.size));
    }
    const patches = sums.subarray(first);
    const largest = patches.reduce((one, other) => Math.max(one, other), 1e-6);
    const context = sized(canvas, width, height);
    context.fillStyle = styleColour(canvas, "--view-ground");
    context.fillRect(0, 0, width, height);
    if (picture) context.drawImage(picture, 0, 0, width, height);
    // Attended patches keep their brightness; others are darkened.
    patches.forEach((weight, patch) => {
      context.fillStyle = `rgb(0 0 0 / ${STRONGEST * (1 - weight / largest)})`;
      context.fillRect((patch % columns) * cell, Math.floor(patch / columns) * cell, cell + 0.5, cell + 0.5);
    });
    if (state.patch >= first) {
      context.strokeStyle = styleColour(canvas, "--view-amber");
      context.lineWidth = 2;
      const own = state.patch - first;
      context.strokeRect((own % columns) * cell + 1, Math.floor(own / columns) * cell + 1, cell - 2, cell - 2);
    }
    const others = first ? `; outside of the image ${percent(sums.subarray(0, first).reduce((one, other) => one + other, 0))}` : "";
    told.textContent = `The brightest patch gets ${percent(largest)}${others}. A click on a patch shows what that one looks at.`;
  }

  canvas.onclick = ({ offsetX, offsetY }) => {
    query.value = first + Math.floor(offsetY / cell) * columns + Math.floor(offsetX / cell);
    draw();
  };
  query.onchange = draw;
  if (image) decoded(image).then((made) => ((picture = made), draw()));
  return { content: [element("div", { className: "choices" }, named("Query of", query)), told, canvas], draw };
}

/** Decodes an image file from base64. */
function decoded(image) {
  const bytes = Uint8Array.from(atob(image), (character) => character.charCodeAt(0));
  return createImageBitmap(new Blob([bytes]));
}
