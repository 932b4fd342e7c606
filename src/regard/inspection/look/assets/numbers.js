// Long numbers wait as letters in elements of their own, and are read when they are first asked for.

const HELD = 6; // heads that stay read
const held = new Map();

function bytesOf(key) {
  return bytesFrom(document.getElementById(`n:${key}`).textContent);
}

function bytesFrom(letters) {
  const signs = atob(letters);
  const bytes = new Uint8Array(signs.length);
  for (let place = 0; place < signs.length; place++) bytes[place] = signs.charCodeAt(place);
  return bytes;
}

function floatsOf(key) {
  return new Float32Array(bytesOf(key).buffer);
}

/** weights[row * columns + column] of a head: exp(start + step · (code − 2)); 0 is 0, and 1 too small to tell. */
function weightsOf({ key, scale }, rows, columns, causal) {
  if (held.has(key)) return held.get(key);
  const codes = new Uint16Array(bytesOf(key).buffer);
  const table = new Float64Array(65536);
  table[1] = SMALLEST / 2;
  for (let code = 2; code < 65536; code++) table[code] = Math.exp(scale.start + scale.step * (code - 2));
  const weights = new Float64Array(rows * columns);
  for (let row = 0, at = 0; row < rows; row++) {
    const end = causal ? row + 1 : columns;
    for (let column = 0; column < end; column++) weights[row * columns + column] = table[codes[at++]];
  }
  if (held.size >= HELD) held.delete(held.keys().next().value);
  held.set(key, weights);
  return weights;
}

/** The tensors of a head's walk, by name, each with its rows and columns. */
function walkOf(head) {
  const numbers = floatsOf(`${head.key}.walk`);
  const found = {};
  let from = 0;
  for (const [name, [rows, columns]] of Object.entries(head.walk.shapes)) {
    const own = numbers.subarray(from, from + rows * columns);
    found[name] = { rows, columns, at: (row) => own.subarray(row * columns, (row + 1) * columns) };
    from += rows * columns;
  }
  return found;
}
