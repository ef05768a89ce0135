// The language in a worker. The page says {kit}; then each {id, question} is answered by {id, answer}.
import { EMPTY_ZIP, LOCK, START, restored } from "./restore.mjs";

const here = new URL("./", import.meta.url).href;
const network = self.fetch.bind(self);
let done = 0, total = 0;

// A file of the kit, its bytes counted as they come. A `.bin` is compressed, whatever the host thinks of its ending.
async function get(name) {
  const answer = await network(here + name);
  if (!answer.ok) throw Error(`${name}: ${answer.status}`);
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(chunk, out) { postMessage({ done: done += chunk.length, total }); out.enqueue(chunk); },
  }));
  return name.endsWith(".bin") ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
}
const bytes = async name => new Uint8Array(await new Response(await get(name)).arrayBuffer());

// Pyodide is given what it asks for, and nothing else can be fetched from here.
function serve(given) {
  self.fetch = async url => {
    const name = String(url).split("/").pop();
    if (!(name in given)) throw Error(`${name} is not part of the kit`);
    return new Response(await given[name]());
  };
}

// The program is compiled from the first byte on, while all else is still on its way; Pyodide would ask for it later.
let program;
const compiled = () => program ??= get("wasm.bin").then(body =>
  WebAssembly.compileStreaming(new Response(body, { headers: { "content-type": "application/wasm" } })));
WebAssembly.instantiateStreaming = async (_, imports) => {
  const module = await compiled();
  return { module, instance: await WebAssembly.instantiate(module, imports) };
};

async function start(kit, way) {
  const size = (...names) => names.reduce((sum, name) => sum + kit.files[name][1], 0);
  const names = way === "memory" ? ["memory.bin"] : ["std.zip", "app.zip"];
  total = size(...program ? [] : ["wasm.bin"], ...names);
  done = 0;
  serve({
    "pyodide.asm.wasm": () => "",
    "python_stdlib.zip": () => way === "memory" ? EMPTY_ZIP : get("std.zip"),
  });
  compiled().catch(() => { program = null; });
  const rest = bytes(names.at(-1));
  rest.catch(() => {});  // it is told of when it is waited for
  const [{ loadPyodide }, { default: create }] = await Promise.all([import("./pyodide.mjs"), import("./pyodide.asm.mjs")]);
  const options = { indexURL: here, lockFileContents: LOCK, env: { PYTHONHASHSEED: "0", HOME: "/home/pyodide" } };
  if (way === "memory") {
    const python = await loadPyodide({ ...options, ...restored(create, rest, kit.memory) });
    python.runPython("import random; random.seed()");
    return python;
  }
  const python = await loadPyodide(options);
  python.FS.writeFile("/app.zip", await rest);
  python.runPython(START);
  return python;
}

async function begin({ kit, way }) {
  try {
    return [await start(kit, way ?? "memory"), way ?? "memory"];
  } catch (error) {
    if (way) throw error;
    console.warn(`the live page starts from its files: ${error.message}`);
    return [await start(kit, "files"), "files"];
  }
}

let answer;
self.onmessage = async ({ data }) => {
  if (data.kit) {
    try {
      const [python, way] = await begin(data);
      answer = python.globals.get("answer");
      postMessage({ ready: way });
    } catch (error) {
      postMessage({ failed: String(error.message ?? error).slice(-300) });
    }
    return;
  }
  try {
    postMessage({ id: data.id, answer: answer(data.question) });
  } catch (error) {
    postMessage({ id: data.id, broken: String(error.message ?? error).trim().split("\n").pop() });
  }
};
