// A graph with what one head reads: the node that reads has a ring, arcs lead to what it reads, shades say how much.

const DRAWN = 1000; // the longer side, in units of the drawing
const EVERY_NAME = 40; // nodes up to which each has its name beside it
const ARC = 0.01; // a weight from which on an arc is drawn

/** The node that is asked about, else the one with most edges. */
function firstNode() {
  const { edges, asked, places } = text().graph;
  if (asked.length) return asked[0];
  const counts = places.map(() => 0);
  edges.forEach((ends) => ends.forEach((end) => counts[end]++));
  return counts.indexOf(Math.max(...counts));
}

/** A name in two parts: what stands in the circle, if it is short, and what beside it. */
function nodeName(place) {
  const words = label(text().tokens[place]).split(" ");
  return words.length > 1 && words[0].length <= 2 ? [words[0], words.slice(1).join(" ")] : ["", words.join(" ")];
}

function graphView() {
  const picture = drawn("svg", { class: "graph", role: "application", tabindex: "0" });
  const title = element("h3", { class: "head-title" });
  const classes = element("div"), told = element("div", { class: "strongest", "aria-live": "polite" });
  const grid = element("div", { class: "thumbs" }), gridTitle = element("h3");
  const panel = element("div", { class: "seen drawn-graph" },
    element("div", { class: "seen-left" }, title, picture, element("p", { class: "quiet" },
      "Thin lines are edges; an arc leads from the node with the ring to each that it reads, the thicker the more. A node's ",
      "shade is its weight: ", element("span", { class: "legend" }), " 0 to the greatest. Point at a node, or press the ",
      "arrow keys; a click holds it.")),
    element("div", { class: "seen-right" }, element("div", { class: "seen-top" }, classes, told),
      element("section", { "aria-label": "Every head" }, gridTitle, grid)));
  let built = -1, buttons = [], nodes = [], arcs = null, pointed = null, spots = [], radius = 12;

  const reading = () => pointed ?? now.at;
  const rowOf = (place, at) => rowWeights(headWeights(place), at, text().tokens.length);

  function build() {
    built = now.text;
    pointed = null;
    const { places, edges } = text().graph;
    radius = Math.max(7, Math.min(26, 190 / Math.sqrt(places.length)));
    const margin = 3 * radius + 24, [wide, high] = [0, 1].map((axis) => Math.max(...places.map((one) => one[axis])));
    const scale = (DRAWN - 2 * margin) / Math.max(wide, high, 1e-9);
    const height = Math.max(high * scale + 2 * margin, 260), width = Math.max(wide * scale + 2 * margin, 260);
    spots = places.map(([x, y]) => [x * scale + (width - wide * scale) / 2, y * scale + (height - high * scale) / 2]);
    picture.setAttribute("viewBox", `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`);
    arcs = drawn("g");
    nodes = spots.map(([x, y], place) => {
      const [inside, beside] = nodeName(place);
      const node = drawn("g", { class: "node" }, drawn("title", {}, label(text().tokens[place])),
        drawn("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: radius.toFixed(1) }),
        drawn("text", { x: x.toFixed(1), y: y.toFixed(1), class: "inside", "font-size": (1.05 * radius).toFixed(1) }, inside),
        drawn("text", { x: (x + (x > 0.8 * width ? -0.9 : 0.9) * radius).toFixed(1), y: (y - radius).toFixed(1),
          class: "beside", "text-anchor": x > 0.8 * width ? "end" : "start" }, beside));
      node.addEventListener("pointerenter", () => { pointed = place; paint(); });
      node.addEventListener("click", () => { pointed = null; change({ side: "row", at: place }); });
      return node;
    });
    picture.replaceChildren(drawn("g", { class: "edges" }, ...edges.map(([one, other]) => drawn("line", {
      x1: spots[one][0].toFixed(1), y1: spots[one][1].toFixed(1), x2: spots[other][0].toFixed(1),
      y2: spots[other][1].toFixed(1) }))), arcs, ...nodes);
    classes.replaceChildren(...(text().classes.length ? [element("h3", {}, "What it says"), element("ol", { class: "bars" },
      ...text().classes.slice(0, 8).map(([name, chance]) => element("li", {},
        element("span", { class: "bar", style: `--share: ${Math.min(Math.max(chance, 0), 1)}` }),
        element("span", { class: "word" }, name), element("span", { class: "value" }, percent(chance)))))] : []));
    thumbs();
  }

  /** Every head as the same drawing, small, shaded by what the node reads. */
  function thumbs() {
    buttons = [];
    const most = Math.max(...text().attentions.map((one) => one.heads));
    const cells = [element("span"), ...Array.from({ length: most }, (_, place) => element("span", { class: "axis" },
      String(place)))];
    text().attentions.forEach((one, layer) => {
      cells.push(element("span", { class: "axis", title: one.name }, String(one.layer)));
      for (let place = 0; place < most; place++) {
        const at = text().heads.findIndex((own) => own.attention === layer && own.head === place);
        if (at < 0) { cells.push(element("span")); continue; }
        const words = `${one.name}, head ${place}${text().heads[at].key ? "" : " (thumbnail only)"}`;
        const button = element("button", { type: "button", class: "thumb", "aria-label": words, title: words,
          onclick: () => change({ head: at }), onfocus: () => now.head !== at && change({ head: at }) },
        element("canvas", { width: 168, height: 168 }));
        button.place = at;
        buttons.push(button);
        cells.push(button);
      }
    });
    grid.replaceChildren(element("div", { class: "thumb-grid graphs", style: `--heads: ${most}` }, ...cells));
    roving(grid, buttons, (key, at) => {
      const wide = attention(buttons[at].place).heads;
      return { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + wide, ArrowUp: at - wide }[key];
    });
  }

  function paintThumb(button, at) {
    const canvas = button.firstChild, context = canvas.getContext("2d");
    const weights = inFull(button.place) ? rowOf(button.place, at) : null;
    const [low, high] = [0, 1].map((axis) => [Math.min, Math.max].map((pick) => pick(...spots.map((one) => one[axis]))));
    const scale = 140 / Math.max(low[1] - low[0], high[1] - high[0], 1);
    const dot = Math.max(3, Math.min(9, 50 / Math.sqrt(spots.length)));
    const middle = ([x, y]) => [84 + scale * (x - (low[0] + low[1]) / 2), 84 + scale * (y - (high[0] + high[1]) / 2)];
    context.clearRect(0, 0, 168, 168);
    context.strokeStyle = getComputedStyle(button).color;
    context.globalAlpha = 0.25;
    for (const [one, other] of text().graph.edges) {
      context.beginPath();
      context.moveTo(...middle(spots[one]));
      context.lineTo(...middle(spots[other]));
      context.stroke();
    }
    context.globalAlpha = 1;
    const most = weights ? Math.max(...weights) : 1;
    spots.forEach((spot, place) => {
      context.beginPath();
      context.arc(...middle(spot), dot, 0, 7);
      context.fillStyle = css(weightColours, weights ? Math.round(255 * weights[place] / most) : 0);
      context.fill();
      context.lineWidth = place === at ? 4 : 1;
      context.globalAlpha = place === at ? 1 : 0.4;
      context.strokeStyle = place === at ? markColour() : getComputedStyle(button).color;
      context.stroke();
      context.globalAlpha = 1;
    });
  }

  const markColour = () => `rgb(${resolved("--mark").join(" ")})`;

  function arcTo(from, to, weight) {
    const [[x, y], [u, v]] = [spots[from], spots[to]];
    const bow = 0.18, middle = [(x + u) / 2 + bow * (v - y), (y + v) / 2 - bow * (u - x)];
    return drawn("path", { d: `M${x.toFixed(1)} ${y.toFixed(1)}Q${middle.map((one) => one.toFixed(1)).join(" ")} `
      + `${u.toFixed(1)} ${v.toFixed(1)}`, class: "arc", "stroke-width": (1 + 0.55 * radius * weight).toFixed(2),
    "stroke-opacity": (0.3 + 0.7 * weight).toFixed(2) });
  }

  function paint() {
    if (built < 0) return;
    const at = reading(), known = inFull() ? rowOf(now.head, at) : null;
    const most = known ? Math.max(...known, SMALLEST) : 1;
    const best = new Set(known ? greatest(known, 6).filter((place) => known[place] >= ARC) : []);
    nodes.forEach((node, place) => {
      const shade = known ? Math.round(255 * known[place] / most) : 0;
      const [, circle, inside, beside] = node.children;
      circle.style.fill = css(weightColours, shade);
      inside.style.fill = inkOn(weightColours, shade);
      node.classList.toggle("reads", place === at);
      beside.style.display = nodes.length <= EVERY_NAME || place === at || best.has(place) ? "" : "none";
    });
    arcs.replaceChildren(...(known ? Array.from(known, (weight, place) =>
      weight >= ARC && place !== at ? arcTo(at, place, weight) : null).filter(Boolean) : []));
    picture.setAttribute("aria-label",
      `The graph with what ${headName()} reads for ${label(text().tokens[at])}; arrow keys move from node to node`);
    buttons.forEach((button) => paintThumb(button, at));
    gridTitle.textContent = `What ${label(text().tokens[at])} reads, by every head`;
    told.replaceChildren(...(known ? list(`${quoted(text().tokens[at])} reads`, known, text().tokens) : [notHere(now.head)]));
  }

  picture.addEventListener("pointerleave", () => { pointed = null; paint(); });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    pointed = null;
    change({ side: "row", at: (now.at + step + nodes.length) % nodes.length });
  });
  themeListeners.push(() => built >= 0 && paint());
  return {
    id: "graph", title: "Graph", panel, usesHead: true, there: () => Boolean(look.texts[0].graph),
    figures: () => [["the graph under one head", picture], ["every head", grid]],
    update(what) {
      if (built !== now.text) build();
      if (what.text !== undefined && what.head === undefined) now.at = firstNode();
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.place === now.head));
      title.textContent = headName();
      paint();
    },
  };
}
