// Decoding step by step: what could have been said, how probable it was, and what was read for it.

function decodingView() {
  const track = element("div", { class: "track", role: "group", "aria-label": "Steps of the answer" });
  const chances = element("div", { class: "candidates", "aria-live": "polite" });
  const reading = element("div", { class: "reading" });
  const tree = element("div");
  const panel = element("div", {}, track, element("div", { class: "beside even" }, chances, reading), tree);
  let built = -1, step = 0, buttons = [];

  function build() {
    built = now.text;
    step = 0;
    const { steps, classes, beam } = text();
    buttons = steps.map((one, place) => element("button",
      { type: "button", class: "token step", onclick: () => show(place), onfocus: () => place !== step && show(place) },
      label(one.name ?? one.chosen ?? one.candidates[0][0])));
    track.replaceChildren(...buttons);
    roving(track, buttons, (key, at) =>
      ({ ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0,
      End: buttons.length - 1 })[key]);
    tree.replaceChildren(...(beam ? beamTree(beam) : []));
    if (classes.length) {
      chances.replaceChildren(element("h3", {}, "What the model says of this text"), bars(classes));
      reading.replaceChildren();
    }
  }

  function show(place) {
    step = place;
    const one = text().steps[place];
    buttons.forEach((button, at) => {
      button.setAttribute("aria-pressed", String(at === place));
      button.classList.toggle("ahead", at > place && text().source.length > 0);
    });
    const read = text().tokens[one.at];
    const chosen = one.name !== undefined ? `What ${quoted(one.name)} is`
      : one.chosen === undefined ? `What would follow ${quoted(read)}`
      : text().reads?.kind === "text" && text().predicts[one.at] === read ? `What stands at ${quoted(read)}`
        : `After ${quoted(read)}`;
    const rank = one.rank > 1 ? `; ${quoted(one.chosen)} is number ${one.rank}, with ${percent(one.probability)}` : "";
    const title = one.name !== undefined ? chosen : `Step ${place + 1}. ${chosen}`;
    chances.replaceChildren(element("h3", {}, title), bars(one.candidates, one.chosen),
      element("p", { class: "quiet" }, `The model's probabilities, most probable first${rank}.`));
    showReading(one);
  }

  function showReading(one) {
    const { reads } = text();
    if (!reads) return;
    const tokens = columnsOf(reads);
    const weights = weightsOf(reads, rowsOf(reads).length, tokens.length, reads.causal);
    const own = rowWeights(weights, one.at, tokens.length);
    const most = Math.max(...own);
    const near = tokens.length > 160 ? new Set(greatest(own, 160)) : null;
    reading.replaceChildren(element("h3", {}, reads.kind === "cross" ? "What was read of the source for it"
      : "What was read for it"),
      element("p", { class: "shaded", dir: "auto" },
        ...tokens.flatMap((token, place) => near && !near.has(place) ? [] : [element("span", {
        title: `${label(token)} ${digits(own[place])}`, class: "shade",
        style: shaded(weightColours, weightShade(own[place], most)),
      }, label(token)), " "])),
      element("p", { class: "quiet" },
        `Mean over all heads that read ${reads.kind === "cross" ? "the source" : "the text"}; `
          + `the strongest holds ${digits(most)}${near ? "; the 160 most read tokens" : ""}.`));
  }

  const writes = look.texts.some((one) => one.steps.some((step) => step.name === undefined));
  return {
    id: "decoding", title: writes ? "Decoding" : "Answer", panel,
    there: () => look.texts.some((one) => one.steps.length || one.classes.length),
    figures: () => [["what could have been said", chances], ...(reading.firstChild ? [["what was read", reading]] : []),
      ...[...tree.querySelectorAll("svg")].map((beam) => ["the beam", beam.parentElement])],
    update() {
      if (built !== now.text) build();
      if (text().steps.length) show(Math.min(step, text().steps.length - 1));
    },
  };
}

/** Probabilities as bars; the chosen one is marked. */
function bars(candidates, chosen) {
  return element("ol", { class: "bars" },
    ...candidates.map(([token, chance]) => element("li", { class: token === chosen ? "chosen" : "" },
    element("span", { class: "bar", style: `--share: ${chance}` }), element("span", { class: "word" }, label(token)),
    element("span", { class: "value" }, digits(chance)))));
}
