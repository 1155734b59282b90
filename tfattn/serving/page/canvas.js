// Drawing: canvases in the resolution of the screen, and colors of heads and of signed numbers.

/** Sets the size of a canvas in CSS pixels, and returns its context with this unit. */
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

/** Returns a hue for each head; adjacent heads have distant hues. */
export const headColour = (head, alpha = 1) => `hsl(${(head * 137.5 + 212) % 360} 65% ${scheme.matches ? 68 : 42}% / ${alpha})`;

/** Returns blue for positive and orange for negative numbers; `size` from 0 to 1 is the strength. */
export function signedColour(value, size) {
  const [hue, light] = value >= 0 ? [212, scheme.matches ? 65 : 42] : [30, scheme.matches ? 60 : 45];
  return `hsl(${hue} 75% ${light}% / ${Math.min(1, size)})`;
}

/** Returns a color of the style sheet. */
export const styleColour = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();

/**
 * Draws the weights of all rows as cells of a picture, relative to the largest weight, which is returned.
 * If there are more weights than pixels, a pixel shows the largest of its weights.
 */
export function drawMatrix(canvas, lens, layer, head, side, colour) {
  const [rows, columns] = [lens.rows.length, lens.columns.length];
  const [height, width] = [rows, columns].map((count) => Math.max(1, Math.round((side * count) / Math.max(rows, columns, 1))));
  const context = sized(canvas, width, height);
  const [down, across] = [Math.min(rows, height), Math.min(columns, width)];
  if (!down || !across) return 0;
  const cells = new Float32Array(down * across);
  for (let row = 0; row < rows; row++) {
    const { sums } = lens.weights(layer, head, row);
    const start = Math.floor((row * down) / rows) * across;
    for (let column = 0; column < columns; column++) {
      const cell = start + Math.floor((column * across) / columns);
      if (sums[column] > cells[cell]) cells[cell] = sums[column];
    }
  }
  const largest = cells.reduce((one, other) => Math.max(one, other), 1e-6);
  const image = new ImageData(across, down);
  const [red, green, blue] = rgb(colour);
  cells.forEach((weight, cell) => image.data.set([red, green, blue, 255 * (weight / largest) ** 0.6], 4 * cell));
  const small = new OffscreenCanvas(across, down);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, width, height);
  return largest;
}

function rgb(colour) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

export const percent = (weight) => `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)} %`;

/** Returns whether most letters of a text are of scripts that are written from right to left. */
export function isRightToLeft(text) {
  const count = (pattern) => (text.match(pattern) ?? []).length;
  return count(/[\u0590-\u08ff\ufb1d-\ufefc]/g) * 2 > count(/\p{L}/gu);
}
