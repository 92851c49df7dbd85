// The checks of `npm test`: what a machine can see without running the product.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectEnv, projectNode, root } from "../setup/project.mjs";
import { manifestProblems } from "./manifest.mjs";

const bin = (name) => join(root, "node_modules", name);

/** Runs a program of the project and keeps what it says. */
function tool(script, args, cwd = root) {
  return new Promise((resolve) => {
    const native = !/\.(m?js|cjs)$/.test(script);
    const child = spawn(native ? script : projectNode(), native ? args : [script, ...args], { cwd, env: projectEnv() });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}

const depcruise = (...args) => tool(bin("dependency-cruiser/bin/dependency-cruiser.mjs"), ["--config", ".dependency-cruiser.cjs", ...args]);

/** The boundary checker is itself checked: a planted violation of each kind must be refused. */
async function boundaries() {
  const real = await depcruise("agent-server", "extension", "webviews");
  if (!real.ok) return real;
  const planted = join(root, "agent-server/storage/planted-violation.ts");
  const webview = join(root, "webviews/shared/planted-violation.ts");
  const cycle = join(root, "agent-server/storage/planted-cycle.ts");
  try {
    writeFileSync(
      planted,
      'import type { Host } from "../host.ts";\nimport { createRedactor } from "../security/redactor.ts";\nimport type { Cycle } from "./planted-cycle.ts";\nexport type Planted = Host | Cycle;\nexport const planted = createRedactor;\n',
    );
    mkdirSync(join(root, "webviews/shared"), { recursive: true });
    writeFileSync(webview, 'export { createHost } from "../../agent-server/host.ts";\n');
    writeFileSync(cycle, 'import type { Planted } from "./planted-violation.ts";\nexport type Cycle = Planted;\n');
    const refused = await depcruise("agent-server", "webviews");
    const missing = ["no-import-up-from-storage", "through-the-interface", "editor-sides-import-the-contract-alone", "no-cycle"].filter(
      (rule) => !refused.output.includes(rule),
    );
    return refused.ok || missing.length > 0
      ? { ok: false, output: `A planted violation was not refused: ${missing.join(", ") || "all"}\n${refused.output}` }
      : real;
  } finally {
    rmSync(planted, { force: true });
    rmSync(webview, { force: true });
    rmSync(cycle, { force: true });
  }
}

/** Names and how to run them, cheapest first. */
export const checks = [
  { name: "types", check: () => tool(bin("typescript/bin/tsc"), ["-p", "."]) },
  { name: "lint", check: () => tool(bin("oxlint/bin/oxlint"), ["--type-aware"]) },
  { name: "format", check: () => tool(bin("@biomejs/biome/bin/biome"), ["format", "."]) },
  { name: "boundaries", check: boundaries },
  { name: "unused code", check: () => tool(bin("knip/bin/knip.js"), ["--no-progress"]) },
  {
    name: "manifest",
    check: async () => {
      const problems = await manifestProblems();
      return { ok: problems.length === 0, output: problems.join("\n") };
    },
  },
];
