// What kind of head each one is: a number as a map of all heads, and a table with a sentence for each.

const MEASURES = PICTURES ? {
  distance: "mean distance, in patches", entropy: "entropy, in bits",
  evenness: "evenness: of the most entropy it could have", same: "share on the patch itself",
  class_token: "share on the class token",
} : {
  entropy: "entropy, in bits", evenness: "evenness: of the most entropy it could have",
    distance: "mean distance, in tokens", first: "share on the first token",
  previous: "share on the token before", same: "share on its own place", next: "share on the token after",
    separator: "share on separators",
  resting: "share on the first token or a separator", by_distance: "explained by distance alone",
    by_place: "explained by the place alone",
};

function statisticsView() {
  const chosen = element("select", { id: "measure", onchange: () => { sorted = chosen.value; build(); } },
    ...Object.entries(MEASURES).map(([name, words]) => element("option", { value: name }, words)));
  const map = element("div", { class: "measure-map" });
  const table = element("div", { class: "wide" });
  const panel = element("div", {}, element("p", { class: "choose" },
    element("label", { for: "measure" }, "every head by "), chosen), map,
    element("p", { class: "quiet" },
      ...(PICTURES ? [`Means over ${look.texts.length === 1 ? "this picture" : `these ${look.texts.length} pictures`}. `,
        "Distances are those between the middles of patches (Dosovitskiy et al. 2021, figure 7)."]
        : [`Means over ${look.texts.length === 1 ? "this text" : `these ${look.texts.length} texts`}; `,
          "position and content are only told apart by several texts that differ."])), table);
  let sorted = "", built = false;

  function build() {
    built = true;
    const measure = chosen.value;
    const most = Math.max(...look.statistics.map((one) => one[measure]), 1e-9);
    const names = [...new Set(look.statistics.map((one) => one.name))];
    map.replaceChildren(...names.flatMap((name) => {
      const own = look.statistics.filter((one) => one.name === name);
      return [element("span", { class: "axis" }, name), element("span", { class: "measure-row" }, ...own.map((one) => {
        const shade = Math.round((255 * one[measure]) / most);
        return element("button", { type: "button", title: one.sentence,
          "aria-label": `${one.name}, head ${one.head}: ${digits(one[measure])}`, class: "measure",
          style: shaded(weightColours, shade),
            onclick: () => choose(one) }, one[measure] >= 10 ? one[measure].toFixed(0) : one[measure].toFixed(2));
      }))];
    }));
    const order = [...look.statistics];
    if (sorted) order.sort((one, other) => other[sorted] - one[sorted]);
    table.replaceChildren(element("table", { class: "statistics" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "head"),
        element("th", { scope: "col", class: "figure" }, MEASURES[measure].split(/[,:]/)[0]),
        element("th", { scope: "col" }, "what it does"))),
      element("tbody", {}, ...order.map((one) => element("tr", {},
        element("th", { scope: "row" }, element("button",
          { type: "button", class: "link", onclick: () => choose(one) }, `${one.name} ${one.head}`)),
        element("td", { class: "figure" }, digits(one[measure])),
          element("td", {}, one.sentence.replace(/^Head \d+ of \S+ /, "")))))));
  }

  /** Shows the head in the view that has the matrix. */
  function choose(one) {
    const place = text().heads.findIndex((own) => text().attentions[own.attention].name === one.name
      && own.head === one.head);
    if (place < 0) return;
    change({ head: place });
    document.getElementById(PICTURES ? "tab-picture" : "tab-heads").click();
  }

  themeListeners.push(() => { built = false; });
  return { id: "statistics", title: "Statistics", panel,
    figures: () => [["every head by one number", map]], update() { if (!built) build(); } };
}
