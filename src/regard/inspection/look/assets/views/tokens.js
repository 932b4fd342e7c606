// Tokens joined by attention: who looks on the left, what is looked at on the right, lines as strong as the weights.

const ROW_HEIGHT = 28;
const SHOWN_AT_REST = 0.06; // a weight from which on a line is drawn while nothing is pointed at
const LISTED = 10;

function tokensView() {
  const left = element("div", { class: "tokens left", role: "group", "aria-label": "who looks" });
  const right = element("div", { class: "tokens right", role: "group", "aria-label": "what is looked at" });
  const lines = drawn("svg", { class: "lines", "aria-hidden": "true" });
  const joined = element("div", { class: "joined" }, left, lines, right);
  const told = element("div", { class: "told", "aria-live": "polite" });
  const heading = element("p", { class: "quiet" });
  const panel = element("div", {}, heading, element("div", { class: "beside" },
    element("div", { class: "scroll", tabindex: "-1" },
      element("div", { class: "ends" }, element("span", {}, "looks"), element("span", {}, "is looked at")), joined),
        told));
  let marks = [];

  function build() {
    const one = attention();
    marks = [side(left, rowsOf(one), "row"), side(right, columnsOf(one), "column")];
    joined.style.height = `${Math.max(rowsOf(one).length, columnsOf(one).length) * ROW_HEIGHT}px`;
    heading.textContent = one.kind === "cross"
      ? "On the left the word that is being chosen, on the right the source that is read for it."
      : one.causal ? "Every token reads itself and what stands before it; what comes later is masked."
        : "Every token reads all tokens.";
  }

  function side(box, tokens, name) {
    const made = tokens.map((token, place) => element("button", {
      type: "button", class: "token", "data-side": name, "data-at": place,
      onfocus: () => change({ side: name, at: place }),
      onpointerenter: (event) => event.pointerType === "mouse" && point(name, place),
      onclick: () => change({ side: name, at: place }),
    }, element("span", { class: "number" }), element("span", { class: "word" }, label(token))));
    const fresh = element("div", { class: box.className, role: "group",
      "aria-label": box.getAttribute("aria-label") }, ...made);
    if (box === left) joined.replaceChild(fresh, joined.firstChild);
    else joined.replaceChild(fresh, joined.lastChild);
    const focus = roving(fresh, made, (key, at) => {
      if (key === "ArrowDown" || key === "ArrowUp") return at + (key === "ArrowDown" ? 1 : -1);
      if (key === "Home") return 0;
      if (key === "End") return made.length - 1;
      const over = { ArrowRight: "row", ArrowLeft: "column" }[key];
      if (over === name) marks[name === "row" ? 1 : 0].focus(Math.min(at,
        marks[name === "row" ? 1 : 0].made.length - 1));
      return undefined;
    });
    return { made, focus };
  }

  joined.addEventListener("pointerleave", () => point(now.side, now.at));

  function point(name, at) {
    const one = attention();
    const [rows, columns] = [rowsOf(one), columnsOf(one)];
    const known = inFull() ? headWeights() : null;
    const own = known && (name === "row" ? rowWeights(known, at, columns.length)
      : columnWeights(known, at, rows.length, columns.length));
    marks.forEach(({ made }, which) => made.forEach((mark, place) => {
      const facing = (which === 0) !== (name === "row");
      const weight = own && facing ? own[place] : 0;
      mark.classList.toggle("held", !facing && place === at);
      mark.style.background = facing && own ? css(weightColours, weightShade(weight)) : "";
      mark.style.color = facing && own ? inkOn(weightColours, weightShade(weight)) : "";
      mark.firstChild.textContent = facing && own && weight >= 0.0005 ? digits(weight) : "";
    }));
    draw(known, name, at, rows.length, columns.length);
    told.replaceChildren(...tell(known, name, at, one));
  }

  function draw(known, name, at, rows, columns) {
    const width = lines.clientWidth || 200;
    lines.setAttribute("viewBox", `0 0 ${width} ${Math.max(rows, columns) * ROW_HEIGHT}`);
    const made = [];
    const line = (row, column, weight, quiet) => {
      const [from, to] = [(row + 0.5) * ROW_HEIGHT, (column + 0.5) * ROW_HEIGHT];
      made.push(drawn("path", {
        d: `M0 ${from}C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}`, class: quiet ? "line" : "line lit",
        "stroke-width": (0.6 + 6 * weight).toFixed(2),
          "stroke-opacity": (quiet ? 0.45 * weight : 0.25 + 0.75 * weight).toFixed(3),
      }));
    };
    if (!known) return lines.replaceChildren();
    if (rows * columns <= 4096)
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < columns; column++) {
          const weight = known[row * columns + column];
          if (weight >= SHOWN_AT_REST) line(row, column, weight, true);
        }
    const pointed = name === "row" ? rowWeights(known, at, columns) : columnWeights(known, at, rows, columns);
    pointed.forEach((weight, place) => weight >= 0.005 && line(name === "row" ? at : place, name === "row" ? place
      : at, weight, false));
    lines.replaceChildren(...made);
  }

  function tell(known, name, at, one) {
    if (!known) return [notHere(now.head)];
    const [rows, columns] = [rowsOf(one), columnsOf(one)];
    const found = [];
    const same = one.kind !== "cross";
    if (name === "row" || same) found.push(...list(`${quoted(rows[at])} looks at`,
      rowWeights(known, at, columns.length), columns));
    if (name === "column" || same)
      found.push(...list(`${quoted(columns[at])} is looked at by`,
        columnWeights(known, at, rows.length, columns.length), rows));
    return found;
  }

  return {
    id: "tokens", title: "Tokens", panel, usesHead: true,
    figures: () => [["tokens joined by attention", joined]],
    update(what) {
      if (what.text !== undefined || what.head !== undefined || !marks.length) build();
      marks[now.side === "row" ? 0 : 1].made.forEach((mark, place) => { mark.tabIndex = place === now.at ? 0 : -1; });
      point(now.side, now.at);
    },
  };
}

function rowWeights(weights, row, columns) {
  return weights.subarray(row * columns, (row + 1) * columns);
}

function columnWeights(weights, column, rows, columns) {
  return Float64Array.from({ length: rows }, (_, row) => weights[row * columns + column]);
}

/** The strongest of some weights as a list with bars. */
function list(title, weights, tokens) {
  const best = greatest(weights, LISTED).filter((place) => weights[place] > 0);
  const rest = weights.length - best.length;
  return [
    element("h3", {}, title),
    element("ol", { class: "bars" }, ...best.map((place) => element("li", {},
      element("span", { class: "bar", style: `--share: ${Math.min(weights[place], 1)}` }),
      element("span", { class: "word" }, label(tokens[place]), element("sub", {}, String(place))),
      element("span", { class: "value" }, digits(weights[place]))))),
    rest > 0 && best.length === LISTED ? element("p", { class: "quiet" }, `and ${rest} others`) : null,
  ].filter(Boolean);
}

function notHere(place) {
  if (head(place).key) return element("p", { class: "missing" }, "This head is still being loaded.");
  return element("p", { class: "missing" },
    "This head is here as a thumbnail only, to keep the page small. To see it in full: ",
    element("code", {}, commandFor(place)));
}
