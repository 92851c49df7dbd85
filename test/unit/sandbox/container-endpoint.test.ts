import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findEndpoints, parseAddress } from "../../../agent-server/sandbox/container/engine-endpoint.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "lancelot-home-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const put = (path: string, text: string) => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
};
const context = (name: string, host: string) => {
  const id = createHash("sha256").update(name).digest("hex");
  put(`.docker/contexts/meta/${id}/meta.json`, JSON.stringify({ Name: name, Endpoints: { docker: { Host: host } } }));
  return id;
};
const find = (env: Record<string, string> = {}, configured: string | null = null) =>
  findEndpoints({ env, home, platform: "linux", owners: configured });

describe("the address of an engine", () => {
  it.each([
    ["unix:///run/user/1000/docker.sock", { kind: "socket", path: "/run/user/1000/docker.sock" }],
    ["unix:///tmp/a%20b.sock", { kind: "socket", path: "/tmp/a b.sock" }],
    ["npipe:////./pipe/docker_engine", { kind: "socket", path: "//./pipe/docker_engine" }],
    ["tcp://127.0.0.1:2375", { kind: "tcp", host: "127.0.0.1", port: 2375, tls: null }],
    ["tcp://[::1]", { kind: "tcp", host: "::1", port: 2375, tls: null }],
    ["localhost:2375", { kind: "tcp", host: "localhost", port: 2375, tls: null }],
    ["https://far.example", { kind: "tcp", host: "far.example", port: 2376, tls: {} }],
    ["ssh://me@far.example", { kind: "ssh", destination: "me@far.example", port: null, socket: "/var/run/docker.sock" }],
    ["ssh://far.example:22/run/podman.sock", { kind: "ssh", destination: "far.example", port: 22, socket: "/run/podman.sock" }],
  ])("is parsed: %s", (text, address) => expect(parseAddress(text, null)).toEqual(address));

  it("with certificates is https on its own port", () =>
    expect(parseAddress("tcp://far.example", { ca: "x" })).toEqual({ kind: "tcp", host: "far.example", port: 2376, tls: { ca: "x" } }));

  it.each([
    "",
    "ssh://-oProxyCommand=touch",
    "ssh://-x@far.example",
    "ssh://%2Dx@far.example",
    "ssh://n/%",
    "ssh://%@n",
    "unix://%",
    "ftp://far.example",
    "tcp://",
    "http://[",
    "unix://",
  ])("is refused when it cannot be used: %j", (text) =>
    expect(() => parseAddress(text, null)).toThrow(expect.objectContaining({ code: "unavailable" })),
  );
});

describe("the engine's address", () => {
  it("is the user's setting first", () =>
    expect(find({ DOCKER_HOST: "unix:///b" }, "unix:///a")).toEqual([
      { address: { kind: "socket", path: "/a" }, via: "config/sandbox.yaml" },
    ]));

  it("is DOCKER_HOST, before the context", () => {
    context("far", "unix:///c");
    expect(find({ DOCKER_HOST: "unix:///b", DOCKER_CONTEXT: "far" })).toMatchObject([{ via: "DOCKER_HOST", address: { path: "/b" } }]);
  });

  it("is DOCKER_CONTEXT, before the current context", () => {
    context("far", "unix:///c");
    context("near", "unix:///d");
    put(".docker/config.json", '{"currentContext":"near"}');
    expect(find()).toMatchObject([{ via: "context near", address: { path: "/d" } }]);
    expect(find({ DOCKER_CONTEXT: "far" })).toMatchObject([{ via: "context far", address: { path: "/c" } }]);
  });

  it("is a context's with its certificates", () => {
    const id = context("far", "tcp://far.example:2376");
    for (const name of ["ca", "cert", "key"]) put(`.docker/contexts/tls/${id}/docker/${name}.pem`, name);
    expect(find({ DOCKER_CONTEXT: "far" })).toMatchObject([{ address: { kind: "tcp", tls: { ca: "ca", cert: "cert", key: "key" } } }]);
  });

  it("is the settings' folder of DOCKER_CONFIG, and certificates of DOCKER_CERT_PATH", () => {
    put("certs/ca.pem", "theirs");
    const env = { DOCKER_HOST: "tcp://far.example", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: join(home, "certs") };
    expect(find(env)).toMatchObject([{ address: { port: 2376, tls: { ca: "theirs" } } }]);
  });

  it("is never another engine than the current context; a missing context is an error", () => {
    put(".docker/config.json", '{"currentContext":"lost"}');
    put(".colima/default/docker.sock", "");
    expect(() => find()).toThrow(expect.objectContaining({ code: "unavailable", message: expect.stringContaining("lost") as string }));
  });

  it("is Podman's CONTAINER_HOST", () =>
    expect(find({ CONTAINER_HOST: "unix:///run/podman/podman.sock" })).toMatchObject([{ via: "CONTAINER_HOST" }]));

  it.each(["default", ""])("is the default sockets, when the current context is %j", (name) => {
    put(".docker/config.json", JSON.stringify({ currentContext: name }));
    put(".colima/default/docker.sock", "");
    put("run/podman/podman.sock", "");
    put("run/docker.sock", "");
    const found = find({ XDG_RUNTIME_DIR: join(home, "run") }).map(({ via }) => via);
    expect(found.filter((via) => via.startsWith(home))).toEqual(
      ["run/docker.sock", ".colima/default/docker.sock", "run/podman/podman.sock"].map((path) => join(home, path)),
    );
  });

  it("is the default sockets when the CLI's settings are invalid", () => {
    put(".docker/config.json", "{");
    expect(find().every(({ address }) => address.kind === "socket")).toBe(true);
  });
});
