// node make.mjs PYODIDE APP OUT QUESTION: the files that a live page loads, and what they answer, as a line of JSON.
// PYODIDE is the folder of the npm package, APP a zip of Python sources, QUESTION a line of JSON that `answers` reads.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { pathToFileURL } from "node:url";
import { EMPTY_ZIP, LOCK, START, differ, pack, restored, sum, unlike } from "./restore.mjs";

// Or Node would show a megabyte of Pyodide's own line before the reason.
process.on("uncaughtException", error => { console.error(error.message ?? error); process.exit(1); });

const [pyodide, app, out, question] = process.argv.slice(2);
const indexURL = path.resolve(pyodide) + "/";
const { loadPyodide } = await import(pathToFileURL(indexURL + "pyodide.mjs"));
const create = (await import(pathToFileURL(indexURL + "pyodide.asm.mjs"))).default;
const file = name => path.join(out, name);
const read = name => new Uint8Array(fs.readFileSync(name));
const options = { indexURL, lockFileContents: LOCK, env: { PYTHONHASHSEED: "0", HOME: "/home/pyodide" } };

// Everything is imported from its sources once, so that we know what is needed; only that is kept, compiled.
const COMPILE = `
import ast, importlib, py_compile, sys, zipfile

def _imported(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module

with zipfile.ZipFile("/app.zip") as app:
    sources = {n: app.read(n) for n in app.namelist() if n.endswith(".py") and n.startswith("coursekit/")}
for source in sources.values():  # also what a function imports when it is called
    for name in _imported(source):
        if name.split(".")[0] in sys.stdlib_module_names:
            importlib.import_module(name)
needed = {m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)}
kept = {path.split("/app/")[-1].split(".zip/")[-1] for path in needed} | {"encodings/cp437.py"}

def compiled(zipped, into):
    options = {"doraise": True, "optimize": 2, "invalidation_mode": py_compile.PycInvalidationMode.UNCHECKED_HASH}
    with zipfile.ZipFile(zipped) as old, zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            if name in kept:
                with open("/tmp/one.py", "wb") as source:
                    source.write(old.read(name))
                py_compile.compile("/tmp/one.py", "/tmp/one.pyc", dfile=name, **options)
                new.writestr(zipfile.ZipInfo(name + "c"), open("/tmp/one.pyc", "rb").read(), zipfile.ZIP_DEFLATED)
            elif name.startswith("coursekit/") and name.endswith(".lark"):
                new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)

compiled("/app.zip", "/app-small.zip")
compiled("/std.zip", "/std-small.zip")
`;
const stock = await loadPyodide(options), freshHeap = stock._module.HEAP8.length;
stock.FS.writeFile("/app.zip", read(app));
stock.FS.writeFile("/std.zip", read(indexURL + "python_stdlib.zip"));
stock.runPython(START);
stock.runPython(COMPILE);
const small = { app: stock.FS.readFile("/app-small.zip"), std: stock.FS.readFile("/std-small.zip") };
for (const name of ["app", "std"]) fs.writeFileSync(file(`${name}.zip`), small[name]);

async function fromCompiled(more) {
  const python = await loadPyodide({ ...options, stdLibURL: path.resolve(file("std.zip")), ...more });
  python.FS.writeFile("/app.zip", small.app);
  python.runPython(START);
  return python;
}

const plain = await fromCompiled();
const byFiles = plain.globals.get("answer")(question);

// The memory of a Python that has read its first equations.
const warm = await fromCompiled({ _makeSnapshot: true });
warm.runPython(`
import gc, linecache, sys, zipimport
linecache.clearcache(); sys.path_importer_cache.clear(); zipimport._zip_directory_cache.clear()
for _ in range(3):
    gc.collect()
# What is free still holds what it held: zeros travel better.
zeros = [bytes(size) for size in range(0, 480, 16) for _ in range(40_000 // (size + 33))]
del zeros
`);
const heap = warm._module.HEAP8.length, most = freshHeap;
if (heap > most) throw Error(`the memory has ${heap / 2 ** 20} MiB, and a fresh one has room for ${most / 2 ** 20}`);
const snapshot = new Uint8Array(warm.makeMemorySnapshot());
const offset = new Uint32Array(snapshot.buffer, 0, 2)[1];

// It travels as its difference to the memory that a fresh start has anyway.
fs.writeFileSync(file("empty.zip"), EMPTY_ZIP);
const bare = { ...options, stdLibURL: path.resolve(file("empty.zip")) };
async function fresh(more) {
  let memory;
  await loadPyodide({
    ...bare, ...more, _loadSnapshot: snapshot.slice(),
    createPyodideModule: async s => { const m = await create(s); memory = m.HEAPU8.slice(); return m; },
  });
  return memory;
}
// A browser's program has another name; what depends on it is sent as it is.
const first = await fresh(), apart = unlike(first, await fresh({ _sysExecutable: "a name of another length", env: {} }));
const check = sum(snapshot, offset);
const difference = snapshot.slice();
differ(difference, first, offset, apart);
const { runs, packed } = pack(difference), memory = { length: difference.length, runs, offset, check, apart };
const travels = zlib.gzipSync(packed, { level: 9 });
fs.writeFileSync(file("memory.bin"), travels);
fs.writeFileSync(file("wasm.bin"), zlib.gzipSync(read(indexURL + "pyodide.asm.wasm"), { level: 9 }));

const back = await loadPyodide({ ...bare, ...restored(create, new Uint8Array(zlib.gunzipSync(travels)), memory) });
const byMemory = back.globals.get("answer")(question);
fs.rmSync(file("empty.zip"));
console.log(JSON.stringify({ heap, memory, byFiles, byMemory }));
process.exit(0);
