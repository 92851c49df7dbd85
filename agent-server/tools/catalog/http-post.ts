import * as z from "zod";
import { formatBytes } from "../../workspace/workspace.ts";
import { defineTool } from "../tool.ts";
import { hostOf, judgeHops, requestUrl, sourceLine, WebAddress, webCall } from "./web.ts";

const maxBody = 256 * 1024;

export const httpPost = defineTool({
  name: "http_post",
  description:
    "Send a text by POST to an https URL on the user's list, and read the response. The user sees and approves the exact content each time. Redirects are not followed, and private data is refused.",
  args: z.strictObject({
    url: WebAddress.describe("https address"),
    body: z.string().max(maxBody).describe("Request body"),
    content_type: z
      .string()
      .regex(/^[\w.+-]+\/[\w.+-]+(?:;\s?charset=[\w-]+)?$/, "Use a media type such as application/json.")
      .optional()
      .describe("Default: application/json if the body is JSON, else text/plain"),
  }),
  capability: "web_ops",
  action: "post",
  baseTier: "T3",
  actionType: "tool_call",
  provider: { name: "web-gate", version: "1" },
  routed: true,
  title: ({ url }) => `Send to ${url.slice(0, 200)}`,
  reads: () => [],
  plan({ url: address, body, content_type }, scope) {
    const url = requestUrl(address);
    const type = content_type ?? (isJson(body) ? "application/json" : "text/plain; charset=utf-8");
    const step = { capability: "web_ops", action: "post", args: { url, body, type } };
    return Promise.resolve({
      kind: "effect",
      steps: [step],
      question: {
        title: `Send ${formatBytes(Buffer.byteLength(body))} to ${hostOf(url)}`,
        detail: `POST ${url}\nContent-Type: ${type}\n\n${body}`,
      },
      touches: [],
      run: async ({ receiptId }) => {
        const { value, provider } = await scope.runOnProvider("web_ops", "post", webCall(scope, receiptId, false), (post, run) => {
          run.begin();
          return post({ url, signal: run.signal, judge: judgeHops(scope, step), body, type });
        });
        const { source, location } = value;
        const worked = source.status >= 200 && source.status < 300;
        const head =
          location === null ? `Status ${source.status}.` : `Status ${source.status}. The redirect to ${location} was not followed.`;
        return {
          value: { kind: "answer", text: [sourceLine(source), head, value.text].join("\n"), isError: !worked },
          outputs: { source, sentBytes: Buffer.byteLength(body), provider },
          ...(worked ? {} : { failure: head }),
        };
      },
    });
  },
});

function isJson(body: string): boolean {
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
