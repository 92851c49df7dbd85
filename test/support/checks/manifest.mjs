// Every command, view and setting of the manifest has code, and the code uses none that the manifest lacks.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../setup/project.mjs";

function sources(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

/** Ids that the editor makes by itself for every view. */
const generated = /\.(focus|open|resetViewLocation|toggleVisibility|removeView)$/;

/** @returns {Promise<string[]>} one sentence a problem */
export async function manifestProblems() {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { contributes } = manifest;
  const extension = sources("extension");
  const views = sources("webviews");
  const problems = [];

  const commands = contributes.commands.map((entry) => entry.command);
  const used = new Set([...`${extension}\n${views}`.matchAll(/["'`](lancelot\.[a-z][A-Za-z.]*)["'`]/g)].map((found) => found[1]));
  const viewIds = Object.values(contributes.views)
    .flat()
    .map((entry) => entry.id);
  const settings = Object.keys(Object.assign({}, ...[contributes.configuration].flat().map((entry) => entry.properties)));
  const contexts = new Set([...JSON.stringify(contributes).matchAll(/lancelot\.[a-z][A-Za-z.]*/g)].map((found) => found[0]));

  for (const command of commands)
    if (!extension.includes(`"${command}"`)) problems.push(`The command ${command} of the manifest has no code in extension/.`);
  for (const view of viewIds)
    if (!extension.includes(`"${view}"`)) problems.push(`The view ${view} of the manifest has no code in extension/.`);
  for (const setting of settings) {
    const key = setting.replace(/^lancelot\./, "");
    // A group of settings is read as one, by the name before the last dot.
    const group = key.slice(0, Math.max(0, key.lastIndexOf(".")));
    const names = [key, setting, ...(group === "" ? [] : [group])];
    if (!names.some((name) => extension.includes(`"${name}"`)))
      problems.push(`The setting ${setting} of the manifest is read nowhere in extension/.`);
  }
  for (const id of used)
    if (!commands.includes(id) && !viewIds.includes(id) && !settings.includes(id) && !contexts.has(id) && !generated.test(id))
      problems.push(`${id} is used in code but is not in the manifest.`);

  const strings = JSON.parse(readFileSync(join(root, "package.nls.json"), "utf8"));
  const wanted = new Set([...JSON.stringify(manifest).matchAll(/%([\w.]+)%/g)].map((found) => found[1]));
  for (const key of wanted) if (!(key in strings)) problems.push(`package.nls.json has no text for %${key}%.`);
  for (const key of Object.keys(strings))
    if (!wanted.has(key)) problems.push(`The text ${key} of package.nls.json is used nowhere in the manifest.`);

  for (const entry of contributes.commands) if (!entry.title) problems.push(`The command ${entry.command} has no title.`);
  for (const file of [manifest.icon, ...(contributes.viewsContainers?.activitybar ?? []).map((entry) => entry.icon)])
    if (file && !existsSync(join(root, file))) problems.push(`The manifest names ${file}, which does not exist.`);
  return problems;
}
