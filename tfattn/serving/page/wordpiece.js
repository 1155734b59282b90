// WordPiece tokenization from the files in a LiteRT file: the steps of tfattn/litert/wordpiece.py.

const MAX_WORD_LENGTH = 100; // characters; longer words are unknown
const LETTER = 0, ALONE = 1, DROPPED = 3; // the low two bits of an entry of the table of characters; 2 is a space

export class WordPieceReader {
  /** Creates a tokenizer of texts, or of pairs of texts, from the files of `metadata`. */
  constructor(files) {
    const text = (name) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(files.get(name));
    const settings = JSON.parse(files.has("tokenizer_config.json") ? text("tokenizer_config.json") : "{}");
    const missing = ["vocab.txt", "tokenizer_config.json", "characters.i32"].filter((name) => !files.has(name));
    if (missing.length) throw new Error(`The model has another tokenizer: it has no ${missing.join(", ")}.`);
    if (settings.doc_stride) throw new Error("The model reads long texts in windows.");
    this.fields = settings.fields;
    this.maxLength = settings.model_max_length;
    this.numbers = new Map(text("vocab.txt").split("\n").slice(0, -1).map((token, number) => [token, number]));
    const table = new DataView(files.get("characters.i32").slice().buffer);
    const value = (index) => table.getInt32(4 * index, true);
    const columns = value(0);
    this.starts = [];
    this.entries = [];
    for (let index = 1; 4 * index < table.byteLength; index += columns) {
      this.starts.push(value(index));
      this.entries.push(Array.from({ length: columns - 1 }, (_, column) => value(index + 1 + column)));
    }
  }

  /** Returns the token ids and segment ids of a row: [CLS] a [SEP], or [CLS] a [SEP] b [SEP]. */
  sequence(...texts) {
    const parts = texts.map((text) => this.ids(text));
    const room = this.maxLength - texts.length - 1;
    const ids = [this.numbers.get("[CLS]")], segments = [0];
    for (const [number, length] of kept(parts.map((part) => part.length), room).entries()) {
      const part = [...parts[number].slice(0, length), this.numbers.get("[SEP]")];
      ids.push(...part);
      segments.push(...part.map(() => number));
    }
    return { ids, segments };
  }

  /** Returns the ids of the pieces of a text. */
  ids(text) {
    return [...this.words(text)].flatMap((word) => this.pieces(word));
  }

  /** Returns the normalized words of a text, as lists of characters. */
  *words(text) {
    let word = [];
    for (const character of text) {
      const code = character.codePointAt(0);
      for (const entry of this.entries[this.run(code)]) {
        const kind = entry & 3;
        if (kind === DROPPED) continue;
        if (kind === LETTER) {
          word.push(String.fromCodePoint(code + (entry >> 2)));
          continue;
        }
        if (word.length) yield word;
        if (kind === ALONE) yield [String.fromCodePoint(code + (entry >> 2))];
        word = [];
      }
    }
    if (word.length) yield word;
  }

  /** Returns the row of the table with a code point: the last row that does not start after it. */
  run(code) {
    let low = 0, high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= code) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Splits a word into the longest pieces from the left. */
  pieces(word) {
    const unknown = [this.numbers.get("[UNK]")], found = [];
    for (let start = 0; start < word.length && word.length <= MAX_WORD_LENGTH; ) {
      let end = word.length, number;
      for (; end > start; end--) {
        number = this.numbers.get((start ? "##" : "") + word.slice(start, end).join(""));
        if (number !== undefined) break;
      }
      if (number === undefined) return unknown;
      found.push(number);
      start = end;
    }
    return found.length ? found : unknown;
  }
}

/** Returns the number of pieces of each text to keep: the longer text is truncated first. */
function kept(lengths, room) {
  if (lengths.length === 1) return [Math.min(lengths[0], room)];
  const [first, second] = lengths;
  const shorter = Math.min(first, second, Math.floor(room / 2));
  const longer = Math.min(Math.max(first, second), room - shorter);
  return first > second ? [longer, shorter] : [shorter, longer];
}
