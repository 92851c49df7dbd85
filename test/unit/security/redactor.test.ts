import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../agent-server/security/security.ts";

const redactor = createRedactor();
const redact = (text: string): string => redactor.text(text).text;

/** Made values, put together here so that no scanner of this repository takes them for real ones. */
const letters = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fX";
const long = (length: number): string => letters.repeat(Math.ceil(length / letters.length)).slice(0, length);
const hex = (length: number): string => "0f1e2d3c4b5a69788796a5b4c3d2e1f0".repeat(4).slice(0, length);
const token = (...parts: string[]): string => parts.join("");
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const jwt = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", long(43)].join(".");
const pem = (kind: string, body = `${long(64)}\n${long(64)}\n${long(20)}==`) =>
  token("-----BEGIN ", kind, "PRIVATE KEY-----\n", body, "\n-----END ", kind, "PRIVATE KEY-----");

/** Kind, the text around the secret, the secret. `§` in the text stands for it. */
const secrets: [kind: string, text: string, secret: string][] = [
  ["aws-access-key", "aws_access_key_id = §", token("AKIA", "Q3EXZ7LMPD5WTR2N")],
  ["aws-access-key", "using § now", token("ASIA", "Q3EXZ7LMPD5WTR2N")],
  ["secret", "aws_secret_access_key = §\n", token("wJalrXUtnFEMI", "/K7MDENG/bPxRfiCY", "EXKEY12345")],
  ["github-token", "§", token("ghp_", long(36))],
  ["github-token", "https://x-access-token:§ is", token("gho_", long(36))],
  ["github-token", "token §.", token("ghs_", long(36))],
  ["github-token", "§", token("github_pat_", long(22), "_", long(59))],
  ["gitlab-token", "PRIVATE-TOKEN: §", token("glpat-", long(20))],
  ["slack-token", "§", token("xoxb-", "123456789012-1234567890123-", long(24))],
  ["slack-token", "§", token("xapp-", "1-A012BCDEFGH-1234567890-", hex(64))],
  ["slack-webhook", "https://hooks.slack.com/services/§", token("T012345AB/", "B012345CD/", long(24))],
  ["stripe-key", "Stripe.setKey('§')", token("sk_live_", long(24))],
  ["stripe-key", "§", token("rk_test_", long(24))],
  ["stripe-key", "§", token("whsec_", long(32))],
  ["anthropic-key", "x-api-key: §", token("sk-ant-", "api03-", long(90), "-AA")],
  ["openai-key", "§", token("sk-proj-", long(48))],
  ["openai-key", "§", token("sk-", long(48))],
  ["openrouter-key", "§", token("sk-or-", "v1-", hex(64))],
  ["google-key", "?key=§&alt=json", token("AIza", long(35))],
  ["google-oauth", "§", token("GOCSPX-", long(28))],
  ["google-oauth", "§", token("ya29.", long(80))],
  ["xai-key", "§", token("xai-", long(80))],
  ["groq-key", "§", token("gsk_", long(52))],
  ["perplexity-key", "§", token("pplx-", long(48))],
  ["huggingface-token", "HF=§", token("hf_", long(34))],
  ["replicate-token", "§", token("r8_", long(37))],
  ["npm-token", "//registry.npmjs.org/:_authToken=§", token("npm_", long(36))],
  ["pypi-token", "§", token("pypi-", "AgEIcHlwaS5vcmc", long(80))],
  ["rubygems-key", "§", token("rubygems_", hex(48))],
  ["docker-token", "§", token("dckr_pat_", long(27))],
  ["jwt", "cookie session=§;", jwt],
  ["bearer-token", "Authorization: Bearer §", token("v2.", long(40))],
  ["basic-auth", "Authorization: Basic §", base64("arthur:Excalibur-1")],
  ["basic-auth", '{"auths":{"registry":{"auth": "§"}}}', base64("arthur:Excalibur-1")],
  ["private-key", "key:\n§\n", pem("RSA ")],
  ["private-key", "§", pem("")],
  ["private-key", "§", pem("OPENSSH ")],
  ["private-key", "§", pem("EC ", `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${hex(32).toUpperCase()}\n\n${long(64)}\n${long(64)}`)],
  ["private-key", '{"private_key":"§"}', pem("").replaceAll("\n", "\\n")],
  ["private-key", "cut: §", pem("RSA ").slice(0, 120)],
  ["azure-key", "DefaultEndpointsProtocol=https;AccountKey=§;EndpointSuffix=x", token(long(86), "==")],
  ["azure-sas", "https://a.blob.core.windows.net/c?sv=2020&sig=§", token(long(43), "%3D")],
  ["azure-secret", "client §", token("abc8", "Q~", long(34))],
  ["sendgrid-key", "§", token("SG.", long(22), ".", long(43))],
  ["twilio-key", "§", token("SK", hex(32))],
  ["mailgun-key", "§", token("key-", hex(32))],
  ["mailchimp-key", "§", token(hex(32), "-us14")],
  ["telegram-token", "https://api.telegram.org/bot: §", token("123456789", ":AA", long(33))],
  ["discord-token", "§", token(base64("123456789012345678"), ".", "GabcdE", ".", long(38))],
  ["discord-webhook", "https://discord.com/api/webhooks/123456789012345678/§", long(68)],
  ["digitalocean-token", "§", token("dop_v1_", hex(64))],
  ["shopify-token", "§", token("shpat_", hex(32))],
  ["databricks-token", "§", token("dapi", hex(32))],
  ["vault-token", "§", token("hvs.", long(90))],
  ["terraform-token", "§", token(long(14), ".atlasv1.", long(67))],
  ["linear-key", "§", token("lin_api_", long(40))],
  ["notion-token", "§", token("secret_", long(43))],
  ["figma-token", "§", token("figd_", long(40))],
  ["postman-key", "§", token("PMAK-", hex(24), "-", hex(34))],
  ["grafana-token", "§", token("glsa_", long(32), "_", hex(8))],
  ["sentry-token", "§", token("sntrys_", long(80))],
  ["atlassian-token", "§", token("ATATT3x", long(60))],
  ["tailscale-key", "§", token("tskey-", "auth-", long(30))],
  ["password-hash", "§", token("$2b$12$", long(53))],
  ["url-password", "postgres://arthur:§@db.example.com:5432/app", "s3cr3t-w0rd"],
  ["url-password", "mongodb+srv://arthur:§@cluster0.abc.mongodb.net", "pl4nt(agenet"],
  ["url-password", "redis://:§@localhost:6379", "r3d1spw"],
  ["url-password", "git clone https://arthur:§@example.com/repo.git", "w0rd"],
  ["password", "DB_PASSWORD=§\nNEXT=1", "hunter2"],
  ["password", "export PGPASSWORD='§'", "hunter2!x"],
  ["password", "password: §\n", "hunter2"],
  ["password", '"password": "§"', "hunter2"],
  ["password", "const password = '§';", "hunter2!"],
  ["password", 'self.password = "§"', "c0rrect-h0rse"],
  ["password", "mysql --password=§ -u root", "hunter22"],
  ["password", "tool --password § --verbose", "hunter22"],
  ["password", "curl -s -u arthur:§ https://example.com", "hunter2"],
  ["password", "sshpass -p '§' ssh host", "hunter2"],
  ["password", "machine example.com login arthur password §", "hunter2"],
  ["password", "Server=db;User Id=sa;Password=§;", "Hunter2pw"],
  ["password", "passwd=§&user=arthur", "hunter2x"],
  ["password", 'echo "{\\"password\\":\\"§\\"}"', "hunter2"],
  ["api-key", 'api_key = "§"', long(32)],
  ["api-key", "X-API-Key: §", hex(40)],
  ["api-key", "apiKey: '§',", long(24)],
  ["api-key", "https://example.com/v1?api_key=§&x=1", long(24)],
  ["api-key", "SECRET_KEY='§'", long(40)],
  ["secret", "client_secret=§", long(32)],
  ["secret", '"clientSecret": "§"', long(32)],
  ["token", "access_token: §\n", long(40)],
  ["token", "--token=§", long(30)],
  ["token", '{"refresh_token":"§"}', long(50)],
  ["github-token", '{"log":"line\\n§"}', token("ghp_", long(36))],
  ["github-token", "\u001b[32m§\u001b[0m", token("ghp_", long(36))],
  ["openai-key", "q=1%3D§", token("sk-proj-", long(40))],
];

