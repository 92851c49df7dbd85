import { type Dirent, existsSync, readdirSync, readFileSync } from "node:fs";
import * as nodePath from "node:path";
import { addSource } from "./command-code.ts";
import { asks, type Finding, alwaysAsks, severity } from "./command-findings.ts";
import { nestedScope, type Run, type Scope, tooDeep, tooMany } from "./command-scope.ts";
import type { ProgramCall } from "./program-call.ts";

const maxManifestBytes = 512 * 1024;

/**
 * Judges a package.json script and its `pre` and `post` scripts. The workspace's own code is trusted, so unknown programs in it
 * need no approval; denials and findings that always ask count as in a command line.
 */
export function judgePackageScript(name: string, call: ProgramCall): void {
  for (const { absolute, scripts } of readManifests(call)) {
    for (const one of [`pre${name}`, name, `post${name}`]) {
      const text = scripts.get(one);
      addSource(call.scope.run.code, { kind: "script", absolute, name: one, text: text ?? null, scripts });
      if (text !== undefined) judgeScript(one, text, call);
    }
  }
}

/** Adds all scripts of the project to the code that a call may run. */
export function addManifest(call: ProgramCall): void {
  for (const { absolute, scripts } of readManifests(call))
    addSource(call.scope.run.code, { kind: "script", absolute, name: "*", text: JSON.stringify([...scripts]), scripts });
}

interface Manifest {
  readonly absolute: string;
  readonly scripts: ReadonlyMap<string, string>;
}

/** The manifests of the possible working folders. Package managers take the nearest one above the folder. */
function readManifests(call: ProgramCall): Manifest[] {
  const { run, state } = call.scope;
  const found: Manifest[] = [];
  if (state.cwds === null) run.code.isUnknown = true;
  for (const cwd of state.cwds ?? []) {
    const folder = run.engine.paths.resolve(cwd);
    if (!folder.ok || !folder.inside) {
      run.code.isUnknown = true;
      continue;
    }
    const absolute = nodePath.join(nearestFolder(folder.absolute, ["package.json"], run), "package.json");
    const scripts = readScripts(absolute);
    if (scripts === "unreadable") call.findings.push(unreadable);
    else found.push({ absolute, scripts });
  }
  return found;
}

const unreadable = asks("packages.unreadable", "package.json cannot be read, so its scripts cannot be checked.");

/**
 * The nearest folder of the workspace, from `folder` upward, that has one of the files; `folder` itself without one. The files that are
 * missing below it count as code, because they would be read instead.
 */
export function nearestFolder(folder: string, names: readonly string[], run: Run): string {
  let at = folder;
  for (let depth = 0; depth < maxFolders; depth += 1) {
    const here = at;
    if (names.some((name) => existsSync(nodePath.join(here, name)))) return here;
    for (const name of names) addSource(run.code, { kind: "file", absolute: nodePath.join(here, name) });
    at = nodePath.dirname(at);
    const above = run.engine.paths.resolve(at);
    if (at === here || !above.ok || !above.inside) break;
  }
  return folder;
}

const maxFolders = 40;

/** Same as `judgePackageScript`, for the packages below that match a filter, or all of them. */
export function judgeWorkspaceScripts(name: string, filter: string | null, call: ProgramCall): void {
  const { cwds } = call.scope.state;
  for (const cwd of cwds ?? []) {
    const folder = call.scope.run.engine.paths.resolve(cwd);
    if (!folder.ok || !folder.inside) continue;
    const packages = findPackages(folder.absolute);
    if (packages === null) {
      call.findings.push(asks("packages.many", "Too many packages to check their scripts.", ["Run the script in one package."]));
      continue;
    }
    const named = filter === null ? [] : packages.filter((path) => isNamed(path, filter));
    // A package that only the task's view has would run too.
    if (named.length === 0) call.scope.run.code.isUnknown = true;
    for (const path of named.length > 0 ? named : packages) {
      const state = { cwds: [path], variables: call.scope.state.variables };
      judgePackageScript(name, { ...call, scope: { ...call.scope, state } });
    }
  }
}

