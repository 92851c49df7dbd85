import type { AddressInfo } from "node:net";
import { LancelotError } from "../../contract/errors.ts";

const path = "/oauth/callback";

export interface Loopback {
  /** `http://127.0.0.1:<port>/oauth/callback` */
  readonly redirectUri: string;
  close(): void;
}

/**
 * Listens on a loopback port for a provider's redirect after a sign-in. `answer` receives the full URL, and its message is shown in the
 * browser. Requests without the expected `state` are rejected, so that another page cannot complete the sign-in.
 */
export function listenForAnswer(
  state: Promise<string>,
  answer: (url: string) => Promise<{ ok: boolean; message: string }>,
): Promise<Loopback> {
  return new Promise((resolve, reject) => {
    // Taken when used: an `import` of node:http reads all its exports, and one of them loads Node's own undici (15 ms of a start).
    const server = process.getBuiltinModule("node:http").createServer((request, response) => {
      const base = `http://127.0.0.1:${(server.address() as AddressInfo | null)?.port ?? 0}`;
      const url = URL.canParse(request.url ?? "", base) ? new URL(request.url ?? "", base) : null;
      const show = (status: number, message: string): void => {
        response.writeHead(status, {
          "content-type": "text/html; charset=utf-8",
          "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
          "cache-control": "no-store",
          "referrer-policy": "no-referrer",
        });
        response.end(page(message));
      };
      if (request.method !== "GET" || url?.pathname !== path) return show(404, "Not found.");
      const { searchParams, href } = url;
      const take = async (): Promise<void> => {
        if (searchParams.get("state") !== (await state))
          return show(400, "This response does not belong to a pending sign-in. Start again in the editor.");
        const { ok, message } = await answer(href);
        show(ok ? 200 : 400, message);
      };
      take().catch(() => show(500, "The sign-in failed. See the editor."));
    });
    server.on("error", (cause) =>
      reject(new LancelotError("unavailable", "Lancelot could not open a local port for the sign-in. Try again.", { cause })),
    );
    server.listen(0, "127.0.0.1", () => {
      server.unref();
      const { port } = server.address() as AddressInfo;
      resolve({
        redirectUri: `http://127.0.0.1:${port}${path}`,
        close: () => {
          server.close();
          // Browsers keep connections open.
          setTimeout(() => server.closeAllConnections(), 1_000).unref();
        },
      });
    });
  });
}

function page(message: string): string {
  const escaped = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lancelot</title><body style="font:16px system-ui;margin:3em;max-width:40em"><h1>Lancelot</h1><p>${escaped}</p></body></html>`;
}