describe("secrets", () => {
  it("are of at least 40 kinds here", () => {
    expect(new Set(secrets.map(([kind]) => kind)).size).toBeGreaterThanOrEqual(40);
  });

  it.each(secrets)("%s in: %s", (kind, text, secret) => {
    const { text: clean, findings } = redactor.text(text.replace("§", () => secret));
    expect(clean).toBe(text.replace("§", `[redacted:${kind}]`));
    expect(findings).toEqual([{ kind, placeholder: `[redacted:${kind}]` }]);
    expect(redact(clean)).toBe(clean);
  });

  it("are each found when many stand in one text", () => {
    const text = secrets.map(([, text, secret]) => text.replace("§", () => secret)).join("\n\n");
    const clean = redact(text);
    const left = secrets.filter(([, , secret]) => secret.length > 12 && clean.includes(secret)).map(([kind]) => kind);
    expect(left).toEqual([]);
  });
});

const ordinary = [
  "const password = process.env.DB_PASSWORD;",
  "password: string;",
  "password?: string | null,",
  "  token: Uint8Array",
  "secret: Int32Array;",
  "credential: X509Credential | undefined;",
  "#cachedToken: CachedX509Token;",
  "def login(user: str, password: str) -> bool:",
  "password = getPassword(user)",
  "password = config.database.password",
  "const token = await getToken();",
  "const { token, secret } = options;",
  "let apiKey = settings.apiKey ?? '';",
  "this.password = password;",
  "if (password === 'required') return;",
  'if (token == "") throw new Error("no token");',
  'type: "password"',
  'label: "Password", placeholder: "Enter your password"',
  '{ "password": "Passwort", "token": "Token" }',
  'passwordLabel: "Your password 123"',
  '{ token: "keyword.control", foreground: "0000ff" }',
  "tokenCount: 123456789012",
  "maxTokens=200000",
  "tokens: 4096",
  'tokenType: "Bearer"',
  "token_url=https://login.example.com/oauth2/v2.0/token",
  "password_file: /run/secrets/db_password_1",
  "secretName: my-app-secret-2",
  "secretKeyRef: { name: db, key: password }",
  "password=${DB_PASSWORD}",
  'password: "{{ vault.password }}"',
  "password: <your-password-1>",
  "API_KEY=your-api-key-123",
  'apiKey: "YOUR_API_KEY"',
  "TOKEN=$GITHUB_TOKEN",
  "token: ${{ secrets.GITHUB_TOKEN }}",
  'password="********"',
  "api_key=xxxxxxxxxxxxxxxx",
  "postgres://user:${PASSWORD}@localhost/db",
  "postgres://user:password@localhost/db",
  "http://localhost:8080/path@version",
  "https://example.com:443/a?b=c@d",
  "git@github.com:owner/repo.git",
  "Authorization: Bearer ${token}",
  "Authorization: `Bearer ${await this.token()}`",
  "headers.set('Authorization', 'Bearer ' + token)",
  "uses basic authentication",
  "01a1fa9b-9862-7979-a895-47041f2704d7",
  "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="',
  `data:image/png;base64,${"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==".repeat(3)}`,
  'integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC" crossorigin',
  "!function(e,t){e.password=t.value,n.token=r(1),o.key=i[2],u&&(secret=a.b.c)}(window,document);",
  "var a=function(e){return e.token=t1,e.secretKey=n2}",
  'className="sk-fading-circle sk-circle-fade-dot-container-element"',
  "risk-assessment-of-the-very-long-kind-1234567890",
  "task-list-item-with-a-long-identifier-00112233445566778899",
  "MyVeryLongNotificationModule.length.someOtherLongIdentifierName1",
  "NotificationServiceManager.config.defaultNotificationTimeoutMillis",
  "import { createToken, tokenize } from './token-utils-v2.ts';",
  "token.kind === SyntaxKind.StringLiteral",
  "for (const token of tokenizer.tokens) count += token.length;",
  "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
  "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEabcdefghijklmnopqrstuvwxyz0123\n-----END PUBLIC KEY-----",
  'if (text.includes("-----BEGIN RSA PRIVATE KEY-----")) return true;',
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl arthur@camelot",
  "pk_live_51HxYzAbCdEfGhIjKlMnOpQr",
  "The password must have 8 characters, 1 digit and 1 sign.",
  "password: must be at least 8 characters",
  "Forgot password? Reset it: https://example.com/reset",
  "passwordMinLength = 12",
  "password_reset_token_expires_at: 2026-11-20T12:00:00Z",
  "access_token_expires_in: 3600",
  "const secretPattern = /sk-[a-z0-9]{48}/;",
  "key: value",
  "primaryKey: 'user_id_2'",
  "private key: ed25519",
  "--token-file ./token2.txt",
  "npm_config_registry=https://registry.npmjs.org/",
  "npm_lifecycle_event",
  "SKIP_PREFLIGHT_CHECK=true SKU1234567890",
  "credentials: 'same-origin'",
  "credentials: include2",
  "<input type='password' name='password' id='password1' />",
  "SELECT password FROM users WHERE token = ?",
  "v1.2.3-beta.4+build.567",
  "192.168.0.1:8080 user:admin",
];

