// A part of the page as an SVG file, made in the page and handed over by the browser: texts stay texts, lines stay lines,
// a canvas becomes a picture inside. Colours are those that are seen, on the page's ground.

const SVG = "http://www.w3.org/2000/svg";
const PAINT = ["fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "opacity"];
const LETTERS = ["font-family", "font-size", "font-weight", "text-anchor"];
const EDGE = 8; // pixels around a figure
const UNPRINTABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // what XML has no place for
const ruler = element("canvas").getContext("2d");

/** Buttons that save figures; each is a name and an element of the page, or what makes an SVG. */
function saveButtons(figures) {
  if (!figures.length) return null;
  return element("p", { class: "saves quiet" }, "save as SVG", ...figures.map(([name, figure]) =>
    element("button", { type: "button", class: "chip", title: `Save “${name}” as an SVG file`,
      onclick: () => save(name, typeof figure === "function" ? figure() : svgOf(figure)) }, name)));
}

function save(name, svg) {
  const text = new XMLSerializer().serializeToString(svg).replace(UNPRINTABLE, "\ufffd");
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  element("a", { download: `${name.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.svg`, href: address }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

function sheet(width, height) {
  return drawn("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height },
    drawn("rect", { width, height, fill: `rgb(${resolved("--paper").join(" ")})` }));
}

/** Everything that an element shows, also what one would have to scroll to. */
function svgOf(root) {
  const { left, top } = root.getBoundingClientRect();
  const made = sheet(Math.ceil(root.scrollWidth) + 2 * EDGE, Math.ceil(root.scrollHeight) + 2 * EDGE);
  const from = { left: left - root.scrollLeft - EDGE, top: top - root.scrollTop - EDGE };
  made.append(...parts(root, from, root));
  return made;
}

function parts(node, from, root) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.trim() ? texts(node, from) : [];
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches("select, input, option")) return [];
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden") return [];
  const bounds = node.getBoundingClientRect();
  const box = { x: bounds.left - from.left, y: bounds.top - from.top, width: bounds.width, height: bounds.height };
  if (node.tagName === "CANVAS") return [image(node, box, style)];
  if (node.namespaceURI === SVG) return [drawing(node, box)];
  const inside = [...ground(box, style), ...[...node.childNodes].flatMap((child) => parts(child, from, root))];
  const clipped = node !== root && style.overflowX !== "visible" && node.scrollWidth > node.clientWidth + 1;
  const shown = clipped ? [drawn("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` },
    ...inside)] : inside;
  return style.opacity === "1" || !shown.length ? shown : [drawn("g", { opacity: style.opacity }, ...shown)];
}

/** What lies below the children: a coloured ground, a border, a frame inside. */
function ground(box, style) {
  const found = [], rx = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2);
  const clear = (colour) => colour === "transparent" || /, 0\)|\/ 0\)/.test(colour);
  if (!clear(style.backgroundColor)) found.push(drawn("rect", { ...box, rx, fill: style.backgroundColor }));
  const framed = (colour, wide) => found.push(drawn("rect", { x: box.x + wide / 2, y: box.y + wide / 2, rx,
    width: Math.max(box.width - wide, 0), height: Math.max(box.height - wide, 0), fill: "none", stroke: colour,
    "stroke-width": wide }));
  const border = parseFloat(style.borderTopWidth), sides = parseFloat(style.borderLeftWidth);
  if (border && sides && style.borderTopStyle === "solid" && !clear(style.borderTopColor))
    framed(style.borderTopColor, border);
  const inset = style.boxShadow.match(/^(rgba?\([^)]*\)) 0px 0px 0px ([\d.]+)px inset$/);
  if (inset) framed(inset[1], parseFloat(inset[2]));
  return found;
}

/** The lines of a text, each where it stands. */
function texts(node, from) {
  const style = getComputedStyle(node.parentElement);
  ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const rise = ruler.measureText("x").fontBoundingBoxAscent;
  const look = { fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize,
    ...(style.fontWeight === "400" ? {} : { "font-weight": style.fontWeight }),
    ...(style.fontStyle === "normal" ? {} : { "font-style": style.fontStyle }) };
  return linesOf(node).map(([words, bounds]) => drawn("text", { x: (bounds.left - from.left).toFixed(1),
    y: (bounds.top - from.top + rise).toFixed(1), ...look, "xml:space": "preserve" }, words));
}

function linesOf(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  if (range.getClientRects().length < 2) return [[node.data, range.getBoundingClientRect()]];
  const lines = [];
  for (const word of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].trimEnd().length);
    const bounds = range.getClientRects()[0], last = lines.at(-1);
    if (last && bounds && Math.abs(last[1].top - bounds.top) < 2) last[0] += word[0];
    else if (bounds) lines.push([word[0], bounds]);
  }
  return lines;
}

function image(canvas, box, style) {
  return drawn("image", { ...box, href: canvas.toDataURL(), preserveAspectRatio: "none",
    style: `image-rendering: ${style.imageRendering}` });
}

/** An SVG of the page with the paint that its style sheet gives it. */
function drawing(svg, box) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, place) => {
    const style = getComputedStyle(original), names = original.tagName === "text" ? [...PAINT, ...LETTERS] : PAINT;
    for (const name of names) copies[place].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex"]) copies[place].removeAttribute(name);
  });
  for (const [name, value] of Object.entries({ ...box, overflow: "visible" })) copy.setAttribute(name, value);
  return copy;
}
