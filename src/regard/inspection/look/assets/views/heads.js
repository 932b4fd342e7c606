// Every layer and head as a grid of thumbnails; the chosen one enlarged beside it.

function headsView() {
  const grid = element("div", { class: "thumbs" });
  const title = element("h3", { class: "head-title" });
  const sentence = element("p", { class: "quiet" });
  const matrix = matrixPart();
  const legend = element("p", { class: "quiet" }, "A weight's shade is its root: ",
    element("span", { class: "legend" }),
    " 0 to 1. In a thumbnail the head's greatest weight stands out most. Arrow keys move from head to head, ",
    "and inside the matrix from cell to cell.");
  const panel = element("div", {}, element("div", { class: "heads-and-matrix" }, grid,
    element("div", { class: "enlarged" }, title, sentence, matrix.panel)), legend);
  let buttons = [], built = -1;

  function build() {
    built = now.text;
    buttons = [];
    const groups = [];
    for (const [kind, words] of Object.entries(KINDS)) {
      const own = text().attentions.filter((one) => one.kind === kind);
      if (!own.length) continue;
      const most = Math.max(...own.map((one) => one.heads));
      const cells = [element("span"), ...Array.from({ length: most },
        (_, place) => element("span", { class: "axis" }, String(place)))];
      for (const one of own) {
        cells.push(element("span", { class: "axis", title: one.name }, String(one.layer)));
        for (let place = 0; place < most; place++) cells.push(place < one.heads && one.matrix ? thumb(one, place)
          : element("span"));
      }
      groups.push(element("section", { "aria-label": words }, element("h3", {}, words),
        element("div", { class: "thumb-grid", style: `--heads: ${most}` }, ...cells)));
    }
    grid.replaceChildren(...groups);
    paint();
    roving(grid, buttons, (key, at) => {
      const wide = attention(buttons[at].place).heads;
      return { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + wide, ArrowUp: at - wide }[key];
    });
  }

  function thumb(one, place) {
    const at = text().heads.findIndex((own) => text().attentions[own.attention] === one && own.head === place);
    const words = `${one.name}, head ${place}${text().heads[at].key ? "" : " (thumbnail only)"}`;
    const button = element("button", { type: "button", class: text().heads[at].key ? "thumb" : "thumb partial",
      "aria-label": words, title: words,
      onclick: () => { change({ head: at }); if (innerWidth < 960) matrix.panel.scrollIntoView({ block: "nearest" });
        }, onfocus: () => now.head !== at && change({ head: at }) });
    button.place = at;
    buttons.push(button);
    return button;
  }

  function paint() {
    for (const button of buttons) {
      const { rows, columns, bytes } = text().heads[button.place].picture;
      const shades = bytesFrom(bytes);
      const causal = attention(button.place).causal;
      button.replaceChildren(pixels(rows, columns, weightColours,
        (row, column) => causal && column > row ? -1 : shades[row * columns + column]));
    }
  }

  themeListeners.push(() => built >= 0 && paint());
  return {
    id: "heads", title: "Heads", panel, usesHead: true,
    figures: () => [["every head", grid], ...(inFull() ? [[`weights of ${headName()}`, matrix.figure]] : [])],
    update() {
      if (built !== now.text) build();
      for (const button of buttons) {
        button.setAttribute("aria-pressed", String(button.place === now.head));
        button.tabIndex = button.place === now.head ? 0 : -1;
      }
      title.textContent = headName();
      sentence.textContent = statisticsOf()?.sentence ?? "";
      matrix.show();
    },
  };
}
