import type { AddressInfo } from "node:net";
import { LancelotError } from "../../contract/errors.ts";

const path = "/oauth/callback";

export interface Loopback {
  /** `http://127.0.0.1:<port>/oauth/callback` */
  readonly redirectUri: string;
  close(): void;
}

/**
 * Listens on this machine for a provider's answer to a sign-in. `answer` gets the whole address, and its words are shown in the
 * browser; only a request that carries `state` is taken, so that another page cannot end the sign-in.
 */
export function listenForAnswer(
  state: Promise<string>,
  answer: (url: string) => Promise<{ ok: boolean; words: string }>,
): Promise<Loopback> {
  return new Promise((resolve, reject) => {
    // Taken when used: an `import` of node:http reads all its exports, and one of them loads Node's own undici (15 ms of a start).
    const server = process.getBuiltinModule("node:http").createServer((request, response) => {
      const base = `http://127.0.0.1:${(server.address() as AddressInfo | null)?.port ?? 0}`;
      const url = URL.canParse(request.url ?? "", base) ? new URL(request.url ?? "", base) : null;
      const show = (status: number, words: string): void => {
        response.writeHead(status, {
          "content-type": "text/html; charset=utf-8",
          "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
          "cache-control": "no-store",
          "referrer-policy": "no-referrer",
        });
        response.end(page(words));
      };
      if (request.method !== "GET" || url?.pathname !== path) return show(404, "There is nothing here.");
      const { searchParams, href } = url;
      const take = async (): Promise<void> => {
        if (searchParams.get("state") !== (await state))
          return show(400, "This answer belongs to no sign-in that is open. Begin it again in the editor.");
        const { ok, words } = await answer(href);
        show(ok ? 200 : 400, words);
      };
      take().catch(() => show(500, "The sign-in failed. See the editor."));
    });
    server.on("error", (cause) =>
      reject(new LancelotError("unavailable", "No port of this machine could be opened for the sign-in.", { cause })),
    );
    server.listen(0, "127.0.0.1", () => {
      server.unref();
      const { port } = server.address() as AddressInfo;
      resolve({
        redirectUri: `http://127.0.0.1:${port}${path}`,
        close: () => {
          server.close();
          // A browser keeps its connection open.
          setTimeout(() => server.closeAllConnections(), 1_000).unref();
        },
      });
    });
  });
}

function page(words: string): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lancelot</title><body style="font:16px system-ui;margin:3em;max-width:40em"><h1>Lancelot</h1><p>${escaped}</p></body></html>`;
}
