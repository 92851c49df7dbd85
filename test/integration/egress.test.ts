// @module-tag sandbox
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createNetworkPolicy } from "../../agent-server/governance/policy/network-policy.ts";
import { checkedLookup, createRedactor } from "../../agent-server/security/security.ts";
import { createEgressProxy, type EgressConnection, type EgressProxy } from "../../agent-server/sandbox/egress.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn, until } from "../support/sandbox/run.ts";
import { startTlsServer, type TlsServer } from "../support/sandbox/tls-server.ts";

// The proxy goes to port 443 alone, which only root may open.
describe.skipIf(process.getuid?.() !== 0)("the way to the network", () => {
  /** An address of loopback that nothing else uses. */
  const address = "127.77.4.3";
  let folder: string;
  let server: TlsServer;
  let proxy: EgressProxy;
  let on = true;
  const seen: EgressConnection[] = [];
  /** Names and where they lead. `rebound.example` is listed and leads into this machine. */
  const names: Record<string, string> = { "listed.example": address, "front.example": address, "other.example": address };
  const open = (limits: Parameters<typeof createEgressProxy>[0]["limits"] = {}) =>
    createEgressProxy({
      judge: (url) => policy.judge(url, "read"),
      onConnection: (connection) => void seen.push(connection),
      log: () => {},
      limits,
      lookup(hostname, options, done) {
        const found = names[hostname];
        if (found === undefined)
          return checkedLookup((_name, _options, answer) => answer(null, [{ address: "127.0.0.1", family: 4 }]))(hostname, options, done);
        if (options.all === true) done(null, [{ address: found, family: 4 }]);
        else done(null, found, 4);
      },
    });
  let policy: ReturnType<typeof createNetworkPolicy>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "lancelot-egress-test-"));
    mkdirSync(join(folder, "config"));
    writeFileSync(
      join(folder, "config/network.yaml"),
      "version: 1\nallow: [listed.example, front.example, rebound.example, down.example]\ndeny: []\n",
    );
    policy = createNetworkPolicy({
      configDir: join(folder, "config"),
      dataDir: folder,
      enabled: () => on,
      redactor: createRedactor(),
    });
    server = await startTlsServer(["listed.example", "front.example", "other.example"], address, 443);
    proxy = open();
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  interface Answer {
    readonly status: number;
    readonly statusText: string;
    readonly body: string;
    readonly socket: Socket;
  }

  /** Asks the proxy for a tunnel, with the word of a grant in its URL or without any. */
  function tunnel(socketPath: string, url: string | null, target: string): Promise<Answer> {
    const word = url === null ? null : new URL(url);
    return new Promise((resolve, reject) => {
      const asking = request({
        socketPath,
        method: "CONNECT",
        path: target,
        headers:
          word === null ? {} : { "proxy-authorization": `Basic ${Buffer.from(`${word.username}:${word.password}`).toString("base64")}` },
      });
      asking.once("error", reject);
      asking.once("connect", (response, socket, head) => {
        const parts: Buffer[] = [head];
        const answer = () =>
          resolve({
            status: response.statusCode ?? 0,
            statusText: response.statusMessage ?? "",
            body: Buffer.concat(parts).toString("utf8"),
            socket,
          });
        socket.on("error", () => {});
        if (response.statusCode === 200) return answer();
        socket.on("data", (part: Buffer) => parts.push(part)).once("end", answer);
      });
      asking.end();
    });
  }

  /** Asks for a page within a tunnel. */
  function page(socket: Socket, servername: string, path = "/"): Promise<string> {
    return new Promise((resolve, reject) => {
      const tls = connectTls({ socket, servername, rejectUnauthorized: false }, () =>
        tls.write(`GET ${path} HTTP/1.1\r\nHost: ${servername}\r\nConnection: close\r\n\r\n`),
      );
      let text = "";
      tls.on("data", (part: Buffer) => (text += part.toString("utf8")));
      tls.once("error", reject);
      tls.once("close", () => resolve(text));
    });
  }

  it("leads a granted command to a listed host, and reports what went over it", async () => {
    const reported: EgressConnection[] = [];
    const grant = await proxy.grant((connection) => void reported.push(connection));
    const { status, socket } = await tunnel(grant.socketPath, grant.proxyUrl("x:1"), "listed.example:443");
    expect(status).toBe(200);
    expect(await page(socket, "listed.example")).toContain("hello from listed.example");
    await until("it is told", () => reported.length === 1);
    expect(reported).toEqual([{ host: "listed.example", allowed: true, bytes: expect.any(Number) as number, reason: null }]);
    expect(reported[0]?.bytes).toBeGreaterThan(500);
    expect(seen.at(-1)).toEqual(reported[0]);
    await grant.revoke();
  });

  it("gives the same over a port of loopback", async () => {
    const grant = await proxy.grant();
    const socket = connect(await grant.loopbackPort(), "127.0.0.1");
    const { username, password } = new URL(grant.proxyUrl("x:1"));
    socket.write(
      `CONNECT listed.example:443 HTTP/1.1\r\nProxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString("base64")}\r\n\r\n`,
    );
    const first = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(await page(socket, "listed.example")).toContain("hello");
    await grant.revoke();
  });

  it.each([
    ["another host", "other.example:443", 403, "allowlist"],
    ["another port", "listed.example:8443", 403, "port"],
    ["port 80", "listed.example:80", 403, "port"],
    ["loopback", "127.0.0.1:443", 403, "always blocked"],
    ["this machine by name", "localhost:443", 403, "always blocked"],
    ["cloud metadata", "169.254.169.254:443", 403, "always blocked"],
    ["a private network", "10.0.0.1:443", 403, "always blocked"],
    ["a number for an address", "2130706433:443", 403, "always blocked"],
    ["IPv6 loopback", "[::1]:443", 403, "always blocked"],
    ["a listed name that leads into this machine", "rebound.example:443", 403, "private network"],
    ["a name with a password", "listed.example@evil.example:443", 403, ""],
    ["a path", "listed.example:443/x", 400, ""],
    ["nothing", ":443", 400, ""],
    ["no port", "listed.example", 400, ""],
    ["a word for a port", "listed.example:https", 400, ""],
  ])("refuses %s and says why", async (_name, target, status, message) => {
    const before = server.requests.length;
    const grant = await proxy.grant();
    const answer = await tunnel(grant.socketPath, grant.proxyUrl("x:1"), target);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(message);
    expect(seen.at(-1)).toMatchObject({ allowed: false, bytes: 0, reason: expect.any(String) as string });
    expect(server.requests.length).toBe(before);
    await grant.revoke();
  });

  it("reports how a host is added, beside the number and in the text", async () => {
    const grant = await proxy.grant();
    const answer = await tunnel(grant.socketPath, grant.proxyUrl("x:1"), "other.example:443");
    expect(answer.statusText).toContain("other.example");
    expect(answer.body).toContain("Ask the owner to add other.example.");
    await grant.revoke();
  });

  it("refuses everything while the flag is off, also in the middle of a command", async () => {
    const grant = await proxy.grant();
    on = false;
    const answer = await tunnel(grant.socketPath, grant.proxyUrl("x:1"), "listed.example:443");
    on = true;
    expect(answer).toMatchObject({ status: 403, body: expect.stringContaining("TOOLS_NETWORK") as string });
    await grant.revoke();
  });

  it.each([
    ["no word", () => null],
    ["a wrong word", (url: string) => url.replace(/:[0-9a-f]{48}@/, `:${"0".repeat(48)}@`)],
    ["an empty word", () => "http://command:@x:1"],
  ])("lets nobody through with %s", async (_name, change) => {
    const grant = await proxy.grant();
    const answer = await tunnel(grant.socketPath, change(grant.proxyUrl("x:1")), "listed.example:443");
    expect(answer.status).toBe(407);
    await grant.revoke();
  });

  it("lets nobody through with the word of a command that is over, and closes what that had open", async () => {
    const grant = await proxy.grant();
    const url = grant.proxyUrl("x:1");
    const { socket } = await tunnel(grant.socketPath, url, "listed.example:443");
    const hanging = page(socket, "listed.example", "/hanging").catch(() => "cut");
    await until("it is asked", () => server.requests.some((one) => one.includes("/hanging")));
    const other = await proxy.grant();
    await grant.revoke();
    expect(await hanging).not.toContain("hello");
    expect((await tunnel(grant.socketPath, url, "listed.example:443")).status).toBe(407);
    const { status, socket: theirs } = await tunnel(other.socketPath, other.proxyUrl("x:1"), "listed.example:443");
    expect(status).toBe(200);
    theirs.destroy();
    await other.revoke();
  });

  it("refuses requests in the open", async () => {
    const grant = await proxy.grant();
    const { username, password } = new URL(grant.proxyUrl("x:1"));
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const asking = request(
        {
          socketPath: grant.socketPath,
          path: "http://listed.example/",
          headers: { "proxy-authorization": `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` },
        },
        (response) => {
          let text = "";
          response.on("data", (part: Buffer) => (text += part.toString("utf8")));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      asking.once("error", reject);
      asking.end();
    });
    expect(answer).toEqual({ status: 403, text: expect.stringContaining("https") });
    expect(seen.at(-1)).toMatchObject({ host: "listed.example", allowed: false });
    await grant.revoke();
  });

  it.each([
    ["another name within TLS", (socket: Socket) => page(socket, "other.example"), "other.example"],
    ["a listed name within TLS, but not the one asked for", (socket: Socket) => page(socket, "front.example"), "front.example"],
    ["no name within TLS", (socket: Socket) => page(socket, ""), "no server name"],
    [
      "something that is not TLS",
      (socket: Socket) => Promise.resolve(socket.write("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")),
      "TLS",
    ],
  ])("closes a tunnel that carries %s", async (_name, use, reason) => {
    const before = server.requests.length;
    const grant = await proxy.grant();
    const { status, socket } = await tunnel(grant.socketPath, grant.proxyUrl("x:1"), "listed.example:443");
    expect(status).toBe(200);
    const count = seen.length;
    await Promise.resolve(use(socket)).catch(() => {});
    await until("it is told", () => seen.length > count);
    expect(seen.at(-1)).toMatchObject({ host: "listed.example", allowed: false, reason: expect.stringContaining(reason) as string });
    expect(server.requests.length).toBe(before);
    await grant.revoke();
  });

  it("says so when a host cannot be reached", async () => {
    names["down.example"] = "127.77.4.99";
    const grant = await proxy.grant();
    expect(await tunnel(grant.socketPath, grant.proxyUrl("x:1"), "down.example:443")).toMatchObject({
      status: 502,
      body: expect.stringContaining("down.example"),
    });
    await grant.revoke();
  });

  it("has limits: bytes, time, silence, connections", async () => {
    const small = open({ bytes: 2_000_000, connections: 2, helloMs: 200, idleMs: 300, lifeMs: 60_000 });
    const grant = await small.grant();
    const url = grant.proxyUrl("x:1");
    const go = () => tunnel(grant.socketPath, url, "listed.example:443");
    const flooded = await page((await go()).socket, "listed.example", "/endless").catch(() => "");
    expect(flooded.length).toBeGreaterThan(500_000);
    expect(flooded.length).toBeLessThan(6_000_000);
    await until("it is told", () => (seen.at(-1)?.bytes ?? 0) > 1_000_000);
    await page((await go()).socket, "listed.example", "/hanging").catch(() => "");
    const silent = await go();
    const count = seen.length;
    await until("silence is told", () => seen.length > count);
    expect(seen.at(-1)).toMatchObject({ allowed: false, reason: expect.any(String) });
    silent.socket.destroy();
    const [first, second] = [await go(), await go()];
    expect(await go()).toMatchObject({ status: 429, body: expect.stringContaining("2 concurrent connections") as string });
    first.socket.destroy();
    second.socket.destroy();
    await grant.revoke();
    await small.close();
  });

  it("leaves nothing behind when it is closed", async () => {
    const other = open();
    const { socketPath } = await other.grant();
    expect(existsSync(socketPath)).toBe(true);
    await other.close();
    expect(existsSync(dirname(socketPath))).toBe(false);
  });

  describe("from the sandbox", () => {
    let fixture: SandboxFixture;
    beforeAll(() => {
      fixture = createSandboxFixture();
      copyFileSync(server.certificate, join(fixture.workspace, "certificate.pem"));
    });
    afterAll(() => fixture.close());

    it("a command with the network reaches listed hosts through the proxy, and nothing else by any way", async () => {
      const shell = openOsShell(fixture, { egress: proxy });
      const count = seen.length;
      const ran = await runIn(
        shell,
        fixture.workspace,
        `curl -sS --cacert certificate.pem https://listed.example/page
         curl -sS --cacert certificate.pem https://other.example/ 2>&1
         curl -sS http://listed.example/ 2>&1
         curl -sS --noproxy '*' --connect-timeout 1 -k https://${address}/ 2>&1
         node -e 'fetch("https://listed.example/node").then((r) => r.text()).then((t) => console.log(t.trim()), (e) => console.log(e.cause?.message ?? e.message))' 2>/dev/null
         true`,
        { network: true },
      );
      expect(ran.stdout).toContain("hello from listed.example");
      expect(ran.stdout).toMatch(/CONNECT tunnel failed, response 403|HTTP code 403 from proxy/);
      expect(ran.stdout).toContain("Only https is allowed.");
      expect(ran.stdout).toMatch(new RegExp(`(Failed|Couldn't|Could not).*connect|connect.*${address}`));
      expect(server.requests.filter((one) => one.startsWith("GET /page"))).toEqual(["GET /page (listed.example)"]);
      expect(seen.slice(count)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ host: "listed.example", allowed: true }) as EgressConnection,
          expect.objectContaining({ host: "other.example", allowed: false }) as EgressConnection,
        ]),
      );
      // What leads to the proxy is not counted as left behind by the command.
      expect(ran.result).toMatchObject({ ended: "exit", exitCode: 0, killedOrphans: false });
      await shell.close();
    });

    it("a command without it has no proxy, no socket and no word, also beside one with it", async () => {
      const shell = openOsShell(fixture, { egress: proxy });
      const with_ = runIn(shell, fixture.workspace, "echo $HTTPS_PROXY > proxy-url; sleep 2", { network: true });
      await until("the other runs", () => existsSync(join(fixture.workspace, "proxy-url")));
      const ran = await runIn(
        shell,
        fixture.workspace,
        `env | grep -i proxy; find / -xdev -type s 2>/dev/null
         HTTPS_PROXY=$(cat proxy-url) curl -sS --connect-timeout 1 --cacert certificate.pem https://listed.example/stolen 2>&1; true`,
      );
      expect(ran.stdout).not.toMatch(/^https?_proxy/im);
      expect(ran.stdout).not.toContain("hello");
      expect(server.requests.filter((one) => one.includes("/stolen"))).toEqual([]);
      await with_;
      await shell.close();
    });

    it("a command that asks for the network where there is none is not run", async () => {
      const shell = openOsShell(fixture);
      await expect(runIn(shell, fixture.workspace, "echo x > ran", { network: true })).rejects.toMatchObject({ code: "unavailable" });
      expect(existsSync(join(fixture.workspace, "ran"))).toBe(false);
      await shell.close();
    });
  });
});
