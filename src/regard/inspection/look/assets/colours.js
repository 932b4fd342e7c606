// Colours for numbers. Weights go from the ground to one deep hue, so that they are told apart in grey too; what has a
// sign goes from orange over the ground to blue.

let weightColours = null;
let signColours = null;

function resolved(variable) {
  const probe = element("i", { style: `color: var(${variable}); display: none` });
  document.body.append(probe);
  const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return found;
}

function ramp(stops) {
  const table = new Uint8ClampedArray(256 * 3);
  for (let shade = 0; shade < 256; shade++) {
    const at = (shade / 255) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    for (let part = 0; part < 3; part++)
      table[3 * shade + part] = stops[from][part] + (at - from) * (stops[from + 1][part] - stops[from][part]);
  }
  return table;
}

function mixColours() {
  weightColours = ramp(["--none", "--some", "--much", "--all"].map(resolved));
  signColours = ramp(["--minus", "--minus-some", "--none", "--some", "--much"].map(resolved));
}

themeListeners.unshift(mixColours);

/** The shade of a weight: its root, because among hundreds of tokens an even share would hardly be seen. */
function weightShade(weight, greatestWeight = 1) {
  return Math.round(255 * Math.sqrt(Math.min(Math.max(weight / greatestWeight, 0), 1)));
}

function signShade(value, size) {
  return Math.round(127.5 + 127.5 * Math.max(-1, Math.min(1, size ? value / size : 0)));
}

function css(table, shade) {
  return `rgb(${table[3 * shade]} ${table[3 * shade + 1]} ${table[3 * shade + 2]})`;
}

/** Black or white, whichever is read better on the shade. */
function inkOn(table, shade) {
  const [red, green, blue] = table.subarray(3 * shade, 3 * shade + 3);
  return 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#111" : "#fff";
}

/** The shade as a ground, with ink that is read on it. */
function shaded(table, shade) {
  return `background: ${css(table, shade)}; color: ${inkOn(table, shade)}`;
}

/** A picture of one pixel a number; shades(row, column) gives 0 to 255, or -1 for nothing. */
function pixels(rows, columns, table, shades) {
  const canvas = element("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let row = 0, at = 0; row < rows; row++)
    for (let column = 0; column < columns; column++, at += 4) {
      const shade = shades(row, column);
      if (shade < 0) continue;
      image.data[at] = table[3 * shade];
      image.data[at + 1] = table[3 * shade + 1];
      image.data[at + 2] = table[3 * shade + 2];
      image.data[at + 3] = 255;
    }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** A row of numbers with a sign as a strip of colours. */
function strip(numbers, size, words) {
  const canvas = pixels(1, numbers.length, signColours, (_, column) => signShade(numbers[column], size));
  canvas.className = "strip";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", words);
  canvas.title = words;
  return canvas;
}
