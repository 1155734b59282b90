// The metadata in a LiteRT file, a flatbuffer: see tfattn/litert/model_file.py.

const BUFFERS = 4, METADATA = 6; // fields of the root table
const DIGEST = 32; // bytes in front of the description
const NAME = "tfattn";

/** Returns the description in the content of a LiteRT file, and the embedded files by name. */
export function metadata(content) {
  const view = new DataView(content);
  const root = target(view, 0);
  const buffers = tables(view, field(view, root, BUFFERS));
  const entries = new Map();
  for (const table of tables(view, field(view, root, METADATA))) {
    const name = new TextDecoder().decode(bytes(view, field(view, table, 0)));
    const at = field(view, table, 1);
    entries.set(name, bytes(view, field(view, buffers[at ? view.getUint32(at, true) : 0], 0)));
  }
  if (!entries.has(NAME)) throw new Error("The file has no description: it is not of tfattn.");
  const files = new Map();
  for (const [name, data] of entries) {
    if (name.startsWith(`${NAME}/`)) files.set(name.slice(NAME.length + 1), data);
  }
  return { description: JSON.parse(new TextDecoder().decode(entries.get(NAME).subarray(DIGEST))), files };
}

const target = (view, position) => position + view.getUint32(position, true);

/** Returns the position of a field of a table; 0 if it has its default value. */
function field(view, table, number) {
  const vtable = table - view.getInt32(table, true);
  const entry = 4 + 2 * number;
  const within = entry < view.getUint16(vtable, true) ? view.getUint16(vtable + entry, true) : 0;
  return within ? table + within : 0;
}

/** Returns the positions of the tables of a vector. */
function tables(view, position) {
  if (!position) return [];
  const start = target(view, position);
  return Array.from({ length: view.getUint32(start, true) }, (_, index) => target(view, start + 4 + 4 * index));
}

function bytes(view, position) {
  if (!position) return new Uint8Array();
  const start = target(view, position);
  return new Uint8Array(view.buffer, start + 4, view.getUint32(start, true));
}
