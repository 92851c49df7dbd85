import { readFileSync } from "node:fs";
import * as nodePath from "node:path";
import { asks, type Finding, severity } from "./command-findings.ts";
import { inside, type Run } from "./command-scope.ts";
import type { Call } from "./command-specials.ts";

const maxManifestBytes = 512 * 1024;

/**
 * What a script of package.json and those around it (`pretest`, `posttest`) would run. The workspace's own code is trusted, so
 * unknown programs in it are not asked about; what is denied or always asked in a command line counts here as well.
 */
export function judgePackageScript(name: string, call: Call): void {
  const { cwds } = call.scope.state;
  for (const cwd of cwds ?? []) {
    const folder = call.scope.run.engine.paths.resolve(cwd);
    if (!folder.ok || !folder.inside) continue;
    const scripts = readScripts(nodePath.join(folder.absolute, "package.json"));
    if (scripts === "unreadable") {
      call.findings.push(asks("packages.unreadable", "The project's package.json cannot be read, so what its scripts run is not known."));
      continue;
    }
    for (const one of [`pre${name}`, name, `post${name}`]) {
      const text = scripts.get(one);
      if (text !== undefined) judgeScript(one, text, call);
    }
  }
}

function judgeScript(name: string, text: string, call: Call): void {
  const { scope } = call;
  const run: Run = { ...scope.run, found: [], sets: [], fetches: false };
  const state = { cwds: scope.state.cwds, variables: new Map() };
  // One script that starts another is followed, a circle is not.
  if (scope.within.filter((one) => one.startsWith("script ")).length >= 4) return;
  run.judgeText(text, inside({ ...scope, run }, `script ${name}`, { state, functions: new Map(), input: { kind: "none" } }));
  scope.run.count = Math.max(scope.run.count, run.count);
  for (const { part, findings } of run.found) {
    const serious = findings.filter(isSerious);
    call.findings.push(...serious.map((finding) => ({ ...finding, message: `The script ${name} runs this: ${part.text.slice(0, 200)}. ${finding.message}` })));
  }
}

/** Denied, or reaches out of the workspace or to the network. */
function isSerious(finding: Finding): boolean {
  if (finding.verdict === "deny") return true;
  return severity(finding) >= 110 && finding.tags.some((tag) => /^(?:network|upload|download|outside|privilege|sensitive|credentials|publish|deploy|system|destroy)$/.test(tag));
}

function readScripts(path: string): ReadonlyMap<string, string> | "unreadable" {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return new Map();
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
