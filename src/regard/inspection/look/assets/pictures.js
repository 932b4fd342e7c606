// Pictures with heat over their patches: who looks (the class token, all patches on average, or one patch), what is
// read of each patch, and how it is painted.

const PALE = 0.42; // of the picture's darkness that is left under heat
const FRAME = "#0b4f94"; // around the patch that looks
const heldCodes = new Map();
const heldMeans = new Map();
let heatColours = null;

/** The picture that is being looked at; its patches are counted from 0, row by row, after the class token. */
function picture() {
  return text().picture;
}

function patches() {
  return picture().grid[0] * picture().grid[1];
}

/** -1 stands for all patches on average; else a position, the class token being 0 where there is one. */
const MEAN = -1;

function firstReader() {
  return picture().extra ? 0 : MEAN;
}

function placeName(position) {
  if (position === MEAN) return "all patches on average";
  if (position < picture().extra) return "the class token";
  const patch = position - picture().extra, wide = picture().grid[1];
  return `the patch in row ${Math.floor(patch / wide) + 1}, column ${(patch % wide) + 1}`;
}

const pointing = { reader: null, pointed: null, heat: 1, smooth: false };

/** Who looks: the patch that is pointed at, else who was chosen, else the class token or all patches on average. */
function reader() {
  return pointing.pointed ?? pointing.reader ?? firstReader();
}

/** Whether the numbers under this name have arrived. */
function arrived(one) {
  return Boolean(one.key && document.getElementById(`n:${one.key}`));
}

/** What one position reads of every position; only its own row is unpacked, so that all heads follow a finger. */
function readsOf(one, position) {
  const size = patches() + picture().extra;
  if (position === MEAN) return meanReads(one, size);
  const codes = codesOf(one.key);
  return Float64Array.from({ length: size }, (_, column) => weightOf(codes[position * size + column], one.scale));
}

function meanReads(one, size) {
  if (!heldMeans.has(one.key)) {
    const codes = codesOf(one.key), mean = new Float64Array(size), extra = picture().extra;
    for (let row = extra; row < size; row++)
      for (let column = 0; column < size; column++)
        mean[column] += weightOf(codes[row * size + column], one.scale) / (size - extra);
    heldMeans.set(one.key, mean);
  }
  return heldMeans.get(one.key);
}

function codesOf(key) {
  if (!heldCodes.has(key)) heldCodes.set(key, new Uint16Array(bytesOf(key).buffer));
  return heldCodes.get(key);
}

function weightOf(code, { start, step }) {
  return code > 1 ? Math.exp(start + step * (code - 2)) : code ? SMALLEST / 2 : 0;
}

/** The shade of every patch, 0 to 255: its weight against that of the strongest. */
function heatOf(weights) {
  const own = weights.subarray(picture().extra);
  const most = own.reduce((top, weight) => Math.max(top, weight), SMALLEST);
  return Array.from(own, (weight) => Math.round((255 * weight) / most));
}

function mixHeat() {
  heatColours = ramp(["--heat-none", "--heat-some", "--heat-much", "--heat-all"].map(resolved));
}

themeListeners.unshift(mixHeat);

/** The picture one pixel a pixel, in its colours, or in a light grey that heat is read on; each is drawn once. */
const plates = new Map();

function plate(one, grey) {
  const name = `${one.key} ${grey}`;
  if (plates.has(name)) return plates.get(name);
  const canvas = element("canvas", { width: one.columns, height: one.rows });
  const context = canvas.getContext("2d"), image = context.createImageData(one.columns, one.rows);
  const bytes = bytesOf(one.key);
  for (let pixel = 0; pixel < one.rows * one.columns; pixel++) {
    const [red, green, blue] = bytes.subarray(3 * pixel, 3 * pixel + 3);
    const light = 255 - PALE * (255 - 0.3 * red - 0.59 * green - 0.11 * blue);
    image.data.set(grey ? [light, light, light, 255] : [red, green, blue, 255], 4 * pixel);
  }
  context.putImageData(image, 0, 0);
  plates.set(name, canvas);
  return canvas;
}

