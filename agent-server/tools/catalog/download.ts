import { extname } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { formatBytes, hashFile, type ResolvedFile, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, PathArgument, type Scope } from "../tool.ts";
import { hostOf, judgeHops, requestUrl, sourceLine, WebAddress, webCall } from "./web.ts";

export const download = defineTool({
  name: "download",
  description:
    "Download a file to the workspace: at most 50 MB, from hosts on the user's list. An existing file is replaced, which can be undone. To read a page use fetch_url.",
  args: z.strictObject({
    url: WebAddress.describe("https address"),
    path: PathArgument.describe("Target file, relative to the workspace"),
  }),
  capability: "web_ops",
  action: "download",
  baseTier: "T2",
  actionType: "tool_call",
  provider: { name: "web-gate", version: "1" },
  routed: true,
  title: ({ url, path }) => `Download ${url.slice(0, 200)} to ${path}`,
  edits: ({ path }) => [path],
  // The state of the target is reported only after an authorized read.
  reads: ({ path }, scope) => [fileStep("list", resolveFile(scope, path))],
  async plan({ url: address, path }, scope) {
    const url = requestUrl(address);
    const file = resolveFile(scope, path);
    expectPlace(file);
    await expectSaved(scope, file);
    const step = { capability: "web_ops", action: "download", args: { url, path: file.asked, absolute: file.absolute } };
    const done = { sha256: "" };
    return {
      kind: "effect",
      steps: [step],
      question: {
        title: `Download a file from ${hostOf(url)}`,
        detail: `${url}\nSaved as ${file.display}${file.type === "missing" ? "" : ", replacing the existing file. You can undo this"}.`,
      },
      touches: [{ path: file }],
      run: async ({ receiptId }) =>
        scope.locks.hold([file.absolute], async () => {
          const before = await hashFile(file);
          const { value, provider } = await scope.runOnProvider("web_ops", "download", webCall(scope, receiptId, true), (get, run) => {
            run.begin();
            return get({ url, signal: run.signal, judge: judgeHops(scope, step) });
          });
          const { source, bytes } = value;
          expectNoPage(source.type, file);
          await expectSaved(scope, file);
          const written = await scope.files.writeBytes(file, before, bytes);
          done.sha256 = source.sha256;
          return {
            value: {
              kind: "answer",
              text: `${sourceLine(source)}\n${before === null ? "Kept as" : "Replaced"} ${file.display} (${formatBytes(bytes.length)}, SHA-256 ${source.sha256}).`,
            },
            outputs: { source, changedFiles: [written], provider },
          };
        }),
      verify: async () => ((await hashFile(file)) === done.sha256 ? null : `${file.display} does not have the downloaded content`),
    };
  },
});

/** Downloads only go to unprotected files in the workspace, regardless of approvals. */
function expectPlace(file: ResolvedFile): void {
  if (!file.inside) throw new LancelotError("denied", "Files can only be downloaded to the workspace. Name a file in it.");
  if (file.sensitive !== null)
    throw new LancelotError("denied", `${file.display} is a protected file, which a download cannot create or replace. Name another file.`);
  if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder. Name the file in it.`);
}

async function expectSaved(scope: Scope, file: ResolvedFile): Promise<void> {
  if ((await scope.files.unsavedText(file)) !== null)
    throw new LancelotError("conflict", `${file.display} has unsaved edits in the editor. Ask the user to save it, or name another file.`);
}

/** An HTML page instead of a file is nearly always a sign-in or an error page. */
function expectNoPage(type: string, file: ResolvedFile): void {
  if (type !== "text/html" && type !== "application/xhtml+xml") return;
  if (/^\.(?:x?html?|mht|txt|md)$/i.test(extname(file.absolute))) return;
  throw new LancelotError(
    "unavailable",
    `This address returned a web page instead of a file for ${file.display}, so nothing was saved. Use fetch_url to read the page.`,
  );
}
