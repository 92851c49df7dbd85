import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { isLoopbackHost, reachOf, type Redactor } from "../../security/security.ts";
import type { NetworkJudgment, NetworkUse } from "../decision-facts.ts";

/** A host, or `*.` and a host. Labels as DNS has them. */
const HostPattern = z
  .string()
  .regex(/^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/, "Write a host such as example.org or *.example.org.");

const NetworkTable = z.strictObject({
  version: z.literal(1),
  allow: z.array(HostPattern).default([]),
  deny: z.array(HostPattern).default([]),
});

export interface NetworkPolicy {
  /** Judges a URL before anything is resolved or sent; the gate for sockets checks addresses and each redirect again. Never throws. */
  readonly judge: (url: string, use: NetworkUse) => NetworkJudgment;
  /** SHA-256 over the tables in use. */
  readonly version: string;
  /** Why the tables cannot be used; then every host is refused. */
  readonly problem: string | null;
}

const maxUrl = 8192;

/**
 * The allowlist of hosts: the shipped `network.yaml` with the owner's laid over it, read once. An unusable file refuses everything.
 * @param deps.enabled whether the flag TOOLS_NETWORK is on, asked each time.
 */
export function createNetworkPolicy(deps: {
  configDir: string;
  dataDir: string;
  enabled: () => boolean;
  redactor: Redactor;
}): NetworkPolicy {
  const allow: string[] = [];
  const deny: string[] = [];
  const digest = createHash("sha256");
  let problem: string | null = null;
  for (const { file, words, required } of [
    { file: join(deps.configDir, "network.yaml"), words: "config/network.yaml", required: true },
    { file: join(deps.dataDir, "config", "network.yaml"), words: "your config/network.yaml", required: false },
  ]) {
    try {
      const text = readFileSync(file, "utf8");
      digest.update(text);
      const table = NetworkTable.parse(parse(text, { maxAliasCount: 0 }));
      allow.push(...table.allow);
      deny.push(...table.deny);
    } catch (error) {
      if (!required && (error as { code?: string }).code === "ENOENT") continue;
      problem = `The list of hosts (${words}) cannot be used, so no host is reached. Correct the file: ${sentence(error)}`;
    }
  }
  const version = digest.digest("hex");

  function no(id: string, message: string, host: string, ...alternatives: string[]): NetworkJudgment {
    return {
      verdict: "deny",
      host,
      rule: { id: `network.${id}`, source: "policy", message },
      alternatives: [...alternatives, ownerPastes],
    };
  }

  return {
    version,
    get problem() {
      return problem;
    },
    judge(text, use) {
      if (problem !== null) return no("table-failed", problem, "");
      if (!deps.enabled()) {
        return no(
          "off",
          "The network is off. The owner can switch it on with the flag TOOLS_NETWORK.",
          "",
          "Look for the information in the workspace.",
        );
      }
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      if (text.length > maxUrl || /[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text)) {
        return no("address", "This is not an address that can be read only one way.", "", "Write the address as https://host/path.");
      }
      const url = new URL(text);
      const host = url.hostname.replace(/\.$/, "");
      if (url.protocol !== "https:") return no("scheme", "Only https addresses are reached.", host, "Use the https address.");
      if (url.username !== "" || url.password !== "") {
        return no("credentials", "An address with a name or a password in it is not used.", host, "Leave the name and the password out.");
      }
      if (host === "" || isLoopbackHost(host) || isPrivateAddress(host)) {
        return no("private", "Addresses of this machine, of private networks and of cloud metadata are never reached.", host);
      }
      if (url.port !== "") return no("port", "Only the port of https is used.", host, "Leave the port out.");
      if (deps.redactor.text(decoded(text)).findings.length > 0) {
        return no("secret", "The address carries something that looks like a secret.", host, "Leave the secret out.");
      }
      if (deny.some((pattern) => covers(pattern, host)))
        return no("denied-host", `${host} is on the owner's list of hosts to refuse.`, host);
      const pattern = allow.find((one) => covers(one, host));
      if (pattern === undefined) {
        return no(
          "host-not-listed",
          `${host} is not on the list of hosts that may be reached. The owner can add it to config/network.yaml in the data folder.`,
          host,
          "Use a host that is listed.",
          `Ask the owner to add ${host}.`,
        );
      }
      return {
        verdict: "allow",
        host,
        rule: {
          id: "network.listed",
          source: "policy",
          message: use === "read" ? `${host} may be read.` : `${host} is on the list of hosts.`,
        },
        alternatives: [],
      };
    },
  };
}

const ownerPastes = "Ask the owner to paste what is needed.";

function covers(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** An IP address that is not on the internet, in any notation: URL has already made dotted decimals of hex, octal and single numbers. */
function isPrivateAddress(host: string): boolean {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (/^[\d.]+$/.test(bare) || bare.includes(":")) return reachOf(bare) !== "public";
  return /(?:^|\.)(?:internal|local|localdomain|lan|home\.arpa|intranet|corp)$/.test(host) || !host.includes(".");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function sentence(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error);
  return error instanceof Error ? error.message : String(error);
}
