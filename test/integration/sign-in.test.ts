import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as yaml from "yaml";
import { loadConfig } from "../../agent-server/models/models-config.ts";
import { createProvider, createSelection } from "../../agent-server/models/provider-selection.ts";
import { createGatedFetch, createOAuth, createSecrets, type OAuth, type OAuthNotice } from "../../agent-server/security/security.ts";
import { type OAuthServer, startOAuthServer } from "../support/oauth-server.ts";

const configDir = join(import.meta.dirname, "../../config");
const opened: (() => unknown)[] = [];
let dataDir = "";
let server: OAuthServer;
let clock = 0;

/** One host over the data folder, at the test's time. */
function open(over: Partial<Parameters<typeof createOAuth>[0]> = {}): {
  oauth: OAuth;
  notices: OAuthNotice[];
  secrets: ReturnType<typeof createSecrets>;
} {
  const secrets = createSecrets({ dataDir, env: {} });
  const notices: OAuthNotice[] = [];
  const oauth = createOAuth({
    configDir,
    dataDir,
    secrets,
    gatedFetch: createGatedFetch({ env: {} }),
    enabled: () => true,
    onNotice: (notice) => notices.push(notice),
    now: () => Date.now() + clock,
    ...over,
  });
  opened.push(() => oauth.close());
  return { oauth, notices, secrets };
}
const configure = (more: Record<string, unknown> = {}): void => {
  mkdirSync(join(dataDir, "config"), { recursive: true });
  writeFileSync(join(dataDir, "config/oauth.yaml"), yaml.stringify({ providers: { anthropic: server.settings(more) } }));
};
async function signIn(oauth: OAuth): Promise<void> {
  const { url } = await oauth.initiate("anthropic");
  expect((await server.agree(url)).page).toContain("Signed in to Anthropic");
}
const stateOf = async (oauth: OAuth) => (await oauth.status()).find(({ provider }) => provider === "anthropic");
const refreshes = () => server.requests.filter(({ fields }) => fields["grant_type"] === "refresh_token");

beforeEach(async () => {
  // The server warns that it is set up for a test.
  for (const kind of ["info", "warn"] as const) vi.spyOn(console, kind).mockImplementation(() => undefined);
  clock = 0;
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-sign-in-"));
  server = await startOAuthServer(3_600);
  configure();
});
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
  await server.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe("signing in", () => {
  it("ends in the browser, with PKCE, and gives a token that the server knows", async () => {
    const { oauth, notices } = open();
    const { url } = await oauth.initiate("anthropic");
    const asked = new URL(url).searchParams;
    expect(asked.get("code_challenge_method")).toBe("S256");
    expect(asked.get("state")?.length).toBeGreaterThan(20);
    expect(await stateOf(oauth)).toMatchObject({ status: "waiting" });
    expect((await server.agree(url)).page).toContain("Signed in to Anthropic");
    expect(notices).toEqual([{ provider: "anthropic", event: "signed_in" }]);
    expect(await stateOf(oauth)).toMatchObject({ status: "signed_in", problem: null, scopes: ["offline_access", "work"] });
    const token = await oauth.token("anthropic");
    expect(token?.headers).toEqual({ "anthropic-beta": "oauth-2025-04-20" });
    expect(await server.knows(token?.accessToken ?? "")).toBe(true);
    const [exchange] = server.requests;
    expect(exchange?.fields["code_verifier"]?.length).toBeGreaterThan(40);
    expect(exchange?.fields).not.toHaveProperty("client_secret");
  });

  it("holds after a restart, and the token stands in no file in the open", async () => {
    const first = open();
    await signIn(first.oauth);
    const token = await first.oauth.token("anthropic");
    first.oauth.close();
    expect(await open().oauth.token("anthropic")).toEqual(token);
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
    expect(texts.length).toBeGreaterThan(1);
    for (const text of texts) expect(text).not.toContain(token?.accessToken);
    expect(JSON.stringify(await first.oauth.status())).not.toContain(token?.accessToken);
  });

  it("says so when the owner refuses, and can be begun again", async () => {
    const { oauth } = open();
    const { url } = await oauth.initiate("anthropic");
    expect((await server.refuse(url)).page).toContain("refused");
    expect(await stateOf(oauth)).toMatchObject({ status: "failed", problem: expect.stringContaining("refused") });
    expect(await oauth.token("anthropic")).toBeNull();
    await signIn(oauth);
    expect(await stateOf(oauth)).toMatchObject({ status: "signed_in", problem: null });
  });

  it("by the editor's address: the answer is handed over by oauth.complete", async () => {
    const editor = "vscode://lancelot.lancelot/oauth";
    await server.close();
    server = await startOAuthServer(3_600, [editor]);
    configure();
    const { oauth } = open();
    const { url } = await oauth.initiate("anthropic", editor);
    const { redirect } = await server.agree(url);
    expect(redirect.startsWith(`${editor}?`)).toBe(true);
    expect(await oauth.complete(redirect)).toMatchObject({ status: "signed_in" });
    // A code is taken once.
    await expect(oauth.complete(redirect)).rejects.toMatchObject({ code: "not_found" });
  });

  it.each([
    ["of another sign-in", (state: string) => `?code=x&state=${state}x`],
    ["without a state", () => "?code=x"],
  ])("an answer %s ends nothing", async (_name, query) => {
    const { oauth } = open();
    const begun = await oauth.initiate("anthropic");
    const redirect = new URL(begun.url).searchParams.get("redirect_uri") ?? "";
    expect((await fetch(redirect + query(begun.state))).status).toBe(400);
    expect((await fetch(redirect.replace("callback", "else"))).status).toBe(404);
    expect(await stateOf(oauth)).toMatchObject({ status: "waiting" });
    await expect(oauth.complete("not an address")).rejects.toMatchObject({ code: "not_found" });
    expect((await server.agree(begun.url)).page).toContain("Signed in");
  });

  it("is given up by the owner: the port is closed and a late answer is refused", async () => {
    const { oauth } = open();
    const { url, state } = await oauth.initiate("anthropic");
    const redirect = new URL(url).searchParams.get("redirect_uri") ?? "";
    expect(await oauth.cancel("anthropic")).toMatchObject({ status: "signed_out" });
    await expect(oauth.complete(`${redirect}?code=x&state=${state}`)).rejects.toMatchObject({ code: "not_found" });
    await expect(fetch(redirect)).rejects.toThrow();
  });

  it("a second one takes the place of the first", async () => {
    const { oauth } = open();
    const first = await oauth.initiate("anthropic");
    const second = await oauth.initiate("anthropic");
    await expect(oauth.complete(`http://127.0.0.1/oauth/callback?code=x&state=${first.state}`)).rejects.toMatchObject({
      code: "not_found",
    });
    expect((await server.agree(second.url)).page).toContain("Signed in");
  });
});

