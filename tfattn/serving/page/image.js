// An image as an input: chosen or dropped, displayed, and sent as the bytes of its file.

import { element } from "./elements.js";

const KINDS = "image/jpeg,image/png,image/gif,image/bmp";
const LARGEST_SHOWN = 256; // pixels

/** Returns a control for an image file; `ready` waits until it is read, `picture` returns the displayed image. */
export function image({ height, width, max_bytes: mostBytes }) {
  const control = element("input", { type: "file", accept: KINDS });
  const canvas = element("canvas", { hidden: true, role: "img" });
  const words = element("p", { className: "hint" }, "Drop an image here, or choose one");
  const body = element("div", { className: "drop" }, canvas, element("div", {}, control, words));
  let data = "";
  let reading = Promise.resolve();

  async function read() {
    const [file] = control.files;
    data = "";
    canvas.hidden = true;
    words.textContent = file ? "" : "Drop an image here, or choose one";
    if (!file) return;
    if (mostBytes && file.size > mostBytes) throw new Error(`${file.name} has more than ${mostBytes} bytes.`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    data = base64(bytes);
    words.textContent = `${file.name}, ${file.size.toLocaleString("en")} bytes`;
    await draw(canvas, file, words);
  }

  const take = () => {
    reading = read();
    reading.catch(() => {}); // an error is reported when the form is sent
  };
  const give = (file) => {
    const transfer = new DataTransfer();
    transfer.items.add(file);
    control.files = transfer.files;
    take();
  };
  control.onchange = take;
  for (const kind of ["dragenter", "dragover"]) {
    body.addEventListener(kind, (event) => {
      event.preventDefault();
      body.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) body.addEventListener(kind, () => body.classList.remove("over"));
  body.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = [...event.dataTransfer.files].find((one) => one.type.startsWith("image/")) ?? event.dataTransfer.files[0];
    if (file) give(file);
  });

  return {
    control,
    body,
    kind: width ? `read at ${width} × ${height} pixels` : "",
    json: () => JSON.stringify({ b64: data }),
    fill: (value) => value && give(new File([bytesOf(value.b64)], "example")),
    isBlank: () => !control.files.length,
    ready: () => reading,
    file: () => ({ name: control.files[0]?.name ?? "", data }),
    picture: () => (canvas.hidden ? null : copy(canvas)),
  };
}

/** Draws a file if the browser can decode it; small images are enlarged without smoothing. */
async function draw(canvas, file, words) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    words.textContent += ": this browser cannot show it";
    return;
  }
  const scale = Math.min(LARGEST_SHOWN / bitmap.width, LARGEST_SHOWN / bitmap.height);
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = scale < 1;
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  canvas.ariaLabel = file.name;
  canvas.hidden = false;
}

function copy(canvas) {
  const copied = element("canvas", { width: canvas.width, height: canvas.height, role: "img", className: "picture" });
  copied.ariaLabel = canvas.ariaLabel;
  copied.getContext("2d").drawImage(canvas, 0, 0);
  return copied;
}

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function base64(bytes) {
  let text = "";
  for (let place = 0; place < bytes.length; place += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(place, place + 0x8000));
  }
  return btoa(text);
}
