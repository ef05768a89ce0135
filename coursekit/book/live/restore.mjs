// What the maker of the kit and the page's worker share: a memory that travels as a difference.
export const LOCK = { info: { abi_version: "2026_0", arch: "wasm32", platform: "emscripten", python: "3.14", version: "0" }, packages: {} };
export const EMPTY_ZIP = new Uint8Array([80, 75, 5, 6, ...new Array(18).fill(0)]);
export const START = `
import sys, zipfile
zipfile.ZipFile("/app.zip").extractall("/app")
sys.path[:0] = ["/app"]
from coursekit.book.live.answers import answer, warm
warm()
`;

const words = (bytes, offset = 0) => new Uint32Array(bytes.buffer, bytes.byteOffset + offset, (bytes.byteLength - offset) >> 2);

const PAGE = 1024;

// The pages that two fresh memories do not share: seeds of chance, names, clocks.
export function unlike(first, second) {
  const a = words(first), b = words(second), found = new Set();
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) found.add(Math.floor(i / PAGE));
  return [...found];
}

// Exclusive or with a fresh memory but for the pages `apart`, in place; twice is nothing.
export function differ(bytes, fresh, offset, apart) {
  const a = words(bytes, offset), b = words(fresh), skip = new Set(apart);
  for (let page = 0; page * PAGE < Math.min(a.length, b.length); page++)
    if (!skip.has(page)) for (let i = page * PAGE, end = Math.min(i + PAGE, a.length, b.length); i < end; i++) a[i] ^= b[i];
}

export function sum(bytes, offset) {
  const a = words(bytes, offset);
  let total = 0;
  for (let i = 0; i < a.length; i++) total = (Math.imul(total, 31) + a[i]) | 0;
  return total;
}

// Half of a difference is pages of zeros, which need not travel: the others, and where they lie, as [start, end, start, …].
export function pack(bytes) {
  const a = words(bytes), runs = [];
  for (let page = 0; page * PAGE < a.length; page++) {
    const start = 4 * PAGE * page, end = Math.min(start + 4 * PAGE, bytes.length);
    if (!a.subarray(page * PAGE, page * PAGE + PAGE).some(word => word)) continue;
    if (runs.at(-1) === start) runs[runs.length - 1] = end;
    else runs.push(start, end);
  }
  const packed = new Uint8Array(runs.reduce((sum, at, n) => sum + (n % 2 ? at : -at), 0));
  move(runs, (start, end, at) => packed.set(bytes.subarray(start, end), at));
  return { runs, packed };
}
function move(runs, each) {
  for (let n = 0, at = 0; n < runs.length; at += runs[n + 1] - runs[n], n += 2) each(runs[n], runs[n + 1], at);
}

// Options of loadPyodide that bring the memory back, which may still be on its way while the program is compiled.
// Another machine's fresh memory could be another one: that is an error.
export function restored(create, packed, { length, runs, offset, check, apart }) {
  const memory = new Uint8Array(length);
  return {
    _loadSnapshot: memory,
    createPyodideModule: async settings => {
      const [module, came] = await Promise.all([create(settings), packed]);
      move(runs, (start, end, at) => memory.set(came.subarray(at, at + end - start), start));
      differ(memory, module.HEAPU8, offset, apart);
      if (sum(memory, offset) !== check) throw Error("the memory is another one");
      return module;
    },
  };
}