describe("renewing", () => {
  it("happens five minutes before the end, once for all who ask, and the new token is another", async () => {
    const { oauth, notices } = open();
    await signIn(oauth);
    const before = await oauth.token("anthropic");
    clock = (3_600 - 301) * 1_000;
    expect(await oauth.token("anthropic")).toEqual(before);
    clock = (3_600 - 299) * 1_000;
    const [one, two] = await Promise.all([oauth.token("anthropic"), oauth.token("anthropic")]);
    expect(one?.accessToken).not.toBe(before?.accessToken);
    expect(two).toEqual(one);
    expect(refreshes()).toHaveLength(1);
    expect(notices.map(({ event }) => event)).toEqual(["signed_in", "refreshed"]);
  });

  it("in two windows at once uses the refresh token once", async () => {
    const one = open();
    await signIn(one.oauth);
    const two = open();
    clock = 3_500_000;
    const tokens = await Promise.all([one.oauth.token("anthropic"), two.oauth.token("anthropic")]);
    expect(tokens[0]).toEqual(tokens[1]);
    expect(refreshes()).toHaveLength(1);
    expect(await server.knows(tokens[0]?.accessToken ?? "")).toBe(true);
  });

  it("that fails keeps the token as long as it holds, says why, and works again", async () => {
    const { oauth, notices } = open();
    await signIn(oauth);
    const before = await oauth.token("anthropic");
    server.fault = { status: 503, body: { error: "temporarily_unavailable" } };
    clock = 3_400_000;
    expect(await oauth.token("anthropic")).toEqual(before);
    expect(await stateOf(oauth)).toMatchObject({ status: "signed_in", problem: expect.stringContaining("Anthropic") });
    clock = 3_700_000;
    expect(await oauth.token("anthropic")).toBeNull();
    expect(await stateOf(oauth)).toMatchObject({ status: "expired" });
    server.fault = null;
    expect(await oauth.token("anthropic")).not.toBeNull();
    expect(await stateOf(oauth)).toMatchObject({ status: "signed_in", problem: null });
    expect(notices.map(({ event }) => event)).toEqual(["signed_in", "refresh_failed", "refresh_failed", "refreshed"]);
  });

  it("that the server no longer takes asks for a new sign-in and falls back to the key", async () => {
    const { oauth, notices } = open();
    await signIn(oauth);
    server.fault = { status: 400, body: { error: "invalid_grant" } };
    clock = 3_700_000;
    expect(await oauth.token("anthropic")).toBeNull();
    expect(await stateOf(oauth)).toMatchObject({ status: "failed", problem: expect.stringContaining("Sign in again") });
    expect(notices.at(-1)).toMatchObject({ event: "expired" });
  });
});

