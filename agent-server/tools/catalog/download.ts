import { extname } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { formatBytes, hashFile, type ResolvedFile, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, PathArgument, type Scope } from "../tool.ts";
import { hostOf, judgeHops, requestUrl, sourceLine, WebAddress, webCall } from "./web.ts";

export const download = defineTool({
  name: "download",
  description:
    "Keep a file of the web in the workspace: at most 50 MB, from hosts on the owner's list. A file that is there is replaced, which can be undone. To read a page use fetch_url.",
  args: z.strictObject({
    url: WebAddress.describe("https address"),
    path: PathArgument.describe("File to keep it in, relative to the workspace"),
  }),
  capability: "web_ops",
  action: "download",
  baseTier: "T2",
  actionType: "tool_call",
  provider: { name: "web-gate", version: "1" },
  routed: true,
  title: ({ url, path }) => `Download ${url.slice(0, 200)} to ${path}`,
  edits: ({ path }) => [path],
  // What is there already only who may look is told.
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
        title: `Download a file of ${hostOf(url)}`,
        detail: `${url}\nIt is kept as ${file.display}${file.type === "missing" ? "" : ", in place of what is there; that can be undone"}.`,
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
      verify: async () => ((await hashFile(file)) === done.sha256 ? null : `${file.display} does not hold what was downloaded`),
    };
  },
});

/** Downloads go to ordinary files of the workspace, whatever the owner would allow by hand. */
function expectPlace(file: ResolvedFile): void {
  if (!file.inside) throw new LancelotError("denied", "Files are downloaded into the workspace only. Name a file in it.");
  if (file.sensitive !== null)
    throw new LancelotError("denied", `${file.display} is a protected file, which a download never replaces or makes. Name another.`);
  if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder. Name the file in it.`);
}

async function expectSaved(scope: Scope, file: ResolvedFile): Promise<void> {
  if ((await scope.files.unsavedText(file)) !== null)
    throw new LancelotError("conflict", `${file.display} has unsaved edits in the editor. Save it there, or name another file.`);
}

/** A page in place of a file is nearly always a sign-in or an error. */
function expectNoPage(type: string, file: ResolvedFile): void {
  if (type !== "text/html" && type !== "application/xhtml+xml") return;
  if (/^\.(?:x?html?|mht|txt|md)$/i.test(extname(file.absolute))) return;
  throw new LancelotError(
    "unavailable",
    `There is a web page at this address, not a file for ${file.display}, so nothing was kept. Read it with fetch_url to see what it says.`,
  );
}
