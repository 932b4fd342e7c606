// The picture with what one head reads of it, and every head beside it: all follow the patch that is pointed at.

const STRONGEST = 6; // patches that are listed
function pictureView() {
  const canvas = element("canvas", { class: "big", tabindex: "0", role: "application" });
  const title = element("h3", { class: "head-title" }), sentence = element("p", { class: "quiet" });
  const readers = readerChips((position) => { hold(position); paint(); });
  const told = element("div", { class: "strongest", "aria-live": "polite" });
  const classes = element("div", {}), size = element("p", { class: "quiet" });
  const grid = element("div", { class: "thumbs" });
  const gridTitle = element("h3");
  const slider = element("input", { id: "heat", type: "range", min: 0, max: 100, value: 100,
    oninput: () => { pointing.heat = slider.value / 100; paint(); } });
  const smooth = element("input", { id: "smooth", type: "checkbox",
    onchange: () => { pointing.smooth = smooth.checked; paint(); } });
  const panel = element("div", { class: "seen" },
    element("div", { class: "seen-left" }, title, canvas, readers.box,
      element("p", { class: "controls quiet" }, element("label", { for: "heat" }, "heat"), slider,
        element("span", { class: "legend heat" }), smooth, element("label", { for: "smooth" }, "smooth")), sentence,
      size),
    element("div", { class: "seen-right" }, element("div", { class: "seen-top" }, classes, told),
      element("section", { "aria-label": "Every head" }, gridTitle, grid,
        element("p", { class: "quiet" }, "Rows are layers, columns heads. Heat is a patch's weight against the strongest of ",
          "its head. Point at a patch to see what it reads; click to hold it, click again or press Escape to let go."))));
  let buttons = [], built = -1;

  function build() {
    built = now.text;
    buttons = [];
    const most = Math.max(...text().attentions.map((one) => one.heads));
    const cells = [element("span"), ...Array.from({ length: most },
      (_, place) => element("span", { class: "axis" }, String(place)))];
    for (const [layer, one] of text().attentions.entries()) {
      cells.push(element("span", { class: "axis", title: one.name }, String(one.layer)));
      for (let place = 0; place < most; place++)
        cells.push(place < one.heads && one.matrix ? thumb(layer, place) : element("span"));
    }
    grid.replaceChildren(element("div", { class: "thumb-grid heats", style: `--heads: ${most}` }, ...cells));
    roving(grid, buttons, (key, at) => {
      const wide = attention(buttons[at].place).heads;
      return { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + wide, ArrowUp: at - wide }[key];
    });
    classes.replaceChildren(element("h3", {}, "What it says"), element("ol", { class: "bars" },
      ...text().classes.slice(0, 8).map(([name, chance]) => element("li", {},
        element("span", { class: "bar", style: `--share: ${chance}` }),
        element("span", { class: "word" }, name), element("span", { class: "value" }, percent(chance))))));
    readers.build();
    const { rows, columns, grid: cut } = picture();
    size.textContent = `${rows} × ${columns} pixels in ${cut[0]} × ${cut[1]} patches`;
  }

  function thumb(layer, place) {
    const at = text().heads.findIndex((own) => own.attention === layer && own.head === place);
    const one = text().heads[at];
    const words = `${text().attentions[layer].name}, head ${place}${one.key ? "" : " (thumbnail only)"}`;
    const button = element("button", { type: "button", class: one.key ? "thumb" : "thumb partial",
      "aria-label": words, title: words, onclick: () => change({ head: at }),
      onfocus: () => now.head !== at && change({ head: at }) }, element("canvas", {}));
    button.place = at;
    button.style.aspectRatio = `${picture().columns} / ${picture().rows}`;
    buttons.push(button);
    return button;
  }

  /** Everything that follows the reader. */
  function paint() {
    if (built < 0) return;
    const who = reader(), one = head(), known = arrived(one) ? readsOf(one, who) : null;
    const width = Math.max(160, Math.round(canvas.parentElement.clientWidth));
    paintPicture(canvas, known && heatOf(known), { width, heat: pointing.heat, smooth: pointing.smooth });
    if (who >= picture().extra) framePatch(canvas, who - picture().extra);
    canvas.setAttribute("aria-label",
      `The picture under what ${headName()} reads of it for ${placeName(who)}; arrow keys move from patch to patch`);
    for (const button of buttons) paintThumb(button, who);
    readers.tell();
    gridTitle.textContent = `What ${placeName(who)} ${who === MEAN ? "read" : "reads"}, by every head`;
    told.replaceChildren(...(known ? strongest(known, who) : [notHere(now.head)]));
  }

  function paintThumb(button, who) {
    const one = text().heads[button.place];
    const shades = arrived(one) ? heatOf(readsOf(one, who)) : Array.from(bytesFrom(one.glance));
    paintPicture(button.firstChild, shades, { width: 128 });
    if (who >= picture().extra) framePatch(button.firstChild, who - picture().extra);
  }

  function strongest(known, who) {
    const own = known.subarray(picture().extra);
    const best = greatest(own, STRONGEST).filter((patch) => own[patch] > 0);
    const most = own[best[0]] ?? 1;
    const beside = picture().extra ? [element("li", { class: "token-share" },
      element("span", { class: "word" }, "class token"), element("span", { class: "value" }, digits(known[0])))] : [];
    return [element("h3", {}, who === MEAN ? "All patches read most" : `${capital(placeName(who))} reads most`),
      element("ol", { class: "bars patches" }, ...best.map((patch) => element("li", {},
        element("span", { class: "bar", style: `--share: ${own[patch] / most}` }), cutOut(patch, 24),
        element("span", { class: "word" }, `row ${Math.floor(patch / picture().grid[1]) + 1}, column `
          + `${(patch % picture().grid[1]) + 1}`),
        element("span", { class: "value" }, digits(own[patch])))), ...beside)];
  }

  followPointer(canvas, paint);
  canvas.addEventListener("keydown", (event) => {
    const [rows, columns] = picture().grid, extra = picture().extra;
    const at = Math.max(reader() - extra, 0);
    const [row, column] = [Math.floor(at / columns), at % columns];
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const inside = (place, count) => Math.max(0, Math.min(count - 1, place));
    if (event.key === "Escape") hold(firstReader());
    else if (move) {
      pointing.pointed = null;
      pointing.reader = extra + inside(row + move[0], rows) * columns + inside(column + move[1], columns);
    } else return;
    event.preventDefault();
    paint();
  });
  themeListeners.push(() => built >= 0 && paint());
  return {
    id: "picture", title: "Picture", panel, usesHead: true,
    figures: () => [["the picture under one head", canvas], ["every head", grid], ["what is read most", told]],
    update(what) {
      if (what.text !== undefined && built !== now.text) { pointing.reader = pointing.pointed = null; build(); }
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.place === now.head));
      title.textContent = headName();
      sentence.textContent = statisticsOf()?.sentence ?? "";
      paint();
    },
  };
}

function capital(words) {
  return words[0].toUpperCase() + words.slice(1);
}
