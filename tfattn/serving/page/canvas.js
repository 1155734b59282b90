// Drawing: canvases as sharp as the screen, and the colours of heads and of signed numbers.

/** Gives a canvas a size in CSS pixels, and its context with these as the unit. */
export function sized(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

const scheme = matchMedia("(prefers-color-scheme: dark)");

/** A hue for each head, neighbours far apart. */
export const headColour = (head, alpha = 1) => `hsl(${(head * 137.5 + 212) % 360} 65% ${scheme.matches ? 68 : 42}% / ${alpha})`;

/** Blue where a number is above 0, orange where it is below; `size` from 0 to 1 is how strong. */
export function signedColour(value, size) {
  const [hue, light] = value >= 0 ? [212, scheme.matches ? 65 : 42] : [30, scheme.matches ? 60 : 45];
  return `hsl(${hue} 75% ${light}% / ${Math.min(1, size)})`;
}

/** A colour of the style sheet. */
export const styleColour = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();

/** Draws the weights of all rows as cells of a picture: one pixel or more for each, darker where they are larger. */
export function drawMatrix(canvas, lens, layer, head, side, colour) {
  const [rows, columns] = [lens.rows.length, lens.columns.length];
  const [height, width] = [rows, columns].map((count) => Math.max(1, Math.round((side * count) / Math.max(rows, columns))));
  const context = sized(canvas, width, height);
  if (!rows || !columns) return;
  const image = new ImageData(columns, rows);
  const [red, green, blue] = rgb(colour);
  for (let row = 0; row < rows; row++) {
    const { sums } = lens.weights(layer, head, row);
    for (let column = 0; column < columns; column++) {
      image.data.set([red, green, blue, 255 * Math.min(1, sums[column]) ** 0.6], 4 * (row * columns + column));
    }
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = width < columns;
  context.drawImage(small, 0, 0, width, height);
}

function rgb(colour) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

export const percent = (weight) => `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)} %`;

/** Whether most of a text's letters are of scripts that are written from right to left. */
export function isRightToLeft(text) {
  const count = (pattern) => (text.match(pattern) ?? []).length;
  return count(/[\u0590-\u08ff\ufb1d-\ufefc]/g) * 2 > count(/\p{L}/gu);
}