function isNamed(path: string, filter: string): boolean {
  const plain = filter.replace(/^\.\//, "").replace(/\/$/, "");
  if (path.endsWith(`/${plain}`)) return true;
  try {
    const manifest: unknown = JSON.parse(readFileSync(nodePath.join(path, "package.json"), "utf8"));
    return typeof manifest === "object" && manifest !== null && "name" in manifest && manifest.name === plain;
  } catch {
    return false;
  }
}

const maxPackages = 100;

/** Folders up to three levels deep with a package.json. */
function findPackages(root: string): string[] | null {
  let folders = [root];
  const found: string[] = [];
  for (let depth = 0; depth < 3; depth += 1) {
    const next: string[] = [];
    for (const folder of folders) {
      let entries: Dirent[];
      try {
        entries = readdirSync(folder, { withFileTypes: true });
      } catch {
        continue;
      }
      for (const entry of entries) {
        if (!entry.isDirectory() || entry.name.startsWith(".") || entry.name === "node_modules") continue;
        const path = nodePath.join(folder, entry.name);
        next.push(path);
        if (existsSync(nodePath.join(path, "package.json"))) found.push(path);
      }
      if (found.length > maxPackages || next.length > 1000) return null;
    }
    folders = next;
  }
  return found;
}

function judgeScript(name: string, text: string, call: ProgramCall): void {
  const { scope } = call;
  const label = labelOf("script ", name, scope);
  if (isFarIn(label, "script ", call)) return;
  const run: Run = { ...scope.run, found: [], fetches: false };
  const state = { cwds: scope.state.cwds, variables: new Map() };
  run.judgeText(text, nestedScope({ ...scope, run }, label, { state, functions: new Map(), input: { kind: "none" } }));
  scope.run.count = Math.max(scope.run.count, run.count);
  for (const { part, findings } of run.found) {
    const serious = findings.filter(isSerious);
    call.findings.push(
      ...serious.map((finding) => ({
        ...finding,
        message: `The script ${name} runs ${part.text.slice(0, 200)}. ${finding.message}`,
      })),
    );
  }
}

/**
 * True when scripts are nested too deeply to follow. A cycle ends silently; a chain of different scripts requires approval, because
 * the next one may do anything.
 */
export function isFarIn(label: string, kind: "script " | "recipe ", call: ProgramCall): boolean {
  const around = call.scope.within.filter((one) => one.startsWith(kind));
  if (around.length < 4) return false;
  if (new Set(around).size >= 4 && !around.includes(label)) call.findings.push(scriptsDeep);
  return true;
}

/** Labels a script with its folder. */
export function labelOf(kind: "script " | "recipe ", name: string, scope: Scope): string {
  return `${kind}${name} ${scope.state.cwds?.join(" ") ?? ""}`;
}

const scriptsDeep = alwaysAsks(
  "scripts-deep",
  "The scripts are nested too deeply to check.",
  ["Run the innermost script directly."],
  ["execute"],
);

/** Findings at the point where following scripts stops. */
const unseen = new Set([scriptsDeep.id, tooDeep.id, tooMany.id, "make.deep"]);

/** True for a denial, an incomplete check, or an effect outside the workspace or on the network. */
export function isSerious(finding: Finding): boolean {
  if (finding.verdict === "deny" || unseen.has(finding.id)) return true;
  return (
    severity(finding) >= 110 &&
    finding.tags.some((tag) =>
      /^(?:network|upload|download|outside|privilege|sensitive|credentials|publish|deploy|system|destroy)$/.test(tag),
    )
  );
}

function readScripts(path: string): ReadonlyMap<string, string> | "unreadable" {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    return code === "ENOENT" || code === "ENOTDIR" ? new Map() : "unreadable";
  }
  if (text.length > maxManifestBytes) return "unreadable";
  try {
    const manifest: unknown = JSON.parse(text);
    if (typeof manifest !== "object" || manifest === null || !("scripts" in manifest)) return new Map();
    const { scripts } = manifest;
    if (typeof scripts !== "object" || scripts === null) return new Map();
    return new Map(Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return "unreadable";
  }
}
