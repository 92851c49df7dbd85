import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkedLookup, isLoopbackHost, reachOf } from "../../../agent-server/security/addresses.ts";
import { createGatedFetch } from "../../../agent-server/security/security.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
interface Site {
  origin: string;
  server: Server;
  requests: IncomingMessage[];
  answer: Answer;
}
let sites: Site[];

beforeEach(() => {
  sites = [];
});
afterEach(async () => {
  for (const { server } of sites) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

async function site(answer: Answer = (_, response) => response.end("hello")): Promise<Site> {
  const made: Site = { origin: "", requests: [], answer, server: createServer() };
  made.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    made.requests.push(request);
    made.answer(request, response);
  });
  made.server.listen(0, "127.0.0.1");
  await once(made.server, "listening");
  made.origin = `http://127.0.0.1:${(made.server.address() as AddressInfo).port}`;
  sites.push(made);
  return made;
}

const redirect =
  (location: string, status = 302): Answer =>
  (_, response) => {
    response.writeHead(status, { location }).end();
  };
const echo: Answer = (request, response) => {
  const chunks: Buffer[] = [];
  request
    .on("data", (chunk: Buffer) => chunks.push(chunk))
    .on("end", () => response.end(`${request.method} ${Buffer.concat(chunks).toString()}`));
};
const gated = createGatedFetch({ env: {} });

describe("a named origin", () => {
  it("is reached, with method, headers and body as given", async () => {
    const { origin, requests } = await site(echo);
    const response = await gated([`${origin}/v1`])(`${origin}/v1/chat`, {
      method: "POST",
      body: "question",
      headers: { authorization: "Bearer x" },
    });
    expect(await response.text()).toBe("POST question");
    expect(requests[0]?.headers.authorization).toBe("Bearer x");
  });

  it("is reached with a Request, a stream or a form", async () => {
    const { origin } = await site(echo);
    const fetch = gated([origin]);
    expect(await (await fetch(new Request(`${origin}/a`, { method: "PUT", body: "request" }))).text()).toBe("PUT request");
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const piece of ["str", "eam"]) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    expect(await (await fetch(new URL(origin), { method: "POST", body: stream, duplex: "half" } as RequestInit)).text()).toBe(
      "POST stream",
    );
    const form = new FormData();
    form.set("field", "form value");
    form.set("file", new File(["content"], "name.txt"));
    const text = await (await fetch(origin, { method: "POST", body: form })).text();
    expect(text).toMatch(/form value[^]*name\.txt[^]*content/);
  });

  it("streams its answer as it comes", async () => {
    let finish = () => {};
    const { origin } = await site((_, response) => {
      response.write("first");
      finish = () => response.end("last");
    });
    const reader = (await gated([origin])(origin)).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("first");
    finish();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("last");
  });

  it("loses its socket when the request is stopped", async () => {
    const { origin, server } = await site((_, response) => void response.write("first"));
    const connected = once(server, "connection") as Promise<[Socket]>;
    const stop = new AbortController();
    const response = await gated([origin])(origin, { signal: stop.signal });
    const [socket] = await connected;
    const closed = once(socket, "close");
    stop.abort();
    await closed;
    await expect(response.text()).rejects.toThrow(/abort/i);
  });
});

describe("what is not named", () => {
  it.each<[string, (origin: string) => string]>([
    ["another host", () => "https://example.com/"],
    ["another port", () => "http://127.0.0.1:1/"],
    ["another scheme", (origin) => origin.replace("http:", "https:")],
    ["another name of the same machine", (origin) => origin.replace("127.0.0.1", "localhost")],
    ["a name that begins alike", (origin) => `${origin.replace(/:\d+$/, ".example.com")}/`],
    ["a user that looks like the host", (origin) => `${origin}@example.com/`],
    ["a file", () => "file:///etc/passwd"],
    ["data", () => "data:text/plain,hello"],
  ])("is refused: %s", async (_, address) => {
    const { origin, requests } = await site();
    await expect(gated([origin])(address(origin))).rejects.toMatchObject({ code: "denied" });
    expect(requests).toHaveLength(0);
  });
});

describe("a redirect", () => {
  it("within the origin is followed, with the credentials", async () => {
    const { origin, requests } = await site((request, response) =>
      request.url === "/old" ? redirect("/new", 307)(request, response) : echo(request, response),
    );
    const response = await gated([origin])(`${origin}/old`, { method: "POST", body: "again", headers: { authorization: "x" } });
    expect(await response.text()).toBe("POST again");
    expect(requests[1]?.headers.authorization).toBe("x");
  });

  it("elsewhere is refused with a message that names where", async () => {
    const other = await site();
    const { origin } = await site(redirect(`${other.origin}/steal`));
    await expect(gated([origin])(origin, { headers: { authorization: "x" } })).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining(`redirects to ${other.origin}`) as string,
    });
    expect(other.requests).toHaveLength(0);
  });

  it("to another named origin is followed without anything that could be a credential", async () => {
    const other = await site(echo);
    const { origin } = await site(redirect(`${other.origin}/file`));
    const headers = { authorization: "x", cookie: "x", "x-api-key": "x", "x-goog-api-key": "x", "x-anything": "x", range: "bytes=5-" };
    expect(await (await gated([origin, other.origin])(origin, { headers })).text()).toBe("GET ");
    expect(other.requests[0]?.headers).toMatchObject({ range: "bytes=5-" });
    expect(Object.keys(other.requests[0]?.headers ?? {}).filter((name) => /auth|cookie|key|anything/.test(name))).toEqual([]);
  });

  it("turns a POST into a GET where the web does so, and drops what was sent", async () => {
    const { origin } = await site((request, response) =>
      request.url === "/" ? redirect("/seen", 303)(request, response) : echo(request, response),
    );
    expect(await (await gated([origin])(origin, { method: "POST", body: "secret" })).text()).toBe("GET ");
  });

  it.each([
    ["to metadata of the cloud", "http://169.254.169.254/latest/"],
    ["to a file", "file:///etc/passwd"],
    ["that cannot be read", "http://["],
    ["to a user in the address", "http://arthur@example.com/"],
  ])("%s is refused", async (_, location) => {
    const { origin } = await site(redirect(location));
    await expect(gated([origin])(origin)).rejects.toMatchObject({ code: "denied" });
  });

  it("in a circle ends", async () => {
    const { origin, requests } = await site(redirect("/"));
    await expect(gated([origin])(origin)).rejects.toMatchObject({ code: "unavailable" });
    expect(requests).toHaveLength(6);
  });

  it("is passed on or refused at the caller's request", async () => {
    const { origin, requests } = await site(redirect("/next"));
    expect((await gated([origin])(origin, { redirect: "manual" })).status).toBe(302);
    await expect(gated([origin])(origin, { redirect: "error" })).rejects.toMatchObject({ code: "unavailable" });
    expect(requests).toHaveLength(2);
  });
});

