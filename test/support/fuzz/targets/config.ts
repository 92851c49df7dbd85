import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TextDocument } from "vscode-languageserver-textdocument";
import { createContextSettings } from "../../../../agent-server/context/context-settings.ts";
import { createFlagsFile } from "../../../../agent-server/flags/flags-file.ts";
import { documentKinds } from "../../../../agent-server/gateway/language/kinds.ts";
import { checkYaml, completeYaml, forgetYaml, hoverYaml, whyUnchecked } from "../../../../agent-server/gateway/language/yaml-service.ts";
import { parseCommandTable } from "../../../../agent-server/governance/policy/commands/command-table.ts";
import { createNetworkPolicy } from "../../../../agent-server/governance/policy/network-policy.ts";
import { parsePathRules } from "../../../../agent-server/governance/policy/path-table.ts";
import { createMemorySettings } from "../../../../agent-server/memory/memory-settings.ts";
import { createOwnerProfileFiles } from "../../../../agent-server/memory/owner-profile-files.ts";
import { openCatalog } from "../../../../agent-server/models/local/catalog.ts";
import { createConfigFile as createModelsFile, loadConfig } from "../../../../agent-server/models/models-config.ts";
import { loadRouter } from "../../../../agent-server/models/router/router-config.ts";
import { createCapsFile } from "../../../../agent-server/models/usage/caps.ts";
import { createPrices } from "../../../../agent-server/models/usage/prices.ts";
import { RetentionSettings } from "../../../../agent-server/receipts/retention-settings.ts";
import { createSandboxSettings } from "../../../../agent-server/sandbox/sandbox-settings.ts";
import { createOAuthSettings } from "../../../../agent-server/security/oauth/oauth-settings.ts";
import { createRedactor } from "../../../../agent-server/security/redactor.ts";
import { createRedactionSettings, parseRedaction } from "../../../../agent-server/security/pii/redaction-settings.ts";
import { parseSanitizer } from "../../../../agent-server/security/sanitizer.ts";
import { createLayeredConfig } from "../../../../agent-server/storage/config-file.ts";
import { createDeployConfig } from "../../../../agent-server/tools/providers/deploy-config.ts";
import { createPreferences } from "../../../../agent-server/tools/routing/provider-preferences.ts";
import { createCheckpointSettings } from "../../../../agent-server/workspace/checkpoints/checkpoint-settings.ts";
import { bytesOf, type Target } from "../target.ts";

const root = join(import.meta.dirname, "../../../..");
const configDir = join(root, "config");
const shipped = (name: string): string => readFileSync(join(configDir, name), "utf8");

const yamlWords = [
  "&a ",
  "*a",
  "<<: *a",
  "- ",
  ": ",
  "? ",
  "|\n  ",
  ">-\n  ",
  "!!set ",
  "!!timestamp ",
  "!!binary ",
  "%YAML 1.1\n---\n",
  "...\n",
  "---\n",
  "#",
  "'",
  '"',
  "[",
  "{",
  "~",
  "version: ",
  "  ",
];

/** A reader of the owner's `config/<name>`; each input is the file's content. */
function file(name: string, read: (dataDir: string) => () => unknown, samples: readonly string[] = [shipped(name)]): Target {
  return {
    name: `owner's ${name}`,
    samples,
    words: yamlWords,
    longest: 60_000,
    open: (folder) => {
      mkdirSync(join(folder, "config"), { recursive: true });
      return (input) => {
        writeFileSync(join(folder, "config", name), bytesOf(input));
        // A new reader, because the stamp of a file may not change between two inputs.
        return read(folder)();
      };
    },
  };
}

