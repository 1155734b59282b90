// Elements of the page.

/** An element of index.html. */
export const part = (id) => document.getElementById(id);

/** An element with properties and children. Strings become text, never markup. */
export function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Shows a part of the page, as the newest thing on it. */
export function show(id) {
  part(id).hidden = false;
  part(id).classList.remove("stale");
  part(id).scrollIntoView({ block: "nearest" });
}
