import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { download } from "../../agent-server/tools/catalog/download.ts";
import { fetchUrl } from "../../agent-server/tools/catalog/fetch-url.ts";
import { httpPost } from "../../agent-server/tools/catalog/http-post.ts";
import { readFile } from "../../agent-server/tools/catalog/read-file.ts";
import { createPageReader } from "../../agent-server/tools/providers/page-reader.ts";
import { type Answer, openWeb, redirect, type Web } from "../support/tools/web-site.ts";
import { createToolsFixture, type ToolsFixture, type ToolsFixtureOptions } from "../support/tools-fixture.ts";

let web: Web;
let base = "";
let fixture: ToolsFixture;
let on = true;
let safe = false;
beforeAll(async () => {
  web = await openWeb();
});
afterAll(() => web.close());
beforeEach(() => {
  on = true;
  safe = false;
  web.requests.length = 0;
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-web-")));
  mkdirSync(join(base, "data/config"), { recursive: true });
  writeFileSync(
    join(base, "data/config/network.yaml"),
    "version: 1\nallow: [docs.example.org, files.example.org, api.example.org]\ndeny: [bad.example.org]\n",
  );
  open();
});
afterEach(() => {
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

function open(options: ToolsFixtureOptions = {}): void {
  fixture = createToolsFixture({
    base,
    catalog: [fetchUrl, download, httpPost, readFile],
    networkEnabled: () => on,
    posture: "autonomous",
    given: { flag: (name) => name === "TOOLS_NETWORK" && on, safeMode: () => safe, pageFetch: web.fetch },
    ...options,
  });
  fixture.answer("allow_once");
}

const fetchText = async (url: string, more: Record<string, unknown> = {}) => fixture.run("fetch_url", { url, ...more });
const bytes =
  (body: Buffer, headers: Record<string, string>): Answer =>
  (_, response) =>
    void response.writeHead(200, headers).end(body);
const sentences = "A sentence that says something about the thing at hand, at a length people write. ".repeat(8);

describe("fetch_url", () => {
  it("gives what a person would read of a page, its source first, and keeps the source on the receipt", async () => {
    const page = `<!doctype html><html><head><title>The guide</title><script>alert(1)</script></head><body><nav><a href="/x">Menu</a></nav>
      <article><h1>The guide</h1><p>${sentences}</p><pre><code>npm install</code></pre><p>See <a href="/more">more</a>. ${sentences}</p></article></body></html>`;
    web.serve("docs.example.org/guide", page);
    const outcome = await fetchText("https://docs.example.org/guide#part");
    expect(outcome.isError).toBe(false);
    expect(outcome.text).toMatch(/^\[Source: https:\/\/docs\.example\.org\/guide, fetched 20/);
    expect(outcome.text).toContain("A sentence that says something");
    expect(outcome.text).toContain("npm install");
    expect(outcome.text).toContain("[more](https://docs.example.org/more)");
    expect(outcome.text).not.toMatch(/alert|Menu/);
    const receipt = fixture.ledger.get(outcome.receiptId ?? "");
    expect(receipt).toMatchObject({ status: "success", riskTier: "T2", metadata: { provider: { name: "web-gate", version: "1" } } });
    expect(receipt?.outputs).toMatchObject({
      source: {
        url: "https://docs.example.org/guide",
        finalUrl: "https://docs.example.org/guide",
        status: 200,
        sha256: createHash("sha256").update(page).digest("hex"),
      },
    });
    expect(web.requests).toHaveLength(1);
    expect(web.requests[0]?.headers.cookie).toBeUndefined();
  });

  it.each<[string, string, string, string]>([
    ["plain text", "text/plain", "one\ntwo", "one\ntwo"],
    ["JSON on one line, indented", "application/json", '{"a":[1,2]}', '{\n  "a": [\n    1,\n    2\n  ]\n}'],
    ["what calls itself JSON and is not", "application/json", "{a", "{a"],
    ["Markdown", "text/markdown", "# One\n\n- two", "# One\n\n- two"],
    ["a feed", "application/rss+xml", "<rss><item>x</item></rss>", "<rss><item>x</item></rss>"],
    ["YAML", "application/yaml", "a: 1", "a: 1"],
  ])("gives %s as it is", async (_, type, body, expected) => {
    web.serve("docs.example.org/file", body, type);
    const { text, isError } = await fetchText("https://docs.example.org/file");
    expect(isError).toBe(false);
    expect(text.split("\n").slice(1).join("\n")).toBe(expected);
  });

  it.each<[string, Buffer, string]>([
    ["the content type", Buffer.from("caf\xe9", "latin1"), "text/plain; charset=ISO-8859-1"],
    ["the content type, in quotes", Buffer.from("caf\xe9", "latin1"), 'text/plain; charset="windows-1252"'],
    ["a byte order mark, whatever the type says", Buffer.from("\ufeffcafé", "utf16le"), "text/plain; charset=utf-8"],
    ["the page itself", Buffer.from(`<!doctype html><meta charset="iso-8859-1"><p>caf\xe9</p>`, "latin1"), "text/html"],
    [
      "an older page itself",
      Buffer.from(`<html><meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>caf\xe9`, "latin1"),
      "text/html",
    ],
    ["nobody: UTF-8", Buffer.from("café"), "text/plain"],
    ["a name nobody knows: UTF-8", Buffer.from("café"), "text/plain; charset=klingon"],
    ["no type at all", Buffer.from("café"), ""],
  ])("reads the characters as said by %s", async (_, body, type) => {
    web.serve("docs.example.org/coded", bytes(body, type === "" ? {} : { "content-type": type }));
    expect((await fetchText("https://docs.example.org/coded")).text).toContain("café");
  });

  it.each<[string, Buffer, string, string]>([
    ["a PDF", Buffer.from("%PDF-1.7"), "application/pdf", "a PDF"],
    ["a picture", Buffer.from([0x89, 0x50]), "image/png", "image/png"],
    ["bytes", Buffer.from([1, 2, 3]), "application/octet-stream", "application/octet-stream"],
    ["bytes that call themselves text", Buffer.from([65, 0, 66]), "text/plain", "not text"],
  ])("refuses %s with a message that says what to do", async (_, body, type, content) => {
    web.serve("docs.example.org/odd", bytes(body, { "content-type": type }));
    const { text, isError } = await fetchText("https://docs.example.org/odd");
    expect(isError).toBe(true);
    expect(text).toContain(content);
    expect(text).toContain("download");
  });

  it.each<[number, string]>([
    [404, "has nothing at this address"],
    [403, "(403)"],
    [429, "(429)"],
    [500, "(500)"],
  ])("says what %i means", async (status, content) => {
    web.serve("docs.example.org/no", (_, response) => void response.writeHead(status, { "content-type": "text/html" }).end("<p>no</p>"));
    const { text, isError } = await fetchText("https://docs.example.org/no");
    expect(isError).toBe(true);
    expect(text).toContain(content);
  });

  it("shows a long page piece by piece, none of it twice or not at all", async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `line ${index} ${"x".repeat(index % 40)}`);
    web.serve("docs.example.org/long", lines.join("\n"), "text/plain");
    const seen: string[] = [];
    for (let offset = 1; ; ) {
      const { text } = await fetchText("https://docs.example.org/long", { offset });
      const rows = text.split("\n").slice(1);
      const next = /Continue with offset (\d+)\.\]$/.exec(rows.at(-1) ?? "")?.[1];
      seen.push(...(next === undefined ? rows : rows.slice(0, -1)));
      if (next === undefined) break;
      offset = Number(next);
    }
    expect(seen).toEqual(lines);
  });

  it("keeps nothing of a paragraph from the reader, however long it is", async () => {
    const content = Array.from({ length: 2000 }, (_, index) => `w${index}`);
    web.serve("docs.example.org/paragraph", content.join(" "), "text/plain");
    const { text } = await fetchText("https://docs.example.org/paragraph");
    expect(text.split("\n").slice(1).join(" ").split(" ")).toEqual(content);
  });

  it("takes in no more of a packed bomb than its bound", async () => {
    const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024, 97));
    web.serve("docs.example.org/bomb", bytes(bomb, { "content-type": "text/plain", "content-encoding": "gzip" }));
    const { text, isError } = await fetchText("https://docs.example.org/bomb");
    expect(isError).toBe(true);
    expect(text).toContain("larger than 5 MB");
  });

  it("takes in no more of an endless answer than its bound", async () => {
    web.serve("docs.example.org/endless", (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const chunk = Buffer.alloc(256 * 1024, 97);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    expect((await fetchText("https://docs.example.org/endless")).text).toContain("larger than 5 MB");
  });

  it.each<[string, Answer, string]>([
    [
      "ends before it is complete",
      (_, response) =>
        void response.writeHead(200, { "content-type": "text/plain", "content-length": "100" }).write("part", () => response.destroy()),
      "closed the connection",
    ],
    [
      "is packed wrongly",
      bytes(Buffer.from("no gzip"), { "content-type": "text/plain", "content-encoding": "gzip" }),
      "could not be decompressed",
    ],
    ["never comes", (_, response) => void response.destroy(), "closed the connection"],
  ])("says so when an answer %s, and the gate is not to blame", async (_, answer, content) => {
    web.serve("docs.example.org/broken", answer);
    for (let time = 0; time < 4; time += 1) expect((await fetchText("https://docs.example.org/broken")).text).toContain(content);
    expect(fixture.tools.routing.providers().find(({ id }) => id === "web-gate")?.health.status).toBe("ok");
  });

  it("ends with the owner's stop, and the request with it", async () => {
    const stop = new AbortController();
    const gone = new Promise<void>((resolve) => {
      web.serve("docs.example.org/slow", (_, response) => {
        response.once("close", resolve);
        stop.abort();
      });
    });
    await expect(fixture.run("fetch_url", { url: "https://docs.example.org/slow" }, { signal: stop.signal })).rejects.toMatchObject({
      code: "cancelled",
    });
    await gone;
  });

  it.each<[string, string, RegExp]>([
    ["a host that is not listed", "https://other.example.org/", /allowlist/],
    ["a host the owner refuses", "https://bad.example.org/", /denied hosts/],
    ["http", "http://docs.example.org/", /Only https/],
    ["another port", "https://docs.example.org:8443/", /port/],
    ["a name and a password", "https://me:pw@docs.example.org/", /user name or password/],
    ["this machine", "https://127.0.0.1/", /always blocked/],
    ["cloud metadata", "https://169.254.169.254/latest", /always blocked/],
    ["a file", "file:///etc/passwd", /Only https/],
    ["a secret in the address", "https://docs.example.org/?key=sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", /secret/],
  ])("refuses %s before anything is sent", async (_, url, content) => {
    const outcome = await fetchText(url);
    expect(outcome.card.status).toBe("denied");
    expect(outcome.text).toMatch(content);
    expect(web.requests).toHaveLength(0);
  });

  it("is not offered while its flag is off, and says which", async () => {
    on = false;
    expect(fixture.tools.schemas().map(({ name }) => name)).not.toContain("fetch_url");
    const outcome = await fetchText("https://docs.example.org/guide");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("TOOLS_NETWORK");
    expect(web.requests).toHaveLength(0);
  });

  it("is not offered in safe mode", async () => {
    safe = true;
    expect((await fetchText("https://docs.example.org/guide")).text).toContain("Safe mode");
    expect(fixture.tools.schemas().map(({ name }) => name)).toEqual(["read_file"]);
    expect(web.requests).toHaveLength(0);
  });
});

