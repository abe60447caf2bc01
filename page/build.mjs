// Builds the page into a folder, by default the one that is shipped: script, style sheet, document, icon and licences.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const MOST_BYTES = 60_000;
const OUT = process.argv[2] ?? "../restgpt/server/page";

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT);
const { metafile } = await build({
  entryPoints: { page: "src/page.tsx" },
  outdir: OUT,
  bundle: true,
  metafile: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
await build({ entryPoints: ["src/page.css"], outdir: OUT, minify: true, target: "es2022", logLevel: "warning" });
for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${OUT}/${name}`);

let bytes = 0;
for (const name of await readdir(OUT)) bytes += gzipSync(await readFile(`${OUT}/${name}`)).length;
console.log(`${OUT}: ${(bytes / 1000).toFixed(1)} kB as transferred (gzip)`);
if (bytes > MOST_BYTES) throw new Error(`The page has more than ${MOST_BYTES / 1000} kB.`);

const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
let licences = "The script of this page holds parts of the following packages.\n";
for (const name of [...packages].sort()) {
  const folder = `node_modules/${name}`;
  const { version } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const file = (await readdir(folder)).find((found) => /^licen[cs]e/i.test(found));
  licences += `\n${name} ${version}\n\n${(await readFile(`${folder}/${file}`, "utf8")).trim()}\n`;
}
await writeFile(`${OUT}/licenses.txt`, licences);
