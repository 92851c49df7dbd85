import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../agent-server/security/security.ts";
import { letters, long, secretSamples, token } from "../../support/secret-samples.ts";
import { processorMs } from "../../support/processor-time.ts";
import { runs } from "../../support/soak.ts";

const redactor = createRedactor();
const redact = (text: string): string => redactor.text(text).text;

describe("secrets", () => {
  it.each(["old-§.txt", "backup_§", "a/b-§/c", "--note-§"])("are found within a name: %s", (name) => {
    for (const secret of [
      token("ghp_", long(36)),
      token("sk-ant-", "api03-", long(90), "-AA"),
      token("glpat-", long(20)),
      token("npm_", long(36)),
    ])
      expect(redact(name.replace("§", () => secret))).not.toContain(secret);
  });

  it("are of at least 40 kinds here", () => {
    expect(new Set(secretSamples.map(([kind]) => kind)).size).toBeGreaterThanOrEqual(40);
  });

  it.each(secretSamples)("%s in: %s", (kind, text, secret) => {
    const { text: clean, findings } = redactor.text(text.replace("§", () => secret));
    expect(clean).toBe(text.replace("§", `[redacted:${kind}]`));
    expect(findings).toEqual([{ kind, placeholder: `[redacted:${kind}]` }]);
    expect(redact(clean)).toBe(clean);
  });

  it("are each found when many stand in one text", () => {
    const text = secretSamples.map(([, text, secret]) => text.replace("§", () => secret)).join("\n\n");
    const clean = redact(text);
    const left = secretSamples.filter(([, , secret]) => secret.length > 12 && clean.includes(secret)).map(([kind]) => kind);
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
  // Look-alikes of names with "pass".
  "bypass = true1",
  "compass: n0rth1",
  "pass: 12",
  "pass: src/a1.test.ts",
  "Tests: 3 failed, 12 passed, pass=15",
  '"pass": "All 3 tests passed"',
  "PASSED=12 PASSES=3a",
  "PASSWORD=getpass.getpass1()",
  "API_KEY=process.env.OPENAI_KEY2;",
  "DB_PASS=$DB_PASS1",
  "export SECRET_KEY=<your-key-1>",
  "TOKEN_HEADER=x-token-v2",
  "run API_KEY=$KEY1 npm start",
  "const PASSWORD=readPassword(1)",
  "SECRET_FILE=/run/secrets/db1",
  // Quoted texts of several words.
  '"password": "Password must have 8 characters"',
  '"password": "Passwort muss 8 Zeichen haben"',
  'password: "at least 8 characters"',
  'token: "keyword 2"',
  "apiKey: 'api-key-2'",
  "secret = 'version-2'",
  // Command lines.
  "mysql -p shop1",
  "mysql -P3306 -h db1",
  "mkdir -p build1/out",
  "cp -p1 a b",
  "docker run -p 8080:80 nginx1",
  "docker login -p $REGISTRY_PASSWORD1",
  "grep -a needle1 file",
  // Elements.
  "<password>${env.DB_PASSWORD}</password>",
  "<Password>Password</Password>",
  "<label>Password 1</label>",
  "<token>string</token>",
  "<PasswordField>hunter2 is an example</PasswordField>",
  '<input name="password" value="" />',
  '<add key="PasswordLength" value="12345" />',
  // Cookies.
  "Cookie: theme=dark",
  "Set-Cookie: theme=darkmode; Path=/",
  "Set-Cookie: session=<session-id>; Path=/",
  "cookie: CookieOptions2",
  "cookies: 12 allowed, 34567890 blocked",
  // Bearer, keys and prefixes.
  "the bearer token2 expired",
  "Bearer authentication",
  'WWW-Authenticate: Bearer realm="example1"',
  "Authorization: Bearer <token1>",
  "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURCVEND",
  "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
  "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7\n-----END PUBLIC KEY-----",
  "ciosaleable oy2k fm2_radio fo1_short EAAA HRKU-",
  "specious, cioppino and mfa.example.com",
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
    ["environment lines", "DB_PASSWORD=,"],
    ["long environment lines", `A_KEY=${"x".repeat(600)},`],
    ["cookies", "Cookie: a=b; "],
    ["cookies without values", "Set-Cookie: a"],
    ["elements", "<password>x"],
    ["command lines", "mysql -u a "],
    ["headers of elements", "<a-password "],
    ["escaped quotes", String.raw`\\\"password\\\":`],
    ["short keys", "-----BEGIN PRIVATE KEY-----\nAAAA"],
    ["escapes of addresses", "%70%61%73%73%3D"],
    ["encoded escapes", "%2525"],
    ["strings with escapes", String.raw`"a\n",`],
    ["strings without escapes", '"",'],
    ["escaped backslashes", "\\\\\\"],
    ["sentences", "the password is for "],
    ["names and words", "with password x1y2z3 "],
    ["heads of tables", "| password |\n"],
    ["tables of one column", "user,password\na,"],
    ["programs", "docker login "],
    ["different programs", "curl mysql zip az "],
    ["connections", "Server=a;Password=b;"],
    ["names of variables", "KEY_SECRET_TOKEN_PASSWORD_"],
    ["definitions", "define('PASSWORD', "],
    ["prefixes", "sk_live_a_"],
    ["heads of signed tokens", "eyJ1_"],
    ["pieces of random tokens", "token_aB3dE6gH9j_"],
    ["headers", "X-Api-Key: "],
    ["authorizations", "Authorization: Digest "],
    ["logins", "login: admin/"],
    ["users", "chpasswd:\nroot:"],
    ["statements", "CREATE USER a IDENTIFIED BY '"],
    ["cookies of a file", "a\tTRUE\t/\tTRUE\t1\ts\t"],
  ])("of %s takes about as long as one of prose", (_, unit) => {
    const text = unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
    const start = processorMs();
    redact(text);
    // Prose takes tens of milliseconds; one quadratic pattern takes minutes.
    expect(processorMs() - start).toBeLessThan(3_000);
  });
});

describe("the cache of clean texts", () => {
  it("never lets a secret through, however often a text comes", () => {
    const redactor = createRedactor();
    const secret = `key ghp_${"aB3dE6gH9j".repeat(4).slice(0, 36)}`;
    const first = redactor.text(secret);
    expect(first.text).toBe("key [redacted:github-token]");
    expect(redactor.text(secret)).toEqual(first);
    for (let index = 0; index < 2_100; index += 1) redactor.text(`clean text ${String(index)}`);
    expect(redactor.text(secret)).toEqual(first);
    expect(redactor.text("clean text 1")).toEqual({ text: "clean text 1", findings: [] });
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

  it("is cut without the part of a secret that the cut splits, also when redaction made the rest short", () => {
    const long = `ghp_${"aB3dE6gH9j".repeat(25)} `;
    const limit = 4_096;
    const window = limit * 4 + 16_384;
    const filled = long.repeat(Math.floor((window - 100) / long.length));
    const text = `${filled.padEnd(window - 14)}ghp_${"aB3dE6gH9j".repeat(20)}`;
    expect(createRedactor().value(text, limit)).not.toContain("ghp_");
  });

  it("is redacted in numbers under the name of a password, and in the names of fields", () => {
    const name = `ghp_${"aB3dE6gH9j".repeat(4)}`;
    expect(createRedactor().value({ password: 12_345_678, size: 3, [name]: 1 })).toEqual({
      password: "[redacted:password]",
      size: 3,
      "[redacted:github-token]": 1,
    });
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
      { numRuns: runs(500, 2_000) },
    );
  });
});