const onProblem = (): void => undefined;
const readers: readonly Target[] = [
  file("memory.yaml", (dataDir) => createMemorySettings({ configDir, dataDir, onProblem }).read),
  file("context.yaml", (dataDir) => createContextSettings({ configDir, dataDir, onProblem }).read),
  file("checkpoints.yaml", (dataDir) => createCheckpointSettings({ configDir, dataDir, onProblem }).read),
  file("receipts.yaml", (dataDir) => createLayeredConfig({ configDir, dataDir, name: "receipts.yaml", schema: RetentionSettings }).read),
  file("sandbox.yaml", (dataDir) => createSandboxSettings({ configDir, dataDir }).read),
  file("redaction.yaml", (dataDir) => createRedactionSettings({ configDir, dataDir })),
  file("network.yaml", (dataDir) => () => createNetworkPolicy({ configDir, dataDir, enabled: () => true, redactor: createRedactor() })),
  file("oauth.yaml", (dataDir) => () => createOAuthSettings({ configDir, dataDir }).of("google")),
  file("local-models.yaml", (dataDir) => () => openCatalog(configDir, dataDir).problem()),
  file("prices.yaml", (dataDir) => () => createPrices({ configDir, dataDir }).problem()),
  file("usage.yaml", (dataDir) => {
    const caps = createCapsFile({ configDir, dataDir });
    return () => [caps.read(), caps.write({ questUsd: null, dayUsd: 5 })];
  }),
  file("tools.yaml", (dataDir) => () => createPreferences({ configDir, dataDir }).place("shell_exec", "docker")),
  file("deploy.yaml", (dataDir) => () => createDeployConfig({ dataDir, workspace: "/home/user/x" }).problem(), [
    shipped("deploy.yaml"),
    "version: 1\nworkspaces:\n  /home/user/x:\n    build: npm run build\n    targets:\n      staging:\n        deploy: { command: ./deploy.sh, timeout: 60 }\n",
  ]),
  file("models.yaml", (dataDir) => createModelsFile({ configDir, dataDir }).read),
  file(
    "flags.yaml",
    (dataDir) => {
      const flags = createFlagsFile(dataDir, () => undefined);
      return () => [...flags.read()];
    },
    ["# mine\nflags:\n  SOUL: true\n  MEMORY: false # no\n", "flags: { SOUL: false }\n"],
  ),
];

const tables: readonly [name: string, sample: string, parse: (text: string) => unknown][] = [
  ["paths.yaml", shipped("paths.yaml"), parsePathRules],
  ["sanitizer.yaml", shipped("sanitizer.yaml"), parseSanitizer],
  ["commands/*.yaml", shipped("commands/files.yaml").slice(0, 20_000), (text) => parseCommandTable([{ name: "x.yaml", text }])],
];

export const configTargets: readonly Target[] = [
  ...readers,
  {
    name: "owner's USER.md and RULES.md",
    samples: ["# Rules\n- use tabs\n", "token: ghp_abcdefghijklmnopqrstuvwxyz0123456789\n"],
    open: (folder) => {
      const read = createOwnerProfileFiles({ dataDir: folder, redactor: createRedactor() });
      return (input) => {
        writeFileSync(join(folder, "USER.md"), bytesOf(input));
        return read();
      };
    },
  },
  {
    name: "texts for models.yaml, router.yaml and redaction.yaml",
    samples: ["models.yaml", "router.yaml", "redaction.yaml"].map(shipped),
    words: yamlWords,
    longest: 60_000,
    open: () => (input) => [
      loadConfig(shipped("models.yaml"), input),
      loadRouter(shipped("router.yaml"), input, ["local", "openai"]),
      parseRedaction(input),
    ],
  },
  ...tables.map(
    ([name, sample, parse]): Target => ({
      name: `rules in ${name}`,
      samples: [sample],
      words: yamlWords,
      longest: 30_000,
      // They are shipped; whatever is wrong with them keeps the product from working and is told.
      throws: ["Error", "ZodError", "YAMLParseError", "SyntaxError", "ReferenceError"],
      open: () => parse,
    }),
  ),
  ...documentKinds.map(
    (kind): Target => ({
      name: `${kind.name} files in the editor`,
      samples: [kind.name === "soul" ? readFileSync(join(root, "soul/soul_versions/soul_v1.yaml"), "utf8") : shipped(`${kind.name}.yaml`)],
      words: yamlWords,
      longest: 40_000,
      open: () => {
        let version = 0;
        return async (input) => {
          version += 1;
          const document = TextDocument.create(`file:///x/config/${kind.name}.yaml`, "yaml", version, input);
          if (whyUnchecked(document) !== null) return null;
          const position = document.positionAt(Math.floor(input.length / 2));
          const found = await checkYaml(document, kind, null, new AbortController().signal, () => undefined);
          const more = [await completeYaml(document, kind, position), await hoverYaml(document, kind, position)];
          forgetYaml();
          return [found, more];
        };
      },
    }),
  ),
];