it("pages are understood by what ships, too", async () => {
  const read = createPageReader({ distDir: join(import.meta.dirname, "../../dist") });
  const { title, text } = await read("<title>T</title><p>some <b>words</b></p>", "https://docs.example.org/", new AbortController().signal);
  // Bold is Markdown only where the page was understood, not where its tags were taken away.
  expect({ title, text }).toEqual({ title: "T", text: "some **words**" });
});

describe("a redirect", () => {
  it("within the host is followed, and both addresses are named", async () => {
    web.serve("docs.example.org/old", redirect("/new", 301));
    web.serve("docs.example.org/new", "here now", "text/plain");
    const outcome = await fetchText("https://docs.example.org/old");
    expect(outcome.text).toContain("[Source: https://docs.example.org/new (requested as https://docs.example.org/old)");
    expect(outcome.text).toContain("here now");
  });

  it.each<[string, string, RegExp]>([
    ["a host that is not listed", "https://other.example.org/x", /other\.example\.org.*allowlist/],
    ["a host the owner refuses", "https://bad.example.org/x", /refused/],
    ["http", "http://docs.example.org/x", /Only https/],
    ["this machine", "https://127.0.0.1/x", /always blocked/],
    ["a private address written as a number", "https://2130706433/x", /always blocked/],
    ["another port", "https://docs.example.org:444/x", /port/],
    ["a name and a password", "https://a:b@docs.example.org/x", /password/],
  ])("to %s is not followed", async (_, location, content) => {
    web.serve("docs.example.org/old", redirect(location));
    web.serve("files.example.org/x", "never read", "text/plain");
    const outcome = await fetchText("https://docs.example.org/old");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(content);
    expect(web.requests.map(({ host, path }) => host + path)).toEqual(["docs.example.org/old"]);
  });

  it("to another listed host is followed where that host would be allowed by itself", async () => {
    web.serve("docs.example.org/old", redirect("https://files.example.org/x"));
    web.serve("files.example.org/x", "read", "text/plain");
    const outcome = await fetchText("https://docs.example.org/old");
    expect(outcome.text).toContain("[Source: https://files.example.org/x (requested as https://docs.example.org/old)");
  });

  it("to a listed host the owner would be asked about is not followed: the approval was for the first", async () => {
    fixture.close();
    open({
      wrap: (real) => ({
        ...real,
        evaluate: (intent) => {
          const decision = real.evaluate(intent);
          return String(intent.args["url"]).includes("files.example.org") ? { ...decision, verdict: "ask" } : decision;
        },
      }),
    });
    web.serve("docs.example.org/old", redirect("https://files.example.org/x"));
    const outcome = await fetchText("https://docs.example.org/old");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("https://files.example.org/x");
    expect(web.requests).toHaveLength(1);
  });

  it("without an end is given up", async () => {
    web.serve("docs.example.org/loop", redirect("/loop"));
    expect((await fetchText("https://docs.example.org/loop")).text).toContain("redirects too often");
    expect(web.requests.length).toBeLessThan(10);
  });

  it("that cannot be read is an error", async () => {
    web.serve("docs.example.org/odd", redirect("https://[oops"));
    expect((await fetchText("https://docs.example.org/odd")).text).toContain("invalid URL");
  });
});