describe("signing out", () => {
  it("withdraws both tokens at the server and removes them here", async () => {
    const { oauth, secrets } = open();
    await signIn(oauth);
    const token = await oauth.token("anthropic");
    expect(await oauth.revoke("anthropic")).toMatchObject({ status: "signed_out", problem: null });
    expect(await server.knows(token?.accessToken ?? "")).toBe(false);
    expect(server.requests.filter(({ path }) => path.endsWith("/revocation"))).toHaveLength(2);
    expect(await oauth.token("anthropic")).toBeNull();
    expect(await secrets.list()).toEqual([]);
  });

  it("works without the server, and says what is left to do", async () => {
    const { oauth } = open();
    await signIn(oauth);
    server.fault = { status: 500, body: {} };
    expect((await oauth.revoke("anthropic")).problem).toContain("in your account");
    expect(await oauth.token("anthropic")).toBeNull();
  });
});

describe("a provider over a sign-in", () => {
  const ask = async (kind: "anthropic" | "gemini", token: { accessToken: string; headers: Record<string, string> } | null) => {
    const sent: Headers[] = [];
    const secret = kind === "anthropic" ? "ANTHROPIC_API_KEY" : "GEMINI_API_KEY";
    const selection = createSelection({
      secrets: createSecrets({ dataDir, env: { [secret]: "the-key" } }),
      // What would leave the machine is looked at here.
      gatedFetch: () => (input, init) => {
        sent.push(new Request(input instanceof Request ? input : String(input), { ...init, body: null }).headers);
        return Promise.resolve(new Response("{}", { status: 401, headers: { "content-type": "application/json" } }));
      },
      localState: () => {
        throw new Error("not asked");
      },
      oauth: { token: () => Promise.resolve(token) },
    });
    const shipped = loadConfig(readFileSync(join(configDir, "models.yaml"), "utf8"), null).config;
    const candidate = await selection.candidate(kind, shipped);
    expect(candidate).toMatchObject({ hasKey: true, problem: null });
    const request = { system: "", tools: [], messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }] };
    const call = { model: "claude-x", maxTokens: 10, temperature: undefined, thinking: undefined };
    const connection = candidate?.connection ?? null;
    if (connection === null) throw new Error("no connection");
    const answer = createProvider(connection).stream(request, call, new AbortController().signal);
    await expect(answer[Symbol.asyncIterator]().next()).rejects.toThrow();
    return sent[0];
  };

  it.each(["anthropic", "gemini"] as const)("%s sends the token, what the settings add, and no key", async (kind) => {
    const headers = await ask(kind, { accessToken: "the-token", headers: { "anthropic-beta": "oauth-2025-04-20" } });
    expect(headers?.get("authorization")).toBe("Bearer the-token");
    expect(headers?.get("anthropic-beta")).toContain("oauth-2025-04-20");
    expect([...(headers ?? [])].flat().join(" ")).not.toMatch(/the-key|signed-in/);
  });

  it.each([
    ["anthropic", "authorization"],
    ["gemini", "x-goog-api-key"],
  ] as const)("%s falls back to the key where nobody is signed in", async (kind, header) => {
    const headers = await ask(kind, null);
    expect(headers?.get(header)).toContain("the-key");
  });
});

describe("what stands in its way is said", () => {
  it.each<[string, () => Partial<Parameters<typeof createOAuth>[0]>, string, string]>([
    ["the flag is off", () => ({ enabled: () => false }), "disabled", "ANTHROPIC_OAUTH"],
    [
      "no client id",
      () => {
        configure({ client_id: "" });
        return {};
      },
      "unavailable",
      "client_id",
    ],
    [
      "an address in the open",
      () => {
        configure({ token_endpoint: "http://example.org/token" });
        return {};
      },
      "unavailable",
      "providers.anthropic: token_endpoint must be https",
    ],
    [
      "a key that is none",
      () => {
        configure({ clientid: "x" });
        return {};
      },
      "unavailable",
      "providers.anthropic",
    ],
  ])("%s", async (_name, prepare, code, expectedText) => {
    const { oauth } = open(prepare());
    await expect(oauth.initiate("anthropic")).rejects.toMatchObject({ code, message: expect.stringContaining(expectedText) });
    expect((await stateOf(oauth))?.problem).toBeTruthy();
  });
});