/** Paints the picture; where there is heat, it lies as ink over the picture's light and shade. */
function paintPicture(canvas, shades, { width, heat = 1, smooth = false } = {}) {
  const one = picture(), height = Math.round((width * one.rows) / one.columns);
  const fine = Math.min(devicePixelRatio || 1, 2), size = [width * fine, height * fine];
  [canvas.width, canvas.height] = size;
  const context = canvas.getContext("2d");
  const small = one.columns > size[0];
  context.imageSmoothingEnabled = small;
  context.drawImage(plate(one, false), 0, 0, ...size);
  if (!shades || !heat) return;
  const heated = element("canvas", { width: size[0], height: size[1] }), ink = heated.getContext("2d");
  ink.imageSmoothingEnabled = small;
  ink.drawImage(plate(one, true), 0, 0, ...size);
  const [rows, columns] = one.grid;
  ink.globalCompositeOperation = "multiply";
  ink.imageSmoothingEnabled = smooth;
  ink.imageSmoothingQuality = "high";
  ink.drawImage(pixels(rows, columns, heatColours, (row, column) => shades[row * columns + column]), 0, 0, ...size);
  context.globalAlpha = heat;
  context.drawImage(heated, 0, 0);
  context.globalAlpha = 1;
}

/** A frame around one patch. */
function framePatch(canvas, patch) {
  const [rows, columns] = picture().grid, context = canvas.getContext("2d");
  const wide = canvas.width / columns, high = canvas.height / rows;
  const left = (patch % columns) * wide, top = Math.floor(patch / columns) * high;
  const line = Math.max(2, Math.min(wide, high) / 14);
  for (const [wider, colour] of [[line, "#fff"], [line / 2, FRAME]]) {
    context.lineWidth = wider;
    context.strokeStyle = colour;
    context.strokeRect(left + line / 2, top + line / 2, wide - line, high - line);
  }
}

/** The patch under a pointer. */
function patchAt(canvas, event) {
  const box = canvas.getBoundingClientRect(), [rows, columns] = picture().grid;
  const inside = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
  return inside((event.clientY - box.top) / box.height, rows) * columns
    + inside((event.clientX - box.left) / box.width, columns);
}

/** One patch cut out of the picture. */
function cutOut(patch, size) {
  const one = picture(), [rows, columns] = one.grid;
  const canvas = element("canvas", { class: "cut-out", width: size, height: size, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const wide = one.columns / columns, high = one.rows / rows;
  context.imageSmoothingEnabled = wide > size;
  context.drawImage(plate(one, false), (patch % columns) * wide, Math.floor(patch / columns) * high, wide, high, 0, 0,
    size, size);
  return canvas;
}

/** Buttons for those who look without being patches, and the name of the patch where one does. */
function readerChips(hold) {
  const box = element("div", { class: "readers", role: "group", "aria-label": "Who looks" });
  return {
    box,
    build() {
      const own = picture().extra ? [[0, "class token"], [MEAN, "all patches"]] : [[MEAN, "all patches"]];
      box.replaceChildren(element("span", { class: "quiet" }, "who looks"), ...own.map(([position, words]) =>
        element("button", { type: "button", class: "chip", "data-position": position, onclick: () => hold(position) },
          words)), element("output", { class: "quiet" }));
    },
    tell() {
      for (const chip of box.querySelectorAll("button"))
        chip.setAttribute("aria-pressed", String(Number(chip.dataset.position) === reader()));
      box.lastChild.textContent = reader() >= picture().extra ? placeName(reader()) : "";
    },
  };
}

/** Lets a canvas choose who looks: a patch that is pointed at, until one is held by a click. */
function followPointer(canvas, paint) {
  const point = (position) => {
    if (pointing.pointed === position) return;
    pointing.pointed = position;
    paint();
  };
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && pointing.reader === null) point(patchAt(canvas, event) + picture().extra);
  });
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("click", (event) => { hold(patchAt(canvas, event) + picture().extra); paint(); });
}

/** Holds who looks, or lets go of whom is held already. */
function hold(position) {
  pointing.reader = pointing.reader === position || position === firstReader() ? null : position;
  pointing.pointed = null;
}
