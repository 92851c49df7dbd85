import { lookup, type LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { checkedLookup, createPageFetch } from "../../../agent-server/security/security.ts";
import { betweenTags, createPageReader } from "../../../agent-server/tools/providers/page-reader.ts";
import { readable } from "../../../agent-server/tools/providers/readable.ts";
import { openWeb, redirect, type Web } from "../../support/tools/web-site.ts";

const anything = { method: "GET", signal: new AbortController().signal, judge: () => undefined, maxBytes: 1000, timeoutMs: 5_000 } as const;

/** A resolver that says what it is told to, before the real check. */
function resolving(addresses: LookupAddress[]) {
  return checkedLookup((_host, _options, done) => done(null, addresses));
}

describe("the gate of tools to the network", () => {
  it.each([
    ["this machine", "127.0.0.1"],
    ["a private network", "10.0.0.1"],
    ["another private network", "192.168.1.1"],
    ["the local link and cloud metadata", "169.254.169.254"],
    ["this machine, version 6", "::1"],
    ["a private network, version 6", "fd00::1"],
    ["an address of version 4 in one of version 6", "::ffff:127.0.0.1"],
    ["everywhere", "0.0.0.0"],
  ])("does not connect to a listed name that leads to %s", async (_, address) => {
    const fetch = createPageFetch({ env: {}, lookup: resolving([{ address, family: address.includes(":") ? 6 : 4 }]) });
    await expect(fetch({ ...anything, url: "https://docs.example.org/" })).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining("docs.example.org resolves to an address") as string,
    });
  });

  it("does not take the public one of two addresses when the other is private", async () => {
    const both = [
      { address: "93.184.215.14", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    await expect(
      createPageFetch({ env: {}, lookup: resolving(both) })({ ...anything, url: "https://a.example.org/" }),
    ).rejects.toMatchObject({
      code: "denied",
    });
  });

  it("says so when a name is not found", async () => {
    const fetch = createPageFetch({ env: {}, lookup: checkedLookup(lookup) });
    await expect(fetch({ ...anything, url: "https://nothing.invalid/" })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("nothing.invalid was not found") as string,
    });
  });

  it("never speaks without encryption, whoever judges", async () => {
    await expect(createPageFetch({ env: {} })({ ...anything, url: "http://docs.example.org/" })).rejects.toMatchObject({ code: "denied" });
  });
});

describe("one request", () => {
  let web: Web;
  beforeAll(async () => {
    web = await openWeb();
  });
  afterAll(() => web.close());

  it("is judged at every hop, before anything is sent there", async () => {
    web.serve("a.example.org/1", redirect("https://b.example.org/2#here"));
    web.serve("b.example.org/2", redirect("https://c.example.org/3"));
    web.serve("c.example.org/3", "here", "text/plain");
    const judged: [string, number, number][] = [];
    const judge = (url: string, hop: number) => void judged.push([url, hop, web.requests.length]);
    const { url, redirects } = await web.fetch({ ...anything, url: "https://a.example.org/1", judge });
    expect(judged).toEqual([
      ["https://a.example.org/1", 0, 0],
      ["https://b.example.org/2", 1, 1],
      ["https://c.example.org/3", 2, 2],
    ]);
    expect({ url, redirects }).toEqual({ url: "https://c.example.org/3", redirects: ["https://b.example.org/2"] });
  });

  it("goes no further than where it is refused", async () => {
    web.requests.length = 0;
    web.serve("a.example.org/1", redirect("https://b.example.org/2"));
    const judge = (_url: string, hop: number) => {
      if (hop === 1) throw new LancelotError("denied", "Not there.");
    };
    await expect(web.fetch({ ...anything, url: "https://a.example.org/1", judge })).rejects.toThrow("Not there.");
    expect(web.requests).toHaveLength(1);
  });

  it("reads no body that was refused by its head", async () => {
    web.serve("a.example.org/big", (_, response) => void response.writeHead(200, { "content-type": "image/png" }).write("x"));
    const accepts = () => {
      throw new LancelotError("invalid_params", "Not that.");
    };
    await expect(web.fetch({ ...anything, url: "https://a.example.org/big", accepts })).rejects.toThrow("Not that.");
  });

  it.each([
    ["that says nothing", ""],
    ["that stops in the middle", "half"],
  ])("to a server %s ends after its time", async (_, part) => {
    web.serve("a.example.org/slow", (_request, response) => {
      if (part !== "") response.writeHead(200, { "content-type": "text/plain" }).write(part);
    });
    await expect(web.fetch({ ...anything, url: "https://a.example.org/slow", timeoutMs: 300 })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("did not finish its response within") as string,
    });
  });

  it("to a server that is not who it says is not made", async () => {
    await expect(web.fetch({ ...anything, url: "https://docs.example.com/" })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("certificate") as string,
    });
  });

  it("to a server that speaks something else is an error with a message", async () => {
    const server = createServer((socket) => socket.end("HELLO\r\n"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const tls = await import("node:tls");
    const fetch = createPageFetch({
      env: {},
      connector: (_options, done) => {
        const socket = tls.connect({ port, host: "127.0.0.1", servername: "a.example.org" });
        socket.once("secureConnect", () => done(null, socket));
        socket.once("error", (error) => done(error, null));
      },
    });
    await expect(fetch({ ...anything, url: "https://a.example.org/" })).rejects.toMatchObject({ code: "unavailable" });
    server.close();
  });
});