describe("ordinary text", () => {
  it("has at least 60 samples", () => expect(ordinary.length).toBeGreaterThanOrEqual(60));

  it.each(ordinary.map((text) => [text]))("stays as it is: %s", (text) => {
    expect(redactor.text(text)).toEqual({ text, findings: [] });
  });

  it.each(["zod/v4/core/schemas.js", "better-sqlite3/lib/database.js", "undici/lib/web/fetch/index.js", "typescript/package.json"])(
    "of a real package stays as it is: %s",
    (path) => {
      const [name, ...rest] = path.split("/");
      const manifest = createRequire(import.meta.url).resolve(`${name ?? ""}/package.json`);
      const text = readFileSync(manifest.replace("package.json", rest.join("/")), "utf8");
      expect(redact(text)).toBe(text);
    },
  );
});

describe("a megabyte", () => {
  const size = 1_000_000;
  it.each([
    ["one letter", "a"],
    ["a secret's name", "password"],
    ["names and signs", "password="],
    ["names and spaces", "token: "],
    ["names in a word", "token_"],
    ["quotes", "secret='"],
    ["backslashes", "\\\\password\\"],
    ["starts of addresses", "a://"],
    ["addresses without an end", "http://a:"],
    ["starts of tokens", "eyJ"],
    ["starts of tokens, separated", "eyJhbGciOiJI.eyJ-"],
    ["starts of keys", "sk-ant-"],
    ["starts of private keys", "-----BEGIN RSA PRIVATE KEY-----"],
    ["private keys with headers", "-----BEGIN PRIVATE KEY-----\nVersion: 1\n"],
    ["private keys without an end", `-----BEGIN PRIVATE KEY-----${"A".repeat(50)}`],
    ["dots", "M.a."],
    ["bearers", "Bearer "],
    ["flags", "--password "],
    ["curl", "curl -u a"],
    ["machines", "machine a login "],
    ["base64", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"],
    ["hexadecimal", "0123456789abcdef"],
    ["placeholders", "password=[redacted:password] "],
    ["signs", "=:=:'\"'`"],
    ["new lines", "\n\r\n\t"],
    ["Discord-like", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE."],
    ["azure", "abc8Q~"],
    ["emoji", "🙂"],
  ])("of %s takes about as long as one of prose", (_, unit) => {
    const text = unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
    const start = performance.now();
    redact(text);
    // Prose takes tens of milliseconds; one quadratic pattern takes minutes.
    expect(performance.now() - start).toBeLessThan(3_000);
  });
});

describe("a value", () => {
  it("is redacted in every text and under every name of a secret, and keeps the rest", () => {
    const key = token("ghp_", long(36));
    expect(
      redactor.value({
        user: "arthur",
        password: "open sesame",
        pin: 4711,
        Authorization: "anything",
        "x-api-key": "short",
        cookie: "a=b",
        tokenCount: 12,
        tokens: ["let", "x"],
        nested: [{ note: `see ${key}`, clientSecret: "abc", credentials: { user: "arthur", value: "x" }, secrets: ["a", "b"] }],
        nothing: null,
        yes: true,
        empty: { token: "" },
      }),
    ).toEqual({
      user: "arthur",
      password: "[redacted:password]",
      pin: 4711,
      Authorization: "[redacted:authorization]",
      "x-api-key": "[redacted:api-key]",
      cookie: "[redacted:cookie]",
      tokenCount: 12,
      tokens: ["let", "x"],
      nested: [
        {
          note: "see [redacted:github-token]",
          clientSecret: "[redacted:secret]",
          credentials: { user: "[redacted:credential]", value: "[redacted:credential]" },
          secrets: ["[redacted:secret]", "[redacted:secret]"],
        },
      ],
      nothing: null,
      yes: true,
      empty: { token: "" },
    });
  });

  it("is cut where a text is longer than allowed, and says by how much", () => {
    expect(redactor.value({ text: "x".repeat(100), short: "y" }, 10)).toEqual({ text: `${"x".repeat(10)}… [90 bytes cut]`, short: "y" });
    expect(redactor.value("é".repeat(10), 5)).toBe("éé… [16 bytes cut]");
  });

  it("is cut only after it was redacted: no part of a secret is left at the cut", () => {
    const secret = token("sk-ant-", long(90));
    for (const before of [0, 3, 990, 1_000, 20_300, 20_400, 20_470]) {
      const clean = redactor.value(`${"word ".repeat(before / 5)}${secret}${" word".repeat(10_000)}`, 1_000);
      expect(clean).not.toContain(letters.slice(0, 6));
    }
  });

  it("that contains itself, is too deep or throws when read comes back as a note", () => {
    const loop: Record<string, unknown> = { name: "a" };
    loop["self"] = [loop];
    expect(redactor.value(loop)).toEqual({ name: "a", self: ["[circular]"] });
    const shared = { x: 1 };
    expect(redactor.value([shared, shared])).toEqual([{ x: 1 }, { x: 1 }]);
    const deep = Array.from({ length: 10_000 }).reduce<unknown>((inner) => [inner], "bottom");
    expect(JSON.stringify(redactor.value(deep))).toContain("too deep");
    const trap = {
      get broken(): never {
        throw new Error("no");
      },
    };
    expect(redactor.value({ trap, fine: 1 })).toEqual({ trap: "[unreadable]", fine: 1 });
  });

  it("never makes it throw, and redacting twice changes nothing more", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
        const once = redactor.value(value, 1_000);
        expect(redactor.value(once, 1_000)).toEqual(once);
      }),
    );
    const piece = fc.constantFrom(
      "password",
      "=",
      ": ",
      '"',
      "'",
      "token",
      "hunter2",
      " ",
      "\n",
      "sk-ant-",
      long(30),
      "https://a:",
      "b1@c",
      "eyJ",
      ".",
      "--",
      "\\",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const once = redact(pieces.join(""));
        expect(redact(once)).toBe(once);
      }),
      { numRuns: 2_000 },
    );
  });
});
