// The picture through the layers: what the heads of each read on average, and of which patches a state is made by then.

function rolloutView() {
  const means = element("div", { class: "film" }), rolled = element("div", { class: "film" });
  const readers = readerChips((position) => { hold(position); paint(); });
  const panel = element("div", {}, readers.box,
    element("h3", { class: "apart" }, "Mean of the heads of each layer"), means,
    element("h3", { class: "apart" }, "Rolled out: of which patches the state is made after each layer"), rolled,
    element("p", { class: "quiet" }, "Each layer mixes what its heads read on average with what the residual path ",
      "carries on, half and half, from the first layer to the last (Abnar & Zuidema 2020). It knows nothing of values, ",
      "norms and feed-forward networks. Point at a patch to follow it."));
  let frames = [], built = -1;

  function build() {
    built = now.text;
    frames = [];
    readers.build();
    for (const [box, part] of [[means, "mean"], [rolled, "rolled"]])
      box.replaceChildren(...picture().layers.map((layer, number) => frame(layer[part], `layer ${number}`, layer.name)));
  }

  function frame(one, words, name) {
    const canvas = element("canvas", { role: "img", title: name });
    followPointer(canvas, paint);
    const told = element("span", { class: "quiet" });
    frames.push({ canvas, one, told, words });
    return element("figure", {}, canvas, element("figcaption", {}, element("b", {}, words), " ", told));
  }

  function paint() {
    const own = reader();
    readers.tell();
    for (const { canvas, one, told, words } of frames) {
      if (!arrived(one)) continue;
      const weights = readsOf(one, own), best = greatest(weights.subarray(picture().extra), 1)[0];
      paintPicture(canvas, heatOf(weights), { width: 240, smooth: pointing.smooth });
      if (own >= picture().extra) framePatch(canvas, own - picture().extra);
      const most = placeName(best + picture().extra);
      told.textContent = `most: ${digits(weights[best + picture().extra])}`;
      canvas.setAttribute("aria-label", `${words}, for ${placeName(own)}: most of ${most}`);
    }
  }

  themeListeners.push(() => built >= 0 && paint());
  return { id: "rollout", title: "Layers", panel,
    figures: () => [["mean of the heads of each layer", means], ["layers rolled out", rolled]],
    update() {
      if (built !== now.text) build();
      paint();
    } };
}

/** Small pictures to choose from, each with its likeliest class. */
function pictureChooser() {
  const buttons = look.texts.map((one, place) => {
    const small = element("canvas", { width: one.picture.columns, height: one.picture.rows });
    small.getContext("2d").drawImage(plate(one.picture, false), 0, 0);
    const [name, chance] = one.classes[0] ?? ["", 0];
    return element("button", { type: "button", class: "choice", title: one.text, "aria-label": `${one.text}: ${name}`,
      onclick: () => change({ text: place, at: 0 }) }, small,
      element("span", {}, name, element("small", {}, ` ${percent(chance)}`)));
  });
  const box = element("div", { class: "choices", role: "group", "aria-label": "Pictures" }, ...buttons);
  const tell = () => buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place === now.text)));
  listeners.push(tell);
  tell();
  roving(box, buttons, (key, at) => ({ ArrowRight: at + 1, ArrowLeft: at - 1 })[key]);
  return box;
}
