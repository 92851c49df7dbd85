import { randomBytes } from "node:crypto";
import { startGateway } from "../gateway/http.ts";
import { parseRateLimit } from "../gateway/rate-limit.ts";
import { createOwnerGate } from "../security/security.ts";
import { out } from "./output.ts";
import { openSession, productVersion } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/**
 * `lancelot serve`: runs the loopback gateway until a signal. Prints `{"url","token"}` when ready.
 * With LANCELOT_OWNER_TOKEN set, only that token may call owner methods, and the printed token the others. Without it, the
 * printed token is the owner's, because the owner reads this terminal.
 */
export async function serve(line: CommandLine): Promise<number> {
  const rate = parseRateLimit(process.env["LANCELOT_RATE_LIMIT"]);
  const session = await openSession(line, line.workspace, true);
  const token = randomBytes(32).toString("base64url");
  const gateway = await startGateway({
    dispatch: session.dispatch,
    events: session.events,
    version: productVersion(),
    port: line.port,
    rights: rightsOf(token, process.env["LANCELOT_OWNER_TOKEN"]),
    rate,
    now: Date.now,
    onRefused: (why, path, way) => session.host.audit.note(why, { title: path, way }),
  });
  out.json({ url: gateway.url, token });
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, resolve);
  });
  await gateway.close();
  await session.close();
  return 0;
}

/**
 * Returns the access of a token's bearer. `set` is LANCELOT_OWNER_TOKEN; when it is set but blank, no token is the owner's.
 */
export function rightsOf(token: string, set: string | undefined): (bearer: string | undefined) => "owner" | "any" | null {
  const owner = createOwnerGate(set ?? token);
  const caller = createOwnerGate(token);
  return (bearer) => (bearer === undefined ? null : owner.check(bearer) ? "owner" : caller.check(bearer) ? "any" : null);
}