describe("an origin", () => {
  it.each([
    "https://api.example.com/v1",
    "http://localhost:11434",
    "http://127.0.0.1:8080/v1",
    "http://[::1]:1234",
    "http://models.localhost",
    "https://192.168.1.20",
  ])("may be %s", (origin) => {
    expect(() => gated([origin])).not.toThrow();
  });

  it.each([
    "http://api.example.com",
    "http://192.168.1.20:11434",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "ftp://example.com",
    "file:///tmp",
    "not an address",
    "",
    "https://169.254.169.254",
    "https://2852039166",
    "https://0.0.0.0",
    "https://[fe80::1]",
    "https://[fd00:ec2::254]",
    "https://[::ffff:169.254.169.254]",
    "https://224.0.0.1",
    "https://255.255.255.255",
  ])("may not be %s", (origin) => {
    expect(() => gated([origin])).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/denied|invalid_params/) as string }) as Error,
    );
  });
});

describe("a name", () => {
  const resolveTo =
    (...addresses: string[]) =>
    (_: string, __: object, done: (error: null, found: { address: string; family: number }[]) => void) =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );

  it.each([
    ["a private network", "10.0.0.1"],
    ["a home network", "192.168.1.1"],
    ["this machine", "127.0.0.1"],
    ["this machine by IPv6", "::1"],
    ["metadata of the cloud", "169.254.169.254"],
    ["metadata in IPv6 clothes", "::ffff:169.254.169.254"],
    ["a private network behind NAT64", "64:ff9b::a00:1"],
    ["a private network in 6to4", "2002:a00:1::"],
    ["a unique local address", "fd00::1"],
    ["the link", "fe80::1"],
    ["carrier networks", "100.64.0.1"],
    ["nothing", "0.0.0.0"],
    ["everyone", "224.0.0.1"],
  ])("that leads to %s is not contacted", async (_, address) => {
    const fetch = createGatedFetch({ env: {}, lookup: checkedLookup(resolveTo(address)) })(["https://rebound.example.com"]);
    await expect(fetch("https://rebound.example.com/")).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining("rebound.example.com") as string,
    });
  });

  it("with one public and one private address is not contacted", async () => {
    const fetch = createGatedFetch({ env: {}, lookup: checkedLookup(resolveTo("93.184.216.34", "10.0.0.1")) })([
      "https://mixed.example.com",
    ]);
    await expect(fetch("https://mixed.example.com/")).rejects.toMatchObject({ code: "denied" });
  });

  it("of this machine leads to this machine, or nowhere", async () => {
    const { origin } = await site();
    const named = origin.replace("127.0.0.1", "localhost");
    const to = (address: string) => createGatedFetch({ env: {}, lookup: checkedLookup(resolveTo(address)) })([named])(named);
    expect(await (await to("127.0.0.1")).text()).toBe("hello");
    await expect(to("93.184.216.34")).rejects.toMatchObject({ code: "denied" });
  });

  it.each([
    ["93.184.216.34", "public"],
    ["2606:2800:220:1::1", "public"],
    ["64:ff9b::5db8:d822", "public"],
    ["127.8.8.8", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["172.16.0.1", "internal"],
    ["example.com", "internal"],
  ])("resolved to %s is %s", (address, reach) => {
    expect(reachOf(address)).toBe(reach);
  });

  it("of this machine is known by its form", () => {
    expect(["localhost", "a.localhost", "127.0.0.1", "[::1]"].every(isLoopbackHost)).toBe(true);
    expect(["localhost.example.com", "notlocalhost", "10.0.0.1", "128.0.0.1"].some(isLoopbackHost)).toBe(false);
  });
});

describe("a proxy of the environment", () => {
  it("takes requests to the world, never those to this machine", async () => {
    const proxy = await site();
    const asked: string[] = [];
    proxy.server.on("connect", (request: IncomingMessage, socket: Socket) => {
      asked.push(request.url ?? "");
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    const { origin, requests } = await site();
    const fetch = createGatedFetch({ env: { HTTPS_PROXY: proxy.origin, HTTP_PROXY: proxy.origin } })([origin, "https://api.example.com"]);
    await expect(fetch("https://api.example.com/")).rejects.toThrow();
    expect(asked).toEqual(["api.example.com:443"]);
    expect(await (await fetch(origin)).text()).toBe("hello");
    expect([requests.length, proxy.requests.length]).toEqual([1, 0]);
  });
});
