// One head as a matrix with both token axes, however long the text, and the exact value of a cell.

const SIZES = [1, 2, 4, 8, 14, 20, 28, 44];
const WRITTEN_FROM = 44; // pixels of a cell that hold a number
const NAMED_FROM = 13; // pixels of a cell beside which a token can be read

function matrixPart() {
  const canvas = element("canvas", { class: "matrix", tabindex: "0", role: "application" });
  const spacer = element("div", { class: "spacer" });
  const box = element("div", { class: "matrix-box" }, canvas, spacer);
  const value = element("output", { class: "value", "aria-live": "polite" });
  const size = element("span", { class: "quiet size" });
  const missing = element("div");
  const panel = element("div", { class: "matrix-part" },
    element("div", { class: "matrix-bar" }, value, element("span", { class: "buttons" },
      element("button", { type: "button", "aria-label": "Smaller cells", onclick: () => zoom(-1) }, "−"), size,
      element("button", { type: "button", "aria-label": "Larger cells", onclick: () => zoom(1) }, "+"))),
    missing, box);
  let cell = 28, picture = null, weights = null, rows = [], columns = [], at = { row: 0, column: 0 },
    margin = { left: 0, top: 0 };

  function show() {
    const one = attention();
    [rows, columns] = [rowsOf(one), columnsOf(one)];
    weights = inFull() ? headWeights() : null;
    box.hidden = !weights;
    missing.replaceChildren(...(weights ? [] : [notHere(now.head)]));
    if (!weights) { value.textContent = ""; return; }
    at = { row: Math.min(at.row, rows.length - 1), column: Math.min(at.column, columns.length - 1) };
    paint();
    say();
  }

  function paint() {
    const one = attention();
    picture = pixels(rows.length, columns.length, weightColours, (row, column) =>
      one.causal && column > row ? -1 : weightShade(weights[row * columns.length + column]));
    place();
  }

  /** Cells as large as the box allows, if nobody chose. */
  function fit() {
    const width = box.clientWidth - 110, height = Math.min(innerHeight * 0.7, 640) - 90;
    const most = Math.min(width / columns.length, height / rows.length);
    cell = SIZES.filter((one) => one <= Math.max(most, 14)).at(-1);
  }

  function zoom(step) {
    const next = SIZES.indexOf(cell) + step;
    if (next < 0 || next >= SIZES.length) return;
    cell = SIZES[next];
    place();
    reveal();
  }

  function place() {
    const context = canvas.getContext("2d");
    context.font = "12px system-ui, sans-serif";
    const longest = (tokens) =>
      Math.min(Math.max(...tokens.slice(0, 400).map((token) => context.measureText(label(token)).width), 20), 96) + 12;
    margin = cell >= NAMED_FROM ? { left: longest(rows), top: longest(columns) } : { left: 40, top: 34 };
    spacer.style.width = `${margin.left + cell * columns.length + 2}px`;
    spacer.style.height = `${margin.top + cell * rows.length + 2}px`;
    box.style.height = `min(${margin.top + cell * rows.length + 20}px, 72vh, 720px)`;
    size.textContent = `${cell} px`;
    draw();
  }

  function draw() {
    if (!weights || !box.clientWidth) return;
    const [width, height] = [box.clientWidth, box.clientHeight];
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const { scrollLeft, scrollTop } = box;
    const first = { row: Math.floor(scrollTop / cell), column: Math.floor(scrollLeft / cell) };
    const last = { row: Math.min(rows.length, Math.ceil((scrollTop + height) / cell)),
      column: Math.min(columns.length, Math.ceil((scrollLeft + width) / cell)) };
    const x = (column) => margin.left + column * cell - scrollLeft, y = (row) => margin.top + row * cell - scrollTop;
    context.save();
    context.beginPath();
    context.rect(margin.left, margin.top, width, height);
    context.clip();
    context.imageSmoothingEnabled = false;
    const [wide, high] = [last.column - first.column, last.row - first.row];
    context.drawImage(picture, first.column, first.row, wide, high, x(first.column), y(first.row), wide * cell,
      high * cell);
    if (cell >= WRITTEN_FROM) write(context, first, last, x, y);
    context.strokeStyle = colourOf("--mark");
    context.lineWidth = 2;
    const inset = cell > 6 ? 1 : -1;
    context.strokeRect(x(at.column) + inset, y(at.row) + inset, cell - 2 * inset, cell - 2 * inset);
    context.restore();
    axes(context, first, last, x, y);
  }

  function write(context, first, last, x, y) {
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = first.row; row < last.row; row++)
      for (let column = first.column; column < last.column; column++) {
        const weight = weights[row * columns.length + column];
        if (attention().causal && column > row) continue;
        context.fillStyle = inkOn(weightColours, weightShade(weight));
        context.fillText(digits(weight), x(column) + cell / 2, y(row) + cell / 2, cell - 2);
      }
  }

  function axes(context, first, last, x, y) {
    const every = cell >= NAMED_FROM ? 1 : Math.ceil(36 / cell);
    const ink = colourOf("--ink"), quiet = colourOf("--quiet"), accent = colourOf("--accent");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colourOf("--paper");
    context.fillRect(0, 0, margin.left, box.clientHeight);
    context.fillRect(0, 0, box.clientWidth, margin.top);
    context.textAlign = "right";
    for (let row = first.row; row < last.row; row++) {
      if (row % every && row !== at.row) continue;
      if (y(row) + cell / 2 < margin.top) continue;
      context.fillStyle = row === at.row ? accent : every > 1 ? quiet : ink;
      context.fillText(every > 1 ? String(row) : label(rows[row]), margin.left - 6, y(row) + cell / 2,
        margin.left - 10);
    }
    context.textAlign = "left";
    for (let column = first.column; column < last.column; column++) {
      if (column % every && column !== at.column) continue;
      if (x(column) + cell / 2 < margin.left) continue;
      context.save();
      context.translate(x(column) + cell / 2, margin.top - 6);
      context.rotate(every > 1 ? 0 : -Math.PI / 2);
      context.textAlign = every > 1 ? "center" : "left";
      context.fillStyle = column === at.column ? accent : every > 1 ? quiet : ink;
      context.fillText(every > 1 ? String(column) : label(columns[column]), 0, 0, margin.top - 10);
      context.restore();
    }
  }

  function say() {
    const masked = attention().causal && at.column > at.row;
    const weight = masked ? "masked" : digits(weights[at.row * columns.length + at.column]);
    value.replaceChildren(element("span", {}, `${quoted(rows[at.row])} → ${quoted(columns[at.column])} `),
      element("strong", {}, weight),
      element("span", { class: "quiet" }, ` row ${at.row}, column ${at.column}`));
    canvas.setAttribute("aria-label",
      `Weights of ${headName()}, ${rows.length} rows of tokens that look, ${columns.length} columns that are `
        + `looked at; arrow keys move. ${value.textContent}`);
  }

  function move(row, column) {
    at = { row: Math.max(0, Math.min(rows.length - 1, row)),
      column: Math.max(0, Math.min(columns.length - 1, column)) };
    say();
    draw();
  }

  function reveal() {
    const seen = { width: box.clientWidth - margin.left, height: box.clientHeight - margin.top };
    const [left, top] = [at.column * cell, at.row * cell];
    if (left < box.scrollLeft || left + cell > box.scrollLeft + seen.width) box.scrollLeft = left - seen.width / 2;
    if (top < box.scrollTop || top + cell > box.scrollTop + seen.height) box.scrollTop = top - seen.height / 2;
    draw();
  }

  function under(event) {
    const bounds = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - bounds.left - margin.left + box.scrollLeft) / cell);
    const row = Math.floor((event.clientY - bounds.top - margin.top + box.scrollTop) / cell);
    return event.clientX - bounds.left >= margin.left && event.clientY - bounds.top >= margin.top
      && column < columns.length && row < rows.length
      ? { row, column } : null;
  }

  canvas.addEventListener("pointermove", (event) => {
    const found = under(event);
    if (found && (found.row !== at.row || found.column !== at.column)) move(found.row, found.column);
  });
  canvas.addEventListener("click", () => change({ side: "row", at: at.row }));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], Home: [0, -1e9],
      End: [0, 1e9] }[event.key];
    if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1 : -1);
    if (!step) return;
    event.preventDefault();
    move(at.row + step[0], at.column + step[1]);
    reveal();
  });
  box.addEventListener("scroll", draw);
  new ResizeObserver(() => { if (weights) draw(); }).observe(box);
  themeListeners.push(() => weights && paint());

  /** All of the head's weights, however much of it is in sight: a few as squares that know their number. */
  function figure() {
    const size = Math.max(4, Math.min(26, Math.floor(1200 / Math.max(rows.length, columns.length))));
    const every = size >= 10 ? 1 : Math.ceil(36 / size), letters = Math.min(12, size - 1 + (every > 1 ? 8 : 0));
    const face = { "font-family": "system-ui, sans-serif", "font-size": letters, fill: colourOf("--ink") };
    const name = (tokens) => (place) => every > 1 ? String(place) : label(tokens[place]);
    const room = (tokens) => 12 + 0.62 * letters * Math.max(...tokens.map((_, place) => name(tokens)(place).length));
    const left = room(rows), top = room(columns) + letters;
    const made = sheet(left + size * columns.length + 8, top + size * rows.length + 8);
    if (rows.length * columns.length <= 4096) made.append(...squares(left, top, size));
    else made.append(drawn("image", { x: left, y: top, width: size * columns.length, height: size * rows.length,
      href: picture.toDataURL(), preserveAspectRatio: "none", style: "image-rendering: pixelated" }));
    const marked = (tokens) => tokens.map((_, place) => place).filter((place) => place % every === 0);
    made.append(...marked(rows).map((row) => drawn("text", { ...face, x: left - 6, "text-anchor": "end",
      y: top + (row + 0.5) * size + letters / 3 }, name(rows)(row))));
    made.append(...marked(columns).map((column) => drawn("text", { ...face,
      transform: `translate(${left + (column + 0.5) * size + letters / 3} ${top - 6}) rotate(-90)` },
      name(columns)(column))));
    made.append(drawn("title", {}, `Weights of ${headName()}: rows look, columns are looked at`));
    return made;
  }

  function squares(left, top, size) {
    const found = [];
    for (let row = 0; row < rows.length; row++)
      for (let column = 0; column < columns.length; column++) {
        if (attention().causal && column > row) continue;
        const weight = weights[row * columns.length + column];
        found.push(drawn("rect", { x: left + column * size, y: top + row * size, width: size, height: size,
          fill: css(weightColours, weightShade(weight)) },
          drawn("title", {}, `${label(rows[row])} → ${label(columns[column])}: ${digits(weight)}`)));
      }
    return found;
  }

  let fitted = "";
  return {
    panel,
    figure,
    show() {
      const shape = `${rowsOf(attention()).length}×${columnsOf(attention()).length}`;
      if (shape !== fitted && panel.clientWidth) {
        fitted = shape;
        [rows, columns] = [rowsOf(attention()), columnsOf(attention())];
        fit();
      }
      show();
    },
  };
}

const knownColours = new Map();
themeListeners.unshift(() => knownColours.clear());

/** A colour of the style sheet as canvases take it. */
function colourOf(variable) {
  if (!knownColours.has(variable)) knownColours.set(variable, `rgb(${resolved(variable).join(" ")})`);
  return knownColours.get(variable);
}
