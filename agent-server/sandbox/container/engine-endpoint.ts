import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";

/** Certificates of mutual TLS, PEM. */
export interface EngineTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Address of an engine. */
export type EngineAddress =
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls: EngineTls | null }
  | { readonly kind: "ssh"; readonly destination: string; readonly port: number | null; readonly socket: string };

export interface EngineEndpoint {
  readonly address: EngineAddress;
  /** Where the address comes from: `DOCKER_HOST`, `context NAME`, or the socket's path. */
  readonly via: string;
}

export interface DiscoveryDeps {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** The user's setting in config/sandbox.yaml. */
  readonly owners: string | null;
}

const ContextMeta = z.object({
  Endpoints: z.object({ docker: z.object({ Host: z.string().optional(), SkipTLSVerify: z.boolean().optional() }) }),
});
const DockerConfig = z.object({ currentContext: z.string().optional() });

/**
 * Addresses to try, in order. A configured address is the only one, so that no other engine is used by accident. Without one, the existing
 * default sockets follow. Uses the docker CLI's order: its setting, `DOCKER_HOST`, the current context.
 * @throws LancelotError `unavailable` when the configured address is invalid.
 */
export function findEndpoints(deps: DiscoveryDeps): EngineEndpoint[] {
  const { env } = deps;
  if (deps.owners !== null) return [{ address: parseAddress(deps.owners, tlsOf(deps)), via: "config/sandbox.yaml" }];
  if (env["DOCKER_HOST"]) return [{ address: parseAddress(env["DOCKER_HOST"], tlsOf(deps)), via: "DOCKER_HOST" }];
  const context = contextInUse(deps);
  if (context !== null) return [context];
  if (env["CONTAINER_HOST"]) return [{ address: parseAddress(env["CONTAINER_HOST"], null), via: "CONTAINER_HOST" }];
  return usualSockets(deps).map((path) => ({ address: { kind: "socket", path }, via: path }));
}

/** @throws LancelotError `unavailable` */
export function parseAddress(text: string, tls: EngineTls | null): EngineAddress {
  const refuse = () =>
    new LancelotError(
      "unavailable",
      `The address of the container engine is invalid: ${text.slice(0, 200)}. Write it as unix:///path, tcp://host:2376 or ssh://user@host.`,
    );
  const socket = /^(?:unix|npipe):\/\/(.+)$/.exec(text)?.[1];
  let url: URL;
  let user: string;
  let path: string;
  try {
    if (socket !== undefined) return { kind: "socket", path: decodeURIComponent(socket) };
    url = new URL(text.includes("://") ? text : `tcp://${text}`);
    user = decodeURIComponent(url.username);
    path = decodeURIComponent(url.pathname);
  } catch (error) {
    throw Object.assign(refuse(), { cause: error });
  }
  // A name that starts with a dash would be an option of ssh.
  if (url.hostname === "" || url.hostname.startsWith("-") || user.startsWith("-")) throw refuse();
  if (url.protocol === "ssh:")
    return {
      kind: "ssh",
      destination: `${user === "" ? "" : `${user}@`}${url.hostname}`,
      port: url.port === "" ? null : Number(url.port),
      socket: path.length > 1 ? path : "/var/run/docker.sock",
    };
  if (!["tcp:", "http:", "https:"].includes(url.protocol)) throw refuse();
  const secure = url.protocol === "https:" || tls !== null;
  const standard = secure ? 2376 : 2375;
  return {
    kind: "tcp",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? standard : Number(url.port),
    tls: secure ? (tls ?? {}) : null,
  };
}

function tlsOf(deps: DiscoveryDeps): EngineTls | null {
  const { env } = deps;
  // As in the docker CLI, any nonempty value enables it.
  if (!env["DOCKER_TLS_VERIFY"] && !env["DOCKER_TLS"]) return null;
  return readTls(env["DOCKER_CERT_PATH"] ?? join(deps.home, ".docker"));
}

function readTls(folder: string): EngineTls {
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(folder, `${name}.pem`), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new LancelotError("unavailable", `The certificate ${name}.pem of the container engine cannot be read.`, { cause: error });
    }
  };
  const [ca, cert, key] = ["ca", "cert", "key"].map(read);
  return { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
}

function contextInUse(deps: DiscoveryDeps): EngineEndpoint | null {
  const folder = deps.env["DOCKER_CONFIG"] ?? join(deps.home, ".docker");
  const name = deps.env["DOCKER_CONTEXT"] || currentContext(join(folder, "config.json"));
  if (name === null || name === "" || name === "default") return null;
  // The CLI stores contexts under the SHA-256 of their names.
  const id = createHash("sha256").update(name).digest("hex");
  let host: string | undefined;
  try {
    host = ContextMeta.parse(JSON.parse(readFileSync(join(folder, "contexts/meta", id, "meta.json"), "utf8"))).Endpoints.docker.Host;
  } catch (error) {
    throw new LancelotError(
      "unavailable",
      `The docker context ${name} is selected but cannot be read. Select another one with docker context use.`,
      {
        cause: error,
      },
    );
  }
  if (host === undefined) return null;
  const tls = join(folder, "contexts/tls", id, "docker");
  return { address: parseAddress(host, existsSync(tls) ? readTls(tls) : null), via: `context ${name}` };
}

function currentContext(file: string): string | null {
  try {
    return DockerConfig.parse(JSON.parse(readFileSync(file, "utf8"))).currentContext ?? null;
  } catch {
    // The CLI works without this file and only warns about an invalid one, so the default sockets are tried.
    return null;
  }
}

function usualSockets({ env, home, platform }: DiscoveryDeps): string[] {
  if (platform === "win32")
    return ["//./pipe/docker_engine", "//./pipe/dockerDesktopLinuxEngine", "//./pipe/podman-machine-default"].filter((path) =>
      existsSync(path),
    );
  const runtime = env["XDG_RUNTIME_DIR"];
  return [
    "/var/run/docker.sock",
    ...(runtime ? [join(runtime, "docker.sock")] : []),
    ...[".docker/run/docker.sock", ".docker/desktop/docker.sock", ".orbstack/run/docker.sock", ".colima/default/docker.sock"].map((path) =>
      join(home, path),
    ),
    ...[".colima/docker.sock", ".rd/docker.sock", ".lima/docker/sock/docker.sock"].map((path) => join(home, path)),
    ...(runtime ? [join(runtime, "podman/podman.sock")] : []),
    "/run/podman/podman.sock",
    join(home, ".local/share/containers/podman/machine/podman.sock"),
  ].filter((path) => existsSync(path));
}
