// Elements of the page.

/** Returns an element of index.html. */
export const part = (id) => document.getElementById(id);

/** Creates an element with properties and children. Strings become text, never markup. */
export function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Shows a part of the page and scrolls to it. */
export function show(id) {
  part(id).hidden = false;
  part(id).classList.remove("stale");
  part(id).scrollIntoView({ block: "nearest" });
}
