import type { WebSource } from "./web-types.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { PageAnswer, PageFetch, PageHead, Redactor } from "../../security/security.ts";
import type { ToolProvider } from "../routing/capabilities.ts";
import type { PageReader } from "./page-reader.ts";
import { decodePage, isReadableType, readPage } from "./web-text.ts";

/** Bytes and ms. */
const limits = {
  page: { maxBytes: 5 * 1024 * 1024, timeoutMs: 30_000 },
  file: { maxBytes: 50 * 1024 * 1024, timeoutMs: 300_000 },
  answer: { maxBytes: 1024 * 1024, timeoutMs: 60_000 },
};

const userAgent = "Lancelot (VS Code extension)";
const accept = "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,application/xml;q=0.8,*/*;q=0.1";

/** Fetches pages, downloads files and posts requests through the only network access of the tools (requirement T5). */
export function createWebGate(deps: {
  fetch: PageFetch;
  read: PageReader;
  redactor: Redactor;
  networkEnabled: () => boolean;
  now: () => Date;
}): ToolProvider {
  const sourceOf = (url: string, answer: PageAnswer): WebSource => ({
    url,
    finalUrl: answer.url,
    redirects: answer.redirects,
    status: answer.status,
    type: answer.type,
    bytes: answer.body.length,
    sha256: answer.sha256,
    fetchedAt: deps.now().toISOString(),
  });

  return {
    id: "web-gate",
    title: "Web access",
    version: () => "1",
    priority: 10,
    local: () => false,
    flag: "TOOLS_NETWORK",
    // An unreachable site says nothing about other sites.
    blames: (error) => !(error instanceof LancelotError),
    offers: {
      web_ops: {
        async fetch({ url, signal, judge }) {
          const answer = await deps.fetch({
            ...{ url, signal, judge, method: "GET" as const, headers: { accept, "user-agent": userAgent } },
            ...limits.page,
            accepts: expectReadable,
          });
          return { source: sourceOf(url, answer), ...(await readPage(answer, deps.read, signal)) };
        },

        async download({ url, signal, judge }) {
          const headers = { accept: "*/*", "user-agent": userAgent };
          const answer = await deps.fetch({ url, signal, judge, method: "GET", headers, ...limits.file, accepts: expectFound });
          return { source: sourceOf(url, answer), bytes: answer.body };
        },

        async post({ url, signal, judge, body, type }) {
          const secrets = deps.redactor.text(body).findings.map(({ kind }) => kind);
          if (secrets.length > 0) {
            throw new LancelotError(
              "denied",
              `The body contains private data (${[...new Set(secrets)].join(", ")}), so it was not sent. Remove it, or ask the user to send it.`,
            );
          }
          const headers = { accept, "content-type": type, "user-agent": userAgent };
          const answer = await deps.fetch({ url, signal, judge, method: "POST", headers, body, ...limits.answer });
          const text = isReadableType(answer.type) || answer.type === "" ? decodePage(answer) : null;
          return {
            source: sourceOf(url, answer),
            location: answer.location,
            text: text ?? (answer.body.length === 0 ? "" : `[${answer.body.length} bytes of ${answer.type}, not shown]`),
          };
        },
      },
    },
    probe: () =>
      Promise.resolve(
        deps.networkEnabled()
          ? { status: "ok", message: "Tools can reach the hosts on your allowlist.", nextStep: null }
          : { status: "off", message: "Network access is turned off.", nextStep: "Turn on the flag TOOLS_NETWORK to allow it." },
      ),
  };
}

function expectFound({ status, url }: PageHead): void {
  if (status >= 200 && status < 300) return;
  const { host } = new URL(url);
  if (status === 404 || status === 410) throw new LancelotError("not_found", `${host} has nothing at this address (${status}).`);
  if (status === 401 || status === 403)
    throw new LancelotError("unavailable", `${host} requires a sign-in (${status}). Ask the user to paste the content.`);
  if (status === 429) throw new LancelotError("rate_limited", `${host} limits the rate of requests (429). Wait, or use another source.`);
  throw new LancelotError("unavailable", `${host} returned an error (${status}).`);
}

function expectReadable(head: PageHead): void {
  expectFound(head);
  if (isReadableType(head.type)) return;
  const what = head.type === "application/pdf" ? "a PDF" : head.type === "" ? "content without a type" : head.type;
  throw new LancelotError(
    "invalid_params",
    `The address returned ${what}, which cannot be read as text. Use download to save the file, or find a page with the same content.`,
  );
}
