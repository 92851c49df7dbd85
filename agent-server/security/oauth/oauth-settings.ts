import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { type OAuthProvider, oauthProviders } from "../../contract/oauth.ts";
import { isLoopbackHost } from "../addresses.ts";
import { parseShipped } from "../../shipped-yaml.ts";

const Endpoint = z.url({ protocol: /^https?$/ }).refine((value) => {
  const url = new URL(value);
  return url.protocol === "https:" || isLoopbackHost(url.hostname);
}, "must be https (http only on this machine)");

const ProviderSettings = z.strictObject({
  display_name: z.string().min(1).max(100),
  client_id: z.string().max(500),
  client_secret_name: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{1,99}$/, "must be capital letters, digits and underscores")
    .optional(),
  authorization_endpoint: Endpoint,
  token_endpoint: Endpoint,
  revocation_endpoint: Endpoint.optional(),
  scopes: z.array(z.string().min(1).max(500)).max(50),
  redirect: z.enum(["loopback", "editor"]).default("loopback"),
  redirect_uri: z.url().optional(),
  /** Additional parameters of the authorization request. */
  parameters: z.record(z.string().regex(/^[a-z_]{1,60}$/), z.string().max(500)).default({}),
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,60}$/), z.string().max(500)).default({}),
});
export type OAuthSettings = z.infer<typeof ProviderSettings>;

const fileName = "config/oauth.yaml";

/**
 * Returns the settings of a provider's sign-in: the shipped `oauth.yaml`, overridden key by key by the owner's `config/oauth.yaml` in the
 * data folder. Files are read again when they change.
 * @throws LancelotError `unavailable` when the owner's file is invalid, with the reason
 */
export function createOAuthSettings(deps: { configDir: string; dataDir: string }): (provider: OAuthProvider) => OAuthSettings {
  const shippedPath = join(deps.configDir, "oauth.yaml");
  const ownerPath = join(deps.dataDir, "config", "oauth.yaml");
  let known: { stamp: string; settings: Record<OAuthProvider, OAuthSettings> } | null = null;
  return (provider) => {
    const stamp = `${stampOf(shippedPath)} ${stampOf(ownerPath)}`;
    if (known?.stamp !== stamp) known = { stamp, settings: load(shippedPath, ownerPath) };
    return known.settings[provider];
  };
}

function load(shippedPath: string, ownerPath: string): Record<OAuthProvider, OAuthSettings> {
  const shipped = providersOf(readFileSync(shippedPath, "utf8"));
  const owner = providersOf(readOwner(ownerPath));
  const one = (name: OAuthProvider): OAuthSettings => {
    const read = ProviderSettings.safeParse({ ...shipped[name], ...owner[name] });
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const path = ["providers", name, ...(issue?.path ?? [])].join(".");
    throw new LancelotError(
      "unavailable",
      `${fileName} in the data folder is invalid: ${path}: ${issue?.message ?? "invalid value"}. Correct it.`,
    );
  };
  const [anthropic, google] = oauthProviders;
  return { anthropic: one(anthropic), google: one(google) };
}

const File = z.object({ providers: z.record(z.string(), z.record(z.string(), z.unknown())).default({}) });

function providersOf(text: string): Record<string, Record<string, unknown>> {
  try {
    return File.parse(parseShipped(text, 100).value ?? {}).providers;
  } catch (cause) {
    throw new LancelotError("unavailable", `${fileName} in the data folder is not a list of providers. Correct it, or delete it.`, {
      cause,
    });
  }
}

function readOwner(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be read. Check its permissions.`, { cause });
  }
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.mtimeMs}:${stat.size}`;
}
