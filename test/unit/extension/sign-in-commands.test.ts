import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ExtensionContext } from "vscode";
import * as yaml from "yaml";
import type { OAuthProvider } from "../../../agent-server/contract/oauth.ts";
import { createGatedFetch, createOAuth, createSecrets, type OAuth } from "../../../agent-server/security/security.ts";
import { registerSignInAnswer, signInCommands } from "../../../extension/commands/sign-in.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import { type OAuthServer, startOAuthServer } from "../../support/oauth-server.ts";

interface AddressLike {
  readonly path: string;
  toString(skipEncoding?: boolean): string;
}

// The editor, as far as these commands use it: its browser is `open`.
const editor = vi.hoisted(() => ({
  reported: [] as string[],
  pick: "",
  uiKind: 1,
  open: (_url: string): void => undefined,
  answer: (_uri: AddressLike): void => undefined,
  cancel: (): void => undefined,
}));
vi.mock("vscode", () => {
  const t = (text: string, ...args: unknown[]) => text.replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)]));
  const tell = (text: string) => Promise.resolve(void editor.reported.push(text));
  return {
    l10n: { t },
    UIKind: { Desktop: 1, Web: 2 },
    ProgressLocation: { Notification: 15 },
    Uri: { parse: (text: string) => ({ path: new URL(text).pathname, toString: () => text }) },
    Disposable: { from: (...all: { dispose(): void }[]) => ({ dispose: () => all.forEach((one) => one.dispose()) }) },
    env: {
      uriScheme: "vscode",
      get uiKind() {
        return editor.uiKind;
      },
      asExternalUri: (uri: AddressLike) => Promise.resolve(uri),
      openExternal(url: string) {
        editor.open(url);
        return Promise.resolve(true);
      },
    },
    window: {
      showInformationMessage: tell,
      showWarningMessage: tell,
      showErrorMessage: tell,
      showQuickPick: (rows: { label: string }[]) => Promise.resolve(rows.find(({ label }) => label === editor.pick)),
      withProgress: (_options: unknown, work: (progress: unknown, token: unknown) => unknown) =>
        work(
          {},
          {
            onCancellationRequested: (listener: () => void) => {
              editor.cancel = listener;
              return { dispose: () => undefined };
            },
          },
        ),
      registerUriHandler: ({ handleUri }: { handleUri: (uri: AddressLike) => void }) => {
        editor.answer = handleUri;
        return { dispose: () => undefined };
      },
    },
    commands: { executeCommand: () => Promise.resolve() },
  };
});

/** Commands of the editor, the host's own sign-in, and a real OAuth server. */
describe("signing in from the editor", () => {
  const address = "vscode://lancelot.lancelot/oauth";
  let dataDir = "";
  let server: OAuthServer;
  let oauth: OAuth;
  let commands: ReturnType<typeof signInCommands>;

  beforeEach(async () => {
    for (const kind of ["info", "warn"] as const) vi.spyOn(console, kind).mockImplementation(() => undefined);
    Object.assign(editor, { reported: [], pick: "Anthropic", uiKind: 1 });
    dataDir = mkdtempSync(join(tmpdir(), "lancelot-sign-in-"));
    server = await startOAuthServer(3_600, ["http://127.0.0.1/oauth/callback", address]);
    mkdirSync(join(dataDir, "config"));
    writeFileSync(join(dataDir, "config/oauth.yaml"), yaml.stringify({ providers: { anthropic: server.settings() } }));
    const listeners = new Set<(event: { topic: string }) => void>();
    const changed = (): void => listeners.forEach((listener) => listener({ topic: "oauth" }));
    oauth = createOAuth({
      configDir: join(import.meta.dirname, "../../../config"),
      dataDir,
      secrets: createSecrets({ dataDir, env: {} }),
      gatedFetch: createGatedFetch({ env: {} }),
      enabled: (provider) => provider === "anthropic",
      onNotice: changed,
    });
    const methods: Record<string, (params: Record<string, string>) => Promise<unknown>> = {
      "oauth.status": async () => ({ items: await oauth.status() }),
      "oauth.initiate": ({ provider, redirectUri }) => oauth.initiate(provider as OAuthProvider, redirectUri),
      "oauth.complete": ({ url = "" }) => oauth.complete(url),
      "oauth.cancel": ({ provider }) => oauth.cancel(provider as OAuthProvider),
      "oauth.revoke": ({ provider }) => oauth.revoke(provider as OAuthProvider),
    };
    const host = {
      async call(method: string, params: Record<string, string>) {
        const result = await methods[method]?.(params);
        if (method !== "oauth.status") changed();
        return result;
      },
      onEvent(listener: (event: { topic: string }) => void) {
        listeners.add(listener);
        return { dispose: () => listeners.delete(listener) };
      },
      onState: () => ({ dispose: () => undefined }),
    } as unknown as AgentHost;
    commands = signInCommands({ extension: { id: "lancelot.lancelot" } } as unknown as ExtensionContext, host);
    registerSignInAnswer(host);
  });
  afterEach(async () => {
    oauth.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it("opens the browser, waits, and says that it is done; signing out withdraws it", async () => {
    editor.open = (url) => void server.agree(url);
    await commands["lancelot.signIn"]?.();
    expect(editor.reported).toEqual([expect.stringContaining("Anthropic")]);
    const token = await oauth.token("anthropic");
    expect(await server.knows(token?.accessToken ?? "")).toBe(true);
    await commands["lancelot.signOut"]?.();
    expect(editor.reported).toHaveLength(2);
    expect(await server.knows(token?.accessToken ?? "")).toBe(false);
  });

  it("in a browser the answer comes by the editor's own address", async () => {
    editor.uiKind = 2;
    editor.open = (url) => {
      void server.agree(url).then(({ redirect }) => editor.answer({ path: "/oauth", toString: () => redirect }));
    };
    await commands["lancelot.signIn"]?.();
    expect(editor.reported).toEqual([expect.stringContaining("Anthropic")]);
    expect(await oauth.token("anthropic")).not.toBeNull();
  });

  it("a refusal is told, and the owner can give up waiting", async () => {
    editor.open = (url) => void server.refuse(url);
    await commands["lancelot.signIn"]?.();
    expect(editor.reported).toEqual([expect.stringContaining("Anthropic")]);
    editor.open = () => setImmediate(() => editor.cancel());
    await commands["lancelot.signIn"]?.();
    expect(editor.reported).toHaveLength(1);
    await vi.waitFor(async () => expect((await oauth.status())[0]?.status).toBe("signed_out"));
  });

  it("one that is turned off says how to turn it on", async () => {
    editor.pick = "Google";
    await commands["lancelot.signIn"]?.();
    expect(editor.reported[0]).toContain("GOOGLE_OAUTH");
    await commands["lancelot.signOut"]?.();
    expect(editor.reported).toHaveLength(2);
  });
});