describe("download", () => {
  const body = Buffer.from([0, 1, 2, 255]);
  const get = (path: string, url = "https://files.example.org/a.bin") => fixture.run("download", { url, path });
  const serve = (type = "application/octet-stream") => web.serve("files.example.org/a.bin", bytes(body, { "content-type": type }));

  it("keeps a file, in folders that it makes, with its hash on the receipt", async () => {
    serve();
    const outcome = await get("data/new/a.bin");
    expect(outcome.text).toContain("Kept as data/new/a.bin (4 bytes, SHA-256 ");
    expect(readFileSync(fixture.path("data/new/a.bin"))).toEqual(body);
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.outputs).toMatchObject({
      source: { url: "https://files.example.org/a.bin", sha256: createHash("sha256").update(body).digest("hex") },
      changedFiles: [{ path: "data/new/a.bin", before: null }],
    });
  });

  it("replaces a file so that undo puts it back, bytes and mode", async () => {
    serve();
    fixture.write("a.bin", Buffer.from([9, 9, 0]));
    expect((await get("a.bin")).text).toContain("Replaced a.bin");
    expect(readFileSync(fixture.path("a.bin"))).toEqual(body);
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(readFileSync(fixture.path("a.bin"))).toEqual(Buffer.from([9, 9, 0]));
  });

  it.each<[string, string, RegExp]>([
    ["a secret", ".env", /Environment files/],
    ["the editor's settings", ".vscode/settings.json", /protected|settings/],
    ["git's hooks", ".git/hooks/pre-commit", /protected|git/i],
    ["a file elsewhere", "../elsewhere.bin", /workspace/],
    ["a folder", "folder", /is a folder/],
    ["a link that leads outside", "way/a.bin", /workspace/],
  ])("never goes to %s", async (_, path, content) => {
    serve();
    mkdirSync(fixture.path("folder"));
    mkdirSync(join(fixture.workspace, "../outside"));
    symlinkSync("../outside", fixture.path("way"));
    const outcome = await get(path);
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(content);
    expect(web.requests).toHaveLength(0);
    expect(existsSync(join(fixture.workspace, "../elsewhere.bin"))).toBe(false);
  });

  it("does not keep a page in place of a file", async () => {
    serve("text/html");
    fixture.write("a.bin", "before");
    expect((await get("a.bin")).text).toContain("fetch_url");
    expect(fixture.read("a.bin")).toBe("before");
  });

  it("keeps a page where a page was wanted", async () => {
    serve("text/html");
    expect((await get("page.html")).isError).toBe(false);
  });

  it("leaves what is there when the answer is too large", async () => {
    web.serve("files.example.org/a.bin", bytes(gzipSync(Buffer.alloc(60 * 1024 * 1024)), { "content-encoding": "gzip" }));
    fixture.write("a.bin", "before");
    expect((await get("a.bin")).text).toContain("larger than 50 MB");
    expect(fixture.read("a.bin")).toBe("before");
  });

  it("leaves what somebody else wrote meanwhile", async () => {
    fixture.write("a.bin", "before");
    web.serve("files.example.org/a.bin", (_, response) => {
      fixture.write("a.bin", "theirs");
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(body);
    });
    expect((await get("a.bin")).isError).toBe(true);
    expect(fixture.read("a.bin")).toBe("theirs");
  });
});

