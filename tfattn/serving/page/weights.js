// Attention weights: unpacked from a file, or computed from the response of a server.

const SIDES = { encoder: ["", ""], decoder: ["target_", "target_"], cross: ["written_", ""] };

/** Unpacks views from the text of a file; tfattn/attention/payload.py describes the format. */
export async function unpacked(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = packed.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const end = all.indexOf(10);
  const known = JSON.parse(new TextDecoder().decode(all.subarray(0, end)));
  const blob = all.subarray(end + 1);
  return { ...known, parts: known.parts.map((part) => packedPart(part, known.sequences, blob)) };
}

function packedPart(part, sequences, blob) {
  const [layers, heads, numRows, kept] = part.columns.shape;
  const gaps = arrayOf(part.columns, blob);
  const shares = arrayOf(part.weights, blob);
  const largest = arrayOf(part.largest, blob);
  const rests = arrayOf(part.rest, blob);
  const [queries, keys] = [part.queries, part.keys].map((one) => one && arrayOf(one, blob));
  const width = part.queries?.shape[3];
  const numColumns = sequences[part.to].tokens.length;
  const place = (layer, head, row) => (layer * heads + head) * numRows + row;
  return {
    ...part, layers, heads, width, hasValues: Boolean(queries),
    /** Adds the weights of a row, times a factor, to the entries `places` of `sums`; returns the remaining weight. */
    add(layer, head, row, factor, places, sums) {
      const at = place(layer, head, row);
      const unit = (factor * largest[at]) / 65535 / 255;
      for (let entry = at * kept, column = 0; entry < (at + 1) * kept; entry++) {
        column += gaps[entry];
        if (places[column] >= 0) sums[places[column]] += unit * shares[entry];
      }
      return (factor * rests[at]) / 255;
    },
    query: (layer, head, row) => slice(queries, place(layer, head, row), width),
    key: (layer, head, column) => slice(keys, (layer * heads + head) * numColumns + column, width),
  };
}

const slice = (values, place, width) => values.subarray(place * width, (place + 1) * width);

function arrayOf({ at, shape, type }, blob) {
  const count = shape.reduce((one, other) => one * other, 1);
  if (type === "uint8") return blob.subarray(at, at + count);
  const [low, high] = [blob.subarray(at, at + count), blob.subarray(at + count, at + 2 * count)];
  const made = type === "uint16" ? new Uint16Array(count) : new Float32Array(count);
  for (let place = 0; place < count; place++) {
    const value = low[place] + 256 * high[place];
    made[place] = type === "uint16" ? value : half(value);
  }
  return made;
}

/** Decodes a float16 number. */
function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 32768 ? -size : size;
}

/** Computes views from responses of the signature `attention`, and of `attention_vectors` and others if the model has them. */
export function answered(title, attention, vectors, attributions) {
  const prefixes = ["", "target_", "written_"].filter((prefix) => `${prefix}tokens` in attention);
  const sequences = prefixes.map((prefix) => sequenceOf(attention, prefix));
  const found = Object.entries(SIDES).filter(([name]) => `${name}_weights` in attention);
  const parts = found.map(([name, sides]) => {
    const [from, to] = sides.map((side) => Math.max(prefixes.indexOf(side), 0));
    const told = ["queries", "keys"].map((kind) => vectors?.[`${name}_${kind}`]);
    return plainPart(name, from, to, attention[`${name}_weights`], ...told);
  });
  const own = parts.filter(({ from, to }) => from === to);
  const rolled = own.map((part) => rollout(part, sequences[part.to].tokens.length));
  return { title, sequences, parts: [...parts, ...rolled], attributions: attributions && attributed(attributions) };
}

function sequenceOf(outputs, prefix) {
  const length = outputs[`${prefix}segments`].filter((segment) => segment >= 0).length;
  const names = { tokens: "tokens", words: "words", wordTexts: "word_texts", segments: "segments", special: "is_special" };
  const known = Object.entries(names).map(([name, output]) => [name, outputs[`${prefix}${output}`].slice(0, length)]);
  return { ...Object.fromEntries(known), grid: outputs.grid, image: outputs.image_bytes?.b64 };
}

function plainPart(name, from, to, weights, queries, keys) {
  return {
    name, from, to, layers: weights.length, heads: weights[0].length,
    width: queries?.[0][0][0].length, hasVectors: Boolean(queries), hasValues: Boolean(queries),
    add(layer, head, row, factor, places, sums) {
      places.forEach((place, column) => {
        if (place >= 0) sums[place] += factor * weights[layer][head][row][column];
      });
      return 0;
    },
    query: (layer, head, row) => queries[layer][head][row],
    key: (layer, head, column) => keys[layer][head][column],
  };
}

/** Computes attention rollout: the product of layers, each the mean of its heads and the residual connection (Abnar and Zuidema 2020). */
function rollout(part, length) {
  const all = [...Array(length).keys()];
  let mixed = all.map((row) => all.map((column) => Number(row === column)));
  const layers = [];
  for (let layer = 0; layer < part.layers; layer++) {
    mixed = all.map((row) => {
      const mean = new Float64Array(length);
      for (let head = 0; head < part.heads; head++) part.add(layer, head, row, 1 / part.heads, all, mean);
      return all.map((column) => 0.5 * (mixed[row][column] + all.reduce((sum, by) => sum + mean[by] * mixed[by][column], 0)));
    });
    layers.push([mixed]);
  }
  return plainPart(`${part.name} rollout`, part.from, part.to, layers);
}

function attributed({ attributions: values, score, baseline_score: baseline, scored }) {
  return { values, score, baseline, scored, missing: score - baseline - values.reduce((one, other) => one + other, 0) };
}

/**
 * The displayed items of a part: tokens or words, without hidden ones. Attention to a word is summed over its tokens;
 * attention from a word is averaged.
 */
export function lensOf(views, part, { words, special, from, to }) {
  const rows = itemsOf(views.sequences[part.from], words, special, from);
  const columns = itemsOf(views.sequences[part.to], words, special, to);
  const sums = new Float32Array(columns.items.length);
  return {
    rows: rows.items,
    columns: columns.items,
    /** Returns the weights of an item, which the next call overwrites, and the sum of the weights that are not kept. */
    weights(layer, head, item) {
      const { tokens } = rows.items[item];
      let rest = 0;
      sums.fill(0);
      for (const token of tokens) rest += part.add(layer, head, token, 1 / tokens.length, columns.places, sums);
      return { sums, rest };
    },
  };
}

/** Sums numbers of tokens over the tokens of each displayed item. */
export function summed(views, values, { words, special }) {
  const { items } = itemsOf(views.sequences[0], words, special, "all");
  return items.map(({ label, tokens }) => [label, tokens.reduce((sum, token) => sum + values[token], 0)]);
}

/** Returns the displayed items (label, tokens, segment), and the item of each token, -1 for hidden tokens. */
function itemsOf(sequence, words, special, segment) {
  const places = new Int32Array(sequence.tokens.length).fill(-1);
  const items = [];
  sequence.tokens.forEach((token, place) => {
    const isHidden = (!special && sequence.special[place]) || (segment !== "all" && sequence.segments[place] !== +segment);
    if (isHidden) return;
    const last = items.at(-1);
    if (words && last?.word === sequence.words[place]) last.tokens.push(place);
    else {
      const label = words ? sequence.wordTexts[place] : token;
      items.push({ label, word: sequence.words[place], tokens: [place], segment: sequence.segments[place] });
    }
    places[place] = items.length - 1;
  });
  return { items, places };
}
