import type { Secrets } from "./types.ts";
import { createVault } from "./vault.ts";

/** The editor's SecretStorage as the host reaches it; null deletes. */
export interface EditorSecrets {
  get(name: string): Promise<string | null>;
  set(name: string, value: string | null): Promise<void>;
  list(): Promise<string[]>;
}

/** Variables of the environment that are listed as secrets: names that end the way such names do. */
const secretVariable = /^[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN|SECRET|PASSWORD|KEY)$/;

/**
 * Secrets from the editor, else the vault file in `dataDir`, else the environment; empty values count as missing. New ones go to
 * the editor, or headless to the vault. The environment is only ever read. Throws `unavailable` when the vault cannot be opened.
 */
export function createSecrets(deps: {
  dataDir: string;
  env: NodeJS.ProcessEnv;
  editor?: EditorSecrets;
  /** Told of each access, by name (of reading only when there was a value); the value is in none of it (requirement X4). */
  onAccess?: (access: { operation: "get" | "set" | "delete" | "list"; name?: string }) => void;
}): Secrets {
  const { env, editor } = deps;
  const told = deps.onAccess ?? (() => undefined);
  const vault = createVault({ dataDir: deps.dataDir, passphrase: env["LANCELOT_VAULT_PASSPHRASE"] ?? null });
  const fromEnvironment = (name: string): string | null => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined || value === "" || isOurs(name) ? null : value;
  };

  return {
    get: async (name) => {
      const value = (await editor?.get(name)) || fromVault(await vault.read(), name) || fromEnvironment(name);
      if (value !== null) told({ operation: "get", name });
      return value;
    },
    set: async (name, value) => {
      told({ operation: "set", name });
      await (editor === undefined ? vault.change((all) => ({ ...all, [name]: value })) : editor.set(name, value));
    },
    delete: async (name) => {
      told({ operation: "delete", name });
      await editor?.set(name, null);
      if (fromVault(await vault.read(), name) === null) return;
      await vault.change((all) => Object.fromEntries(Object.entries(all).filter(([other]) => other !== name)));
    },
    list: async () => {
      told({ operation: "list" });
      const variables = Object.keys(env).filter((name) => secretVariable.test(name) && fromEnvironment(name) !== null);
      return [...new Set([...((await editor?.list()) ?? []), ...Object.keys(await vault.read()), ...variables])].sort();
    },
  };
}

function fromVault(all: Record<string, string>, name: string): string | null {
  return Object.hasOwn(all, name) ? (all[name] ?? null) : null;
}

/** What opens Lancelot itself is not a secret to hand to its rooms. */
function isOurs(name: string): boolean {
  return name.startsWith("LANCELOT_");
}