describe("http_post", () => {
  const post = (body: string, more: Record<string, unknown> = {}) =>
    fixture.run("http_post", { url: "https://api.example.org/items", body, ...more });

  it("sends exactly what the owner was shown, and gives the answer", async () => {
    const shown: string[] = [];
    web.serve("api.example.org/items", '{"id":7}', "application/json");
    fixture.close();
    open({
      wrap: (real) => ({
        ...real,
        authorize: (intent, question, context) => {
          shown.push(question.detail);
          return real.authorize(intent, question, context);
        },
      }),
    });
    const outcome = await post('{"name":"x"}');
    expect(shown).toEqual(['POST https://api.example.org/items\nContent-Type: application/json\n\n{"name":"x"}']);
    expect(outcome.text).toContain('{"id":7}');
    expect(web.requests).toMatchObject([{ method: "POST", body: '{"name":"x"}' }]);
    expect(web.requests[0]?.headers["content-type"]).toBe("application/json");
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ riskTier: "T3", status: "success" });
  });

  it("is not sent when the owner says no", async () => {
    fixture.answer("deny");
    expect((await post("x")).card.status).toBe("denied");
    expect(web.requests).toHaveLength(0);
  });

  it("sends nothing that looks like a secret", async () => {
    const outcome = await post(`{"token":"ghp_${"a1B2".repeat(9)}"}`);
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("private");
    expect(web.requests).toHaveLength(0);
  });

  it("follows no redirect, not even within the host", async () => {
    web.serve("api.example.org/items", redirect("/other", 307));
    const outcome = await post("x");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("https://api.example.org/other");
    expect(web.requests).toHaveLength(1);
  });

  it("reports an answer that is an error as one", async () => {
    web.serve("api.example.org/items", (_, response) => void response.writeHead(422, { "content-type": "text/plain" }).end("no name"));
    const outcome = await post("x");
    expect(outcome.text).toContain("422.\nno name");
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.status).toBe("failure");
  });

  it("is sent once, also when the answer never comes", async () => {
    web.serve("api.example.org/items", (_, response) => void response.destroy());
    const outcome = await post("x");
    expect(outcome.isError).toBe(true);
    expect(web.requests).toHaveLength(1);
  });
});
