// Import rules of docs/architecture.md. `npm test` runs them; every rule is an error.

/** The modules of the agent host by layer, from the top. A module imports lower layers only. `main` and `cli` are above all. */
const layers = [
  ["terminal"],
  ["gateway"],
  ["host"],
  ["plans", "scheduler", "onboarding", "connectors"],
  ["turn"],
  ["quests"],
  ["context", "skills", "mcp"],
  ["tools"],
  ["execution"],
  ["sandbox"],
  ["workspace"],
  ["memory", "models", "governance", "health"],
  ["receipts"],
  ["flags"],
  ["security", "storage"],
  ["contract"],
];
const top = "^agent-server/(main|cli)\\.ts$";
const files = (name) => (name === "host" ? "^agent-server/(host|host-[a-z-]*|paths)\\.ts$" : `^agent-server/${name}/`);

const upward = layers.flatMap((names, layer) =>
  names.map((name) => ({
    name: `no-import-up-from-${name}`,
    comment: `${name} may import lower layers only`,
    severity: "error",
    from: { path: files(name) },
    to: {
      path: [top, ...layers.slice(0, layer).flat().map(files), ...names.filter((other) => other !== name).map(files)],
    },
  })),
);

/** Modules whose files are all public: the contract is the shared table; gateway and terminal are loaded file by file. */
const open = ["contract", "gateway", "terminal"];

/** Packages inside a module. The rest of the module imports the package's own interface file only. */
const packages = ["governance/policy/commands"];
const packageInterfaces = packages.map((path) => {
  const name = path.split("/").at(-1);
  return {
    name: `through-the-interface-of-${name}`,
    severity: "error",
    from: { path: "^agent-server/", pathNot: `^agent-server/${path}/` },
    to: { path: `^agent-server/${path}/(?!${name}\\.ts$)` },
  };
});

module.exports = {
  forbidden: [
    {
      name: "no-cycle",
      comment: "no file needs itself, not even for a type",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    ...upward,
    {
      name: "through-the-interface",
      comment: "another module is imported through <module>/<module>.ts only",
      severity: "error",
      from: { path: "^agent-server/([^/]+)/" },
      to: { path: `^agent-server/(?!${open.join("|")})([^/]+)/(?!\\1\\.ts$)`, pathNot: "^agent-server/$1/" },
    },
    {
      name: "host-through-interfaces",
      severity: "error",
      from: { path: "^agent-server/[^/]+\\.ts$" },
      to: { path: `^agent-server/(?!${open.join("|")})([^/]+)/(?!\\1\\.ts$)` },
    },
    {
      name: "interface-not-from-inside",
      comment: "a file takes a type from where it is declared, not from its module's interface",
      severity: "error",
      from: { path: "^agent-server/([^/]+)/.+" },
      to: { path: "^agent-server/([^/]+)/\\1\\.ts$", pathNot: "^agent-server/(?!$1/)" },
    },
    ...packageInterfaces,
    {
      name: "contract-imports-zod-alone",
      severity: "error",
      from: { path: "^agent-server/contract/" },
      to: { pathNot: ["^agent-server/contract/", "node_modules/zod/"] },
    },
    {
      name: "editor-sides-import-the-contract-alone",
      comment: "extension and webviews know only the contract of the host",
      severity: "error",
      from: { path: "^(extension|webviews)/" },
      to: { path: "^agent-server/(?!contract/)" },
    },
    { name: "extension-without-webviews", severity: "error", from: { path: "^extension/" }, to: { path: "^webviews/" } },
    { name: "webviews-without-extension", severity: "error", from: { path: "^webviews/" }, to: { path: "^extension/" } },
    { name: "host-without-editor", severity: "error", from: { path: "^agent-server/" }, to: { path: "^vscode$|^(extension|webviews)/" } },
    { name: "product-without-tests", severity: "error", from: { path: "^(agent-server|extension|webviews)/" }, to: { path: "^test/" } },
    {
      name: "known-modules-only",
      severity: "error",
      from: { path: "^(agent-server|extension|webviews)/" },
      to: { couldNotResolve: true, pathNot: "^(vscode|node-llama-cpp)$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "node_modules/(?!zod)" },
    parser: "swc",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["node", "import", "types", "default"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".cjs"],
    },
  },
};
