// The tree of a beam search: a column a step, a box a prefix that lived on or ended, lines to where it came from.

const COLUMN = 132, LINE = 34;

function beamTree(beam) {
  const columns = livingOnly(beam);
  markWinner(beam, columns);
  const tallest = Math.max(...columns.map((column) => column.length));
  const width = COLUMN * columns.length, height = LINE * tallest + 8;
  const x = (step) => step * COLUMN + 4, y = (place) => place * LINE + 6;
  const lines = [], boxes = [];
  columns.forEach((column, step) => column.forEach((one, place) => {
    const parent = step ? columns[step - 1].findIndex((own) => own.place === one.parent) : -1;
    if (parent >= 0) {
      const [fromX, fromY, toX, toY] = [x(step - 1) + COLUMN - 28, y(parent) + 13, x(step), y(place) + 13];
      lines.push(drawn("path", { d: `M${fromX} ${fromY}C${fromX + 14} ${fromY} ${toX - 14} ${toY} ${toX} ${toY}`,
        class: one.wins ? "line wins" : "line" }));
    }
    const shade = weightShade(one.chance);
    const box = drawn("g", { class: `node${one.finished ? " ended" : ""}${one.wins ? " wins" : ""}`, tabindex: "-1" },
      drawn("rect", { x: x(step), y: y(place), width: COLUMN - 28, height: 26, rx: 5,
        style: `fill: ${css(weightColours, shade)}` }),
      textAt(x(step) + 8, y(place) + 17, clipped(one.token), `fill: ${inkOn(weightColours, shade)}`, "start"),
      textAt(x(step) + COLUMN - 36, y(place) + 17, one.chance < 0.005 ? "<.01" : one.chance.toFixed(2),
        `fill: ${inkOn(weightColours, shade)}`, "end"),
      drawn("title", {},
        `${label(one.token)}: probability ${digits(one.chance)}, score of the whole ${digits(one.score)}`
          + (one.finished ? ", ended here" : "")));
    boxes.push(box);
  }));
  const picture = drawn("svg", { class: "beam", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Beam search with ${beam.size} prefixes over ${columns.length} steps. `
      + `The best answer is ${beam.answers[0]?.text ?? "none"}.` }, ...lines, ...boxes);
  return [
    element("h2", {}, "The beam"),
    element("p", { class: "quiet" },
      `At every step the ${beam.size} best prefixes live on. `,
      "A box holds the token and its probability after its prefix; ",
      "the framed path is the answer that won, dashed boxes ended there.",
        beam.left_out ? ` ${beam.left_out} later steps are left out.` : ""),
    element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Beam tree" }, picture),
    element("ol", { class: "answers" },
      ...beam.answers.map((one) => element("li", {}, element("span", { dir: "auto" }, one.text || "∅"), " ",
      element("span", { class: "quiet" }, `score ${digits(one.score)}${one.finished ? "" : ", unfinished"}`)))),
  ];
}

/** Of each step the candidates that lived on or ended. */
function livingOnly(beam) {
  return beam.steps.map((step) => step.filter((one) => one.place >= 0 || one.finished).map((one) =>
    ({ ...one, wins: false })));
}

/** The path of the best answer: from step to step the child of the last prefix with the right token. */
function markWinner(beam, columns) {
  const tokens = beam.answers[0]?.tokens ?? [];
  let parent = null;
  columns.forEach((column, step) => {
    const wanted = column.find((one) => (parent === null ? step === 0 : one.parent === parent)
      && (step < tokens.length ? one.token === tokens[step] && !one.finished : step === tokens.length && one.finished));
    if (wanted) wanted.wins = true;
    parent = wanted ? wanted.place : -2;
  });
}

function textAt(x, y, words, style, anchor) {
  return drawn("text", { x, y, style, "text-anchor": anchor }, words);
}

function clipped(token) {
  const shown = label(token);
  return shown.length > 8 ? `${shown.slice(0, 7)}…` : shown;
}
