import type { Agent } from "node:http";
import { inspect } from "node:util";
import type Dockerode from "dockerode";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { ask, unavailable, engineMessage } from "./engine-call.ts";
import { type DiscoveryDeps, type EngineAddress, type EngineEndpoint, findEndpoints } from "./engine-endpoint.ts";
import { openTunnel, type Tunnel } from "./ssh-tunnel.ts";

/** An engine that responded. */
export interface Engine {
  readonly docker: Dockerode;
  readonly name: "docker" | "podman";
  readonly version: string;
  readonly via: string;
  /** Runs on another machine, judging by its address. */
  readonly remote: boolean;
  /** Runs in a virtual machine of Docker Desktop. */
  readonly desktop: boolean;
  /** Runs in the user's user namespace: root inside is only the user outside. */
  readonly rootless: boolean;
  /** Remaps user ids, so that they do not match the owners of files; disabled for Lancelot's containers. */
  readonly remapped: boolean;
  readonly cpus: number;
  /** Limits that it cannot enforce, in words; empty when it enforces all. */
  readonly unenforced: readonly string[];
  /** The connection is closed and cannot be used again. */
  readonly gone: boolean;
  close(): void;
}

const Version = z.object({
  Version: z.string().min(1).max(200),
  Components: z.array(z.object({ Name: z.string() })).optional(),
});
const Info = z.object({
  OSType: z.string().optional(),
  NCPU: z.number().optional(),
  OperatingSystem: z.string().optional(),
  SecurityOptions: z.array(z.string()).nullish(),
  /** Of Podman, which does not name it in its security options. */
  Rootless: z.boolean().optional(),
  MemoryLimit: z.boolean().optional(),
  SwapLimit: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
});

/**
 * Connects to the first engine that responds.
 * @throws LancelotError `unavailable` with the next step, when no engine exists or responds.
 */
export async function connectEngine(deps: DiscoveryDeps & { readonly answerMs: number }, signal?: AbortSignal): Promise<Engine> {
  const endpoints = findEndpoints(deps);
  if (endpoints.length === 0)
    throw unavailable(
      "No container engine was found. Install Docker or Podman and start it, or set its address in config/sandbox.yaml (engine).",
    );
  let first: unknown;
  for (const endpoint of endpoints) {
    try {
      return await connect(endpoint, deps, signal);
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}

async function connect(
  endpoint: EngineEndpoint,
  deps: DiscoveryDeps & { readonly answerMs: number },
  signal?: AbortSignal,
): Promise<Engine> {
  const { address } = endpoint;
  const tunnel = address.kind === "ssh" ? await openTunnel(address, deps.env, signal) : null;
  // Loaded on use: importing node:http evaluates all its exports, including Node's own undici (15 ms of startup).
  const { Agent: PlainAgent } = process.getBuiltinModule("node:http");
  const { Agent: TlsAgent } = process.getBuiltinModule("node:https");
  const agent = address.kind === "tcp" && address.tls !== null ? new TlsAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true });
  // The client formats every request with its agent for a debug log. With fifty connections that takes 200 ms.
  Object.assign(agent, { [inspect.custom]: () => "connections" });
  const close = () => {
    agent.destroy();
    tunnel?.close();
  };
  try {
    const docker = await openClient(address, tunnel, agent);
    const [version, info] = await Promise.all([
      ask(() => docker.version(), deps.answerMs, signal),
      ask(() => docker.info() as Promise<unknown>, deps.answerMs, signal),
    ]).then(([saidVersion, saidInfo]) => [Version.parse(saidVersion), Info.parse(saidInfo)] as const);
    if (info.OSType !== undefined && info.OSType !== "linux")
      throw unavailable("The container engine runs Windows containers. Switch the engine to Linux containers.");
    const options = info.SecurityOptions ?? [];
    return {
      docker,
      name: (version.Components ?? []).some(({ Name }) => /podman/i.test(Name)) ? "podman" : "docker",
      version: version.Version,
      via: endpoint.via,
      remote: address.kind === "ssh" || (address.kind === "tcp" && !isLoopback(address.host)),
      desktop: info.OperatingSystem === "Docker Desktop",
      rootless: info.Rootless === true || options.some((option) => option.includes("rootless")),
      remapped: options.some((option) => option.includes("name=userns")),
      cpus: info.NCPU ?? 1,
      unenforced: [
        ...(info.MemoryLimit === false ? ["memory"] : []),
        ...(info.PidsLimit === false ? ["processes"] : []),
        ...(info.CpuCfsQuota === false ? ["CPU"] : []),
      ],
      get gone() {
        return tunnel?.closed ?? false;
      },
      close,
    };
  } catch (error) {
    close();
    if (error instanceof LancelotError) throw error;
    if (error instanceof z.ZodError)
      throw unavailable(`The service at ${endpoint.via} is not a container engine. Check the address.`, error);
    const said = engineMessage(error);
    const why = /EACCES|EPERM|permission denied/i.test(said)
      ? "permission denied: add your user to the docker group, or use Podman or rootless Docker"
      : /ECONNREFUSED|ENOENT/.test(said)
        ? "it is not running: start it"
        : said;
    throw unavailable(`The container engine at ${endpoint.via} cannot be reached (${why}).`, error);
  }
}

/** Sets every option explicitly, because the client reads missing ones from this process's environment. */
async function openClient(address: EngineAddress, tunnel: Tunnel | null, agent: Agent): Promise<Dockerode> {
  const { default: Client } = await import("dockerode");
  const nothing = {
    username: undefined,
    password: undefined,
    timeout: undefined,
    pathPrefix: undefined,
    ca: undefined,
    cert: undefined,
    key: undefined,
  };
  const open = (options: Record<string, unknown>) => new Client({ ...nothing, agent, ...options } as Dockerode.DockerOptions);
  if (address.kind === "socket") return open({ protocol: "http", host: undefined, port: undefined, socketPath: address.path });
  if (address.kind === "ssh") return open({ protocol: "http", host: undefined, port: undefined, socketPath: tunnel?.socket });
  const at = { host: address.host.includes(":") ? `[${address.host}]` : address.host, port: address.port, socketPath: undefined };
  return address.tls === null ? open({ protocol: "http", ...at }) : open({ protocol: "https", ...at, ...address.tls });
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");
