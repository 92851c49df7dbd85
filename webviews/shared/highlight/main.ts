import bash from "shiki/langs/bash.mjs";
import c from "shiki/langs/c.mjs";
import css from "shiki/langs/css.mjs";
import diff from "shiki/langs/diff.mjs";
import docker from "shiki/langs/docker.mjs";
import go from "shiki/langs/go.mjs";
import java from "shiki/langs/java.mjs";
import json from "shiki/langs/json.mjs";
import python from "shiki/langs/python.mjs";
import rust from "shiki/langs/rust.mjs";
import sql from "shiki/langs/sql.mjs";
import toml from "shiki/langs/toml.mjs";
import tsx from "shiki/langs/tsx.mjs";
import xml from "shiki/langs/xml.mjs";
import yaml from "shiki/langs/yaml.mjs";
import { codeToTokensBase, createCssVariablesTheme, createShikiPrimitive } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import type { Highlight } from "./loader.ts";

const themeName = "classes";

const shiki = createShikiPrimitive({
  engine: createJavaScriptRegexEngine({ forgiving: true }),
  langs: [bash, c, css, diff, docker, go, java, json, python, rust, sql, toml, tsx, xml, yaml],
  themes: [createCssVariablesTheme({ name: themeName, variablePrefix: "--", fontStyle: false })],
});

/** Maps the language names that models write to the bundled grammars. A close relative is better than no highlighting. */
const aliases: Readonly<Record<string, string>> = {
  ts: "tsx",
  typescript: "tsx",
  js: "tsx",
  javascript: "tsx",
  jsx: "tsx",
  mjs: "tsx",
  cjs: "tsx",
  mts: "tsx",
  cts: "tsx",
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  shellscript: "bash",
  py: "python",
  rs: "rust",
  golang: "go",
  yml: "yaml",
  jsonc: "json",
  json5: "json",
  html: "xml",
  svg: "xml",
  vue: "xml",
  svelte: "xml",
  scss: "css",
  less: "css",
  "c++": "c",
  cpp: "c",
  h: "c",
  hpp: "c",
  dockerfile: "docker",
  patch: "diff",
  csharp: "java",
  cs: "java",
  kotlin: "java",
};

const highlight: Highlight = (code, language) => {
  const wanted = language.toLowerCase();
  const name = aliases[wanted] ?? wanted;
  if (!shiki.getLoadedLanguages().includes(name)) return null;
  const lines = codeToTokensBase(shiki, code, { lang: name, theme: themeName, tokenizeMaxLineLength: 2000, tokenizeTimeLimit: 200 });
  return lines.map((line) =>
    line.map((token) => ({ text: token.content, kind: /^var\(--token-([a-z-]+)\)$/.exec(token.color ?? "")?.[1] ?? "" })),
  );
};

window.lancelotHighlight = highlight;
