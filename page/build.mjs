// Builds the page into dist/: one script, one style sheet, the document and the icon.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const MOST_BYTES = 100_000;

await rm("dist", { recursive: true, force: true });
await mkdir("dist");
await build({
  entryPoints: { page: "src/page.tsx" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
await build({ entryPoints: ["src/page.css"], outdir: "dist", minify: true, target: "es2022", logLevel: "warning" });
for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `dist/${name}`);

let bytes = 0;
for (const name of await readdir("dist")) bytes += gzipSync(await readFile(`dist/${name}`)).length;
console.log(`page/dist: ${(bytes / 1000).toFixed(1)} kB as transferred (gzip)`);
if (bytes > MOST_BYTES) throw new Error(`The page has more than ${MOST_BYTES / 1000} kB.`);
