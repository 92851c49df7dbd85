import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

export interface OAuthServer {
  readonly url: string;
  /** Lines for config/oauth.yaml. */
  settings(more?: Record<string, unknown>): Record<string, unknown>;
  /** What came to the token and revocation endpoints: the form's fields. */
  readonly requests: { path: string; fields: Record<string, string> }[];
  /** Answers instead of the server, for a while: a status to the token endpoint, or silence. */
  fault: { status: number; body: unknown } | null;
  /** Opens the address as an owner would, signs in and agrees; the text of the last page, and where the provider sent them. */
  agree(url: string): Promise<{ page: string; redirect: string }>;
  refuse(url: string): Promise<{ page: string; redirect: string }>;
  /** Whether a token is still good at this server. */
  knows(accessToken: string): Promise<boolean>;
  close(): Promise<void>;
}

/** A real OAuth 2.0 server (oidc-provider) on this machine: PKCE is enforced, refresh tokens are rotated and hold once. */
export async function startOAuthServer(
  accessSeconds: number,
  redirectUris: string[] = ["http://127.0.0.1/oauth/callback"],
): Promise<OAuthServer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    clients: [
      {
        client_id: "lancelot-test",
        application_type: "native",
        token_endpoint_auth_method: "none",
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
    ],
    scopes: ["offline_access", "work"],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, revocation: { enabled: true }, introspection: { enabled: true } },
    issueRefreshToken: () => Promise.resolve(true),
    rotateRefreshToken: true,
    ttl: { AccessToken: accessSeconds, RefreshToken: 86_400, Grant: 86_400, Interaction: 600, Session: 86_400, IdToken: 600 },
    cookies: { keys: ["for-tests-only"] },
  });
  const state: Pick<OAuthServer, "requests" | "fault"> = { requests: [], fault: null };
  const handle = provider.callback();
  server.on("request", (request, response) => {
    const path = request.url?.split("?")[0] ?? "";
    if (request.method !== "POST" || !path.startsWith("/token")) return void handle(request, response);
    if (state.fault === null) {
      // The server reads the body itself; a listener beside it sees the same bytes.
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => state.requests.push({ path, fields: Object.fromEntries(new URLSearchParams(body)) }));
      return void handle(request, response);
    }
    response.writeHead(state.fault.status, { "content-type": "application/json" });
    response.end(JSON.stringify(state.fault.body));
  });

  /** One browser: cookies, redirects, the login form and the consent form of the server's development pages. */
  async function walk(start: string, agree: boolean): Promise<{ page: string; redirect: string }> {
    const cookies = new Map<string, string>();
    let at = start;
    let form: URLSearchParams | null = null;
    for (let steps = 0; steps < 20; steps += 1) {
      const answer = await fetch(at, {
        method: form === null ? "GET" : "POST",
        redirect: "manual",
        headers: {
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
          ...(form === null ? {} : { "content-type": "application/x-www-form-urlencoded" }),
        },
        ...(form === null ? {} : { body: form.toString() }),
      });
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (name !== undefined && value !== undefined) cookies.set(name, value);
      }
      form = null;
      const location = answer.headers.get("location");
      if (location !== null) {
        at = new URL(location, at).href;
        if (!at.startsWith(url) && !at.startsWith("http://127.0.0.1")) return { page: "", redirect: at };
        continue;
      }
      const page = await answer.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
      if (!at.startsWith(url)) return { page, redirect: at };
      if (action === undefined) throw new Error(`the server says: ${page.slice(0, 300)}`);
      const refuse = /href="([^"]+\/abort)"/.exec(page)?.[1];
      if (!agree && refuse !== undefined) {
        at = new URL(refuse, at).href;
        continue;
      }
      form = new URLSearchParams({ prompt: /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? "login", login: "owner", password: "any" });
      at = new URL(action, at).href;
    }
    throw new Error("the sign-in has no end");
  }

  return {
    url,
    requests: state.requests,
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
    },
    settings: (more = {}) => ({
      client_id: "lancelot-test",
      authorization_endpoint: `${url}/auth`,
      token_endpoint: `${url}/token`,
      revocation_endpoint: `${url}/token/revocation`,
      scopes: ["offline_access", "work"],
      parameters: { prompt: "consent" },
      ...more,
    }),
    agree: (address) => walk(address, true),
    refuse: (address) => walk(address, false),
    async knows(accessToken) {
      const token = await provider.AccessToken.find(accessToken);
      return token !== undefined && !token.isExpired;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