describe("what a person would read of a page", () => {
  const read = (html: string) => readable(html, "https://docs.example.org/a/b");
  const filler = `<p>${"Words that make this long enough to be the article of the page. ".repeat(6)}</p>`;

  it.each<[string, string, string]>([
    ["headings", `<h2>Two</h2>${filler}`, "## Two"],
    ["code, as it stands", `${filler}<pre><code>a  b\n  c</code></pre>`, "```\na  b\n  c\n```"],
    ["lists", `${filler}<ul><li>one</li><li>two</li></ul>`, "-   one\n-   two"],
    ["links, whole", `${filler}<p><a href="../c">c</a></p>`, "[c](https://docs.example.org/c)"],
    [
      "tables",
      `${filler}<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2|3</td></tr></table>`,
      "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |",
    ],
    ["what a picture shows", `${filler}<img src="x.png" alt="A cat">`, "[picture: A cat]"],
    ["letters that HTML writes out", `${filler}<p>a &lt; b &amp;&amp; c</p>`, "a < b && c"],
  ])("has %s", (_, body, expected) => {
    expect(read(`<html><body><article>${body}</article></body></html>`).text).toContain(expected);
  });

  it.each<[string, string]>([
    ["scripts", "<script>hidden()</script>"],
    ["styles", "<style>.hidden{}</style>"],
    ["frames", '<iframe src="https://hidden.example.org"></iframe>'],
    ["addresses that run something", '<p><a href="javascript:hidden()">x</a></p>'],
    ["pictures by their address", '<img src="https://hidden.example.org/x.png">'],
    ["forms", '<form><input value="hidden"></form>'],
  ])("has no %s", (_, body) => {
    expect(read(`<html><body><article>${filler}${body}</article></body></html>`).text).not.toContain("hidden");
  });

  it.each([
    "",
    "   ",
    "<",
    "<p",
    "<html>",
    "<!doctype html>",
    "<body></body>",
    "\u0000",
    "<p>x".repeat(500),
    "<tr><td>1<<a href=".repeat(400),
  ])("never fails on what is no page (%#)", (html) => {
    expect(typeof read(html).text).toBe("string");
  });

  it("is all of its text where there is no article", () => {
    expect(read("<title>T</title><p>short</p><p>page</p>")).toEqual({ title: "T", text: "short\n\npage" });
  });
});

describe("a page that is too much to be understood", () => {
  const never = new AbortController().signal;
  const url = "https://docs.example.org/";

  it.each<[string, string]>([
    ["deep beyond measure", `<title>T</title>${"<div>".repeat(20_000)}<p>found</p>`],
    ["of more elements than can be counted", `<title>T</title>${"<b></b>".repeat(200_000)}<p>found</p>`],
  ])("(%s) is given as the text between its tags, and the host continues meanwhile", async (_, html) => {
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 5);
    const { text } = await createPageReader({ distDir: null, limitMs: 400 })(html, url, never);
    clearInterval(turning);
    expect(text).toContain("found");
    expect(turns).toBeGreaterThan(5);
  });

  it("is left when the owner stops", async () => {
    const stop = new AbortController();
    const reading = createPageReader({ distDir: null })("<div>".repeat(20_000), url, stop.signal);
    stop.abort();
    await expect(reading).rejects.toMatchObject({ code: "cancelled" });
  });

  it.each<[string, string, { title: string | null; text: string }]>([
    ["scripts and styles", "<style>a</style><script>if (a < b) c()</script><p>x</p>", { title: null, text: "x" }],
    ["a script without an end", "<p>x</p><script>y", { title: null, text: "x" }],
    ["a tag without an end", "<p>x</p><a href=", { title: null, text: "x" }],
    [
      "a title, letters that HTML writes out",
      "<title>A &amp; B</title><p>a&#32;&lt;&#x20;b</p><p>c</p>",
      { title: "A & B", text: "a < b\nc" },
    ],
    ["letters that are none", "&#0;&#x110000;&#xd800;&unknown;", { title: null, text: "&#0;&#x110000;&#xd800;&unknown;" }],
  ])("has no tags: %s", (_, html, expected) => {
    expect(betweenTags(html)).toEqual(expected);
  });

  it("has its text found in one pass, whatever stands there", () => {
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (html) => typeof betweenTags(html).text === "string"));
    expect(betweenTags(`${"<script>".repeat(200_000)}x`).text).toBe("");
    expect(betweenTags("<".repeat(500_000)).text).toBe("");
  });
});
