import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { type OAuthProvider, oauthProviders } from "../../contract/oauth.ts";
import { checkOwnerValue, createOwnerFile, OwnerFileFault, parseOwnerYaml } from "../../owner-file.ts";
import { parseShipped } from "../../shipped-yaml.ts";
import { isLoopbackHost } from "../addresses.ts";

const Endpoint = z.url({ protocol: /^https?$/ }).refine((value) => {
  // zod also asks for what it has already found invalid.
  const url = URL.canParse(value) ? new URL(value) : null;
  return url !== null && (url.protocol === "https:" || isLoopbackHost(url.hostname));
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

/** Settings of the sign-ins. */
export interface OAuthSettingsFile {
  /** @throws LancelotError `unavailable` when the owner's file is invalid, with the reason */
  of(provider: OAuthProvider): OAuthSettings;
  /** Why sign-in is unavailable; null when the owner's file is valid or missing. */
  problem(): string | null;
}

type All = Record<OAuthProvider, OAuthSettings>;

/**
 * The shipped `oauth.yaml`, overridden key by key by the owner's `config/oauth.yaml` in the data folder. Read again when they change. A
 * broken file stops sign-in, because tokens could go to another address than the owner's.
 */
export function createOAuthSettings(deps: { configDir: string; dataDir: string }): OAuthSettingsFile {
  const shippedPath = join(deps.configDir, "oauth.yaml");
  const shipped = (): Providers => File.parse(parseShipped(readFileSync(shippedPath, "utf8"), 100).value ?? {}).providers;
  const file = createOwnerFile({
    dataDir: deps.dataDir,
    name: "oauth.yaml",
    also: [shippedPath],
    parse(text) {
      const { value, lineOf } = parseOwnerYaml(text, { maxAliases: 100 });
      const { providers } = checkOwnerValue(File, value, lineOf);
      const unknown = Object.keys(providers).find((name) => !oauthProviders.some((one) => one === name));
      if (unknown !== undefined)
        throw new OwnerFileFault(lineOf(["providers", unknown]), `providers.${unknown} must be one of ${oauthProviders.join(", ")}`);
      return merge(shipped(), providers, lineOf);
    },
  });
  let ofShipped: { state: object; settings: All } | null = null;
  const problem = (): string | null => {
    const { problem: found } = file.read();
    return found === null ? null : `${found} Sign-in is unavailable until you correct it.`;
  };
  return {
    problem,
    of(provider) {
      const found = problem();
      if (found !== null) throw new LancelotError("unavailable", found);
      const state = file.read();
      if (state.value !== null) return state.value[provider];
      if (ofShipped?.state !== state) ofShipped = { state, settings: merge(shipped(), {}, () => 1) };
      return ofShipped.settings[provider];
    },
  };
}

type Providers = Record<string, Record<string, unknown>>;
const File = z.strictObject({
  version: z.unknown().optional(),
  providers: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
});

function merge(shipped: Providers, owner: Providers, lineOf: (path: readonly PropertyKey[]) => number): All {
  const one = (name: OAuthProvider): OAuthSettings => {
    const from = (path: readonly PropertyKey[]): number => lineOf(["providers", name, ...path]);
    try {
      return checkOwnerValue(ProviderSettings, { ...shipped[name], ...owner[name] }, from);
    } catch (error) {
      if (!(error instanceof OwnerFileFault)) throw error;
      throw new OwnerFileFault(error.line, `providers.${name}: ${error.message}`);
    }
  };
  const [anthropic, google] = oauthProviders;
  return { anthropic: one(anthropic), google: one(google) };
}
