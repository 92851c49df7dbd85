import { describe, expect, it } from "vitest";
import { secretFileValues } from "../../../../agent-server/security/known-secrets/secret-file-values.ts";
import { processorMs } from "../../../support/processor-time.ts";
import { token } from "../../../support/secret-samples.ts";

const valuesOf = (path: string, text: string): string[] => secretFileValues(path, Buffer.from(text)).map(({ value }) => value);
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const key = (label: string, body: string): string => token("-----BEGIN ", label, "-----\n", body, "\n-----END ", label, "-----\n");

describe("values of a secret file", () => {
  it.each<[what: string, path: string, text: string, values: string[]]>([
    ["bare", ".env", "A=x7Kp2Lm9", ["x7Kp2Lm9"]],
    ["exported, with a comment", ".env", "export A=x7Kp2Lm9qR # note", ["x7Kp2Lm9qR"]],
    ["in double quotes, with blanks", ".env", 'A="two 7x & more words"', ["two 7x & more words"]],
    ["in single quotes, with signs", ".env", "A='a&b=c;d#9'", ["a&b=c;d#9"]],
    ["with a sign of assignment", ".env", "A=k9==x2==", ["k9==x2=="]],
    ["commented out", ".env", "# OLD_KEY=zzTop99secret", ["zzTop99secret"]],
    [
      "on several lines",
      ".env",
      'A="first line 7Kq\nsecond line 9Zx"',
      ["first line 7Kq", "second line 9Zx"].filter((line) => line.length >= 16),
    ],
    ["of a password, however short", ".env", "DB_PASSWORD=ab12", ["ab12"]],
    ["in Windows lines", ".env", "A=x7Kp2Lm9\r\nB=Qw81Er52\r\n", ["x7Kp2Lm9", "Qw81Er52"]],
    ["with a byte order mark", ".env", "\uFEFFA=x7Kp2Lm9", ["x7Kp2Lm9"]],
    [
      "of an address",
      ".env",
      "URL=postgres://u:p%40ss1@db/app?key=a8c7defg",
      ["p%40ss1", "p@ss1", "a8c7defg", "postgres://u:p%40ss1@db/app?key=a8c7defg"],
    ],
    ["of a connection string", ".env", "DB=Server=db;User Id=sa;Password=Hunter2pw;", ["Hunter2pw"]],
    ["of JSON", "a.json", '{"a":{"password":"ab12"},"list":["q8Wz71Lm",true,null,12345678901]}', ["ab12", "q8Wz71Lm", "12345678901"]],
    ["of JSON with comments", "a.json", '{\n// note\n"key": "x7Kp2Lm9",\n}', ["x7Kp2Lm9"]],
    ["of YAML", "a.yaml", "a:\n  - q8Wz71Lm\n  - b: |\n      x7Kp2Lm9aa\n", ["q8Wz71Lm", "x7Kp2Lm9aa"]],
    ["of TOML", "a.toml", '[db]\npassword = "hunter2"\nhosts = ["alpha.x9", "beta7Kq2L"]', ["hunter2", "beta7Kq2L"]],
    ["of INI", "credentials", "[default]\naws_secret_access_key = wJalrXUtnFEMIK7MD", ["wJalrXUtnFEMIK7MD"]],
    ["of properties", "a.properties", "db.password: hunter2\nkey=x7Kp2Lm9", ["hunter2", "x7Kp2Lm9"]],
    ["of XML", "settings.xml", "<server><password>p&amp;q1rst</password></server>", ["p&amp;q1rst"]],
    [".npmrc", ".npmrc", "//registry.npmjs.org/:_authToken=tok_9f8e7d6c\n_password=aHVudGVyMg==", ["tok_9f8e7d6c", "aHVudGVyMg=="]],
    [
      ".netrc",
      ".netrc",
      "machine example.com login arthur password hunter2\nmachine b\n login me\n password s3cr3tpw",
      ["hunter2", "s3cr3tpw"],
    ],
    [".pgpass", ".pgpass", "localhost:5432:db:arthur:pa\\:ss1x", ["pa:ss1x"]],
    [".htpasswd", ".htpasswd", "arthur:$apr1$x9$Kq2Lm9", ["$apr1$x9$Kq2Lm9"]],
    [".git-credentials", ".git-credentials", "https://arthur:w0rdpass@github.com", ["w0rdpass"]],
    ["a key file of one line", "master.key", "0f1e2d3c4b5a69788796a5b4c3d2e1f0\n", ["0f1e2d3c4b5a69788796a5b4c3d2e1f0"]],
    ["a file of words", "seed.txt", "abandon ability able about above absent", ["abandon ability able about above absent"]],
    [
      "each line of a private key",
      "id",
      key("RSA PRIVATE KEY", "MIIEpQIBAAKC7x9f\nQ8zK3mN5pR7sT9vW"),
      ["MIIEpQIBAAKC7x9f", "Q8zK3mN5pR7sT9vW"],
    ],
    [
      "a private key in JSON",
      "service.json",
      JSON.stringify({ private_key: key("PRIVATE KEY", "Q8zK3mN5pR7sT9vW\nK2xL4yM6zN8aP1bQ") }),
      ["Q8zK3mN5pR7sT9vW", "K2xL4yM6zN8aP1bQ"],
    ],
    [
      "a private key in base64",
      "config",
      `users:\n- user:\n    client-key-data: ${base64(key("PRIVATE KEY", "Q8zK3mN5pR7sT9vW"))}`,
      ["Q8zK3mN5pR7sT9vW"],
    ],
    ["a user and password in base64", "config.json", `{"auths":{"r":{"auth":"${base64("arthur:Excalibur-1")}"}}}`, ["Excalibur-1"]],
  ])("are learned %s", (_, path, text, values) => {
    expect(valuesOf(path, text)).toEqual(expect.arrayContaining(values));
  });

  it.each([
    "NODE_ENV=development",
    "PORT=3000",
    "DEBUG=true",
    "HOST=localhost",
    "BIND=127.0.0.1",
    "IP=192.168.100.200",
    "LOCAL=http://localhost:3000/api",
    "API=https://api.example.com/v1/users",
    "REGION=eu-central-1",
    "NAME=camelot-shop",
    "SHELL=/bin/bash",
    "CACHE=./node_modules/.cache",
    "VERSION=1.22.3",
    "DATE=2026-11-23",
    "TIMEOUT=30000",
    "TZ=Europe/Berlin",
    "LANG=en_US.UTF-8",
    "TYPE=application/json",
    "EMPTY=",
    "OTHER=$HOME",
    "TEMPLATE=${DB_PASSWORD}",
    "PASSWORD=changeme",
    "API_KEY=your-api-key",
    "TOKEN=<token>",
    "SHORT=a7",
    "# a comment in words that says what this is",
    "[default]",
  ])("are not learned where they are ordinary: %s", (line) => {
    expect(valuesOf(".env", line)).toEqual([]);
  });

  it("leaves out certificates and public keys", () => {
    expect(valuesOf("a.pem", key("CERTIFICATE", "MIIDzTCCArWgAwIBAgIQ7x9fKq2Lm9Zx"))).toEqual([]);
  });

  it("knows a binary key store in base64 and in hexadecimal", () => {
    const store = Buffer.from([0x30, 0x82, 0, 0x9f, 1, 2, 3, 0xaa, 0xbb, 0xcc]);
    expect(secretFileValues("a.p12", store).map(({ value }) => value)).toEqual([store.toString("base64"), store.toString("hex")]);
  });

  it("names a value by its key", () => {
    expect(secretFileValues(".env", Buffer.from("DB_PASSWORD=hunter2\nAPI_KEY=x7Kp2Lm9\nOTHER=Qw81Er52"))).toEqual([
      { value: "hunter2", kind: "password" },
      { value: "x7Kp2Lm9", kind: "api-key" },
      { value: "Qw81Er52", kind: "secret" },
    ]);
  });

  it.each([
    '"',
    `"'`,
    'a="b',
    "<a>b",
    "a=b;",
    "a://b:c@",
    'A="\n',
    "[",
    '{"a":',
    "- ",
    "a: &a [*a",
    '\\"',
    "machine password ",
    "QUJDREVG",
  ])("are read in milliseconds from a large file of: %s", (unit) => {
    const file = Buffer.from(unit.repeat(Math.ceil(300_000 / unit.length)));
    for (const path of ["x.env", "x.yaml", ".netrc", ".pgpass"]) {
      const start = processorMs();
      secretFileValues(path, file);
      expect(processorMs() - start).toBeLessThan(3_000);
    }
  });

  it("never fails, whatever the file holds", () => {
    for (const text of ["{", "[1,", "a: [", "'''", '"', "<a>", "=", "-----BEGIN PRIVATE KEY-----", "\\", "%", "a=\u0001\u0002"])
      expect(() => secretFileValues("x.yaml", Buffer.from(text))).not.toThrow();
  });
});
