// What enters the first layer: embeddings, what positions add, and their sum, a row a token and a column a dimension.

function enteringView() {
  const panel = element("div");
  const value = element("output", { class: "value", "aria-live": "polite" });
  let built = "";

  function build() {
    built = `${now.text}`;
    value.textContent = "Point at a picture to see its numbers.";
    panel.replaceChildren(element("p", { class: "quiet" }, "A row is a token, a column a dimension; ",
      element("span", { class: "legend signs" }),
      " from negative over 0 to positive, each picture by its own largest number."),
      element("p", {}, value), ...text().entering.map(side));
  }

  function side(one) {
    const numbers = floatsOf(one.key);
    const count = one.rows * one.width;
    const [embedded, position] = [numbers.subarray(0, count), numbers.subarray(count, 2 * count)];
    const tokens = one.side === "source" ? text().source : text().tokens;
    const sum = Float32Array.from(embedded, (number, place) => number + position[place]);
    const all = one.added ? { "embedding": embedded, "position": position, "embedding + position": sum }
      : { "embedding": embedded };
    const left = one.all_rows - one.rows, narrow = one.all_width - one.width;
    return element("section", {}, element("h2", {},
      text().source.length ? (one.side === "source" ? "The source" : "The answer so far") : "The text"),
      element("div", { class: "pictures" },
        ...Object.entries(all).map(([name, own]) => figure(name, own, one, tokens))),
      one.added ? null : element("p", { class: "quiet" },
        "Nothing is added here: positions turn the queries and keys, or act on the scores, of every layer."),
      left || narrow ? element("p", { class: "missing" },
        `The first ${one.rows} of ${one.all_rows} tokens and ${one.width} of ${one.all_width} dimensions; `,
        "for the others look at a shorter text.") : null);
  }

  function figure(name, numbers, { rows, width }, tokens) {
    let size = 0;
    for (const number of numbers) size = Math.max(size, Math.abs(number));
    const canvas = pixels(rows, width, signColours, (row, column) => signShade(numbers[row * width + column], size));
    canvas.className = "plate";
    canvas.style.height = `${rows * (rows > 40 ? 10 : 18)}px`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label",
      `${name} of ${rows} tokens in ${width} dimensions, from ${digits(-size)} to ${digits(size)}`);
    canvas.addEventListener("pointermove", (event) => {
      const bounds = canvas.getBoundingClientRect();
      const row = Math.min(rows - 1, Math.max(0, Math.floor(((event.clientY - bounds.top) / bounds.height) * rows)));
      const column = Math.min(width - 1, Math.max(0,
        Math.floor(((event.clientX - bounds.left) / bounds.width) * width)));
      value.replaceChildren(`${name} of ${quoted(tokens[row])}, dimension ${column}: `,
        element("strong", {}, digits(numbers[row * width + column])));
    });
    const labels = element("div", { class: "plate-tokens", "aria-hidden": "true",
      style: `--row: ${rows > 40 ? 10 : 18}px` }, ...tokens.slice(0,
      rows).map((token) => element("span", {}, label(token))));
    return element("figure", {}, element("figcaption", {}, name,
      element("span", { class: "quiet" }, ` ±${digits(size)}`)),
      element("div", { class: "plate-box" }, labels, canvas));
  }

  themeListeners.push(() => { built = ""; });
  return { id: "entering", title: "Embeddings", panel,
    figures: () => [...panel.querySelectorAll("figure")].map((own) =>
      [`${own.closest("section").firstChild.textContent}: ${own.firstChild.firstChild.data}`, own]), there: () => look.texts.some((one) => one.entering.length),
    update() { if (built !== `${now.text}`) build(); } };
}
