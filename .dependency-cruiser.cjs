// Who may import whom (docs/architecture.md). Run by `npm test`; every rule is an error.

/** Rooms of the agent host by floor, from the top. A room imports lower floors only. `main` and `cli` are above all. */
const floors = [
  ["terminal"],
  ["gateway"],
  ["host"],
  ["orchestrator", "scheduler", "onboarding"],
  ["context", "skills", "connectors"],
  ["tools"],
  ["memory", "models", "governance", "health"],
  ["receipts"],
  ["flags"],
  ["security", "storage"],
  ["contract"],
];
const top = "^agent-server/(main|cli)\\.ts$";
const room = (name) => (name === "host" ? "^agent-server/(host|paths)\\.ts$" : `^agent-server/${name}/`);

const upward = floors.flatMap((names, floor) =>
  names.map((name) => ({
    name: `no-import-up-from-${name}`,
    comment: `${name} may import lower floors only`,
    severity: "error",
    from: { path: room(name) },
    to: {
      path: [top, ...floors.slice(0, floor).flat().map(room), ...names.filter((other) => other !== name).map(room)],
    },
  })),
);

/** Rooms whose files are all public: the contract is the shared table, gateway and terminal are loaded piece by piece. */
const open = ["contract", "gateway", "terminal"];

module.exports = {
  forbidden: [
    {
      name: "no-cycle",
      comment: "a door and the files behind it may share types; nothing may need itself at run time",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only", "type-import"] } },
    },
    ...upward,
    {
      name: "through-the-door",
      comment: "another room is imported through <room>/<room>.ts alone",
      severity: "error",
      from: { path: "^agent-server/([^/]+)/" },
      to: { path: `^agent-server/(?!${open.join("|")})([^/]+)/(?!\\1\\.ts$)`, pathNot: "^agent-server/$1/" },
    },
    {
      name: "host-through-doors",
      severity: "error",
      from: { path: "^agent-server/[^/]+\\.ts$" },
      to: { path: `^agent-server/(?!${open.join("|")})([^/]+)/(?!\\1\\.ts$)` },
    },
    {
      name: "contract-imports-zod-alone",
      severity: "error",
      from: { path: "^agent-server/contract/" },
      to: { pathNot: ["^agent-server/contract/", "node_modules/zod/"] },
    },
    {
      name: "faces-import-the-contract-alone",
      comment: "extension and webviews know nothing of the host but its contract",
      severity: "error",
      from: { path: "^(extension|webviews)/" },
      to: { path: "^agent-server/(?!contract/)" },
    },
    { name: "faces-apart", severity: "error", from: { path: "^extension/" }, to: { path: "^webviews/" } },
    { name: "webviews-apart", severity: "error", from: { path: "^webviews/" }, to: { path: "^extension/" } },
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
