import type { Secrets } from "./types.ts";
import { createVault } from "./vault.ts";

/** The editor's SecretStorage; setting null deletes. */
export interface EditorSecrets {
  get(name: string): Promise<string | null>;
  set(name: string, value: string | null): Promise<void>;
  list(): Promise<string[]>;
}

/** Environment variables that are listed as secrets, by their suffix. */
const secretVariable = /^[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN|SECRET|PASSWORD|KEY)$/;

/**
 * Reads secrets from the editor, then the vault file in `dataDir`, then the environment; empty values count as missing. New secrets are
 * stored in the editor or, when headless, in the vault. The environment is read-only.
 * @throws LancelotError `unavailable` when the vault cannot be opened
 */
export function createSecrets(deps: {
  dataDir: string;
  env: NodeJS.ProcessEnv;
  editor?: EditorSecrets;
  /** Called with the name of each accessed secret (for reads, only when it exists), never with its value (requirement X4). */
  onAccess?: (access: { operation: "get" | "set" | "delete" | "list"; name?: string }) => void;
}): Secrets {
  const { env, editor } = deps;
  const report = deps.onAccess ?? (() => undefined);
  const vault = createVault({ dataDir: deps.dataDir, passphrase: env["LANCELOT_VAULT_PASSPHRASE"] ?? null });
  const fromEnvironment = (name: string): string | null => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined || value === "" || isInternal(name) ? null : value;
  };

  return {
    get: async (name) => {
      const value = (await editor?.get(name)) || fromVault(await vault.read(), name) || fromEnvironment(name);
      if (value !== null) report({ operation: "get", name });
      return value;
    },
    set: async (name, value) => {
      report({ operation: "set", name });
      await (editor === undefined ? vault.change((all) => ({ ...all, [name]: value })) : editor.set(name, value));
    },
    delete: async (name) => {
      report({ operation: "delete", name });
      await editor?.set(name, null);
      if (fromVault(await vault.read(), name) === null) return;
      await vault.change((all) => Object.fromEntries(Object.entries(all).filter(([other]) => other !== name)));
    },
    list: async () => {
      report({ operation: "list" });
      const variables = Object.keys(env).filter((name) => secretVariable.test(name) && fromEnvironment(name) !== null);
      return [...new Set([...((await editor?.list()) ?? []), ...Object.keys(await vault.read()), ...variables])].sort();
    },
  };
}

function fromVault(all: Record<string, string>, name: string): string | null {
  return Object.hasOwn(all, name) ? (all[name] ?? null) : null;
}

/** Lancelot's own variables (owner token, vault passphrase) are not available as secrets. */
function isInternal(name: string): boolean {
  return name.startsWith("LANCELOT_");
}
