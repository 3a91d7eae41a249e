// bundle.mjs FILE.cc — bundles src/ and writes the files of the page as C++ (program/embedded_page.h).
import { build } from "esbuild";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const made = await build({
  entryPoints: { page: "src/page.tsx" },
  bundle: true,
  minify: true,
  write: false,
  outdir: "assets",
  format: "esm",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});

const types = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };
const files = made.outputFiles.map((file) => {
  const name = file.path.replaceAll("\\", "/").split("/").pop();
  return { path: `/assets/${name}`, type: types[name.split(".").pop()], body: Buffer.from(file.contents) };
});
const views = JSON.parse(readFileSync("src/routes.json", "utf8")).map(({ path }) => path);
files.push({ path: "/", type: "text/html; charset=utf-8", body: readFileSync("src/page.html"), views });
files.push({ path: "/assets/icon.svg", type: types.svg, body: readFileSync("src/icon.svg") });
const PACKAGES = { preact: "Preact, https://preactjs.com", uplot: "uPlot, https://github.com/leeoniya/uPlot", lucide: "Lucide, https://lucide.dev" };
const licences = Object.entries(PACKAGES).map(([name, title]) => `${title}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`);
files.push({ path: "/assets/licences.txt", type: "text/plain; charset=utf-8", body: Buffer.from(licences.join("\n\n")) });
files.sort((a, b) => (a.path < b.path ? -1 : 1));

// Octal escapes have three digits: no digit that follows belongs to one. "?" could begin a trigraph.
const escaped = (bytes) => {
  let text = "";
  let line = 0;
  for (const byte of bytes) {
    const plain = byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63;
    text += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
    if (++line % 80 === 0) text += '"\n    "';
  }
  return `"${text}"`;
};
const view = (bytes) => `std::string_view(\n    ${escaped(bytes)},\n    ${bytes.length})`;

const list = (paths) => `{${paths.map((each) => `"${each}"`).join(", ")}}`;
const entries = files.map(({ path, type, body, views = [] }) => `      {"${path}", "${type}",\n${view(body)},\n${view(gzipSync(body, { level: 9 }))},\n      ${list(views)}}`);
const text = `// Made of dashboard/ by tools/dashboard.
#include "program/embedded_page.h"

namespace berth::program {

const std::vector<readapi::PageFile>& EmbeddedPage() {
  static const std::vector<readapi::PageFile> kFiles{
${entries.join(",\n")}};
  return kFiles;
}

}  // namespace berth::program
`;
const [to] = process.argv.slice(2);
writeFileSync(`${to}.new`, text);
renameSync(`${to}.new`, to);
