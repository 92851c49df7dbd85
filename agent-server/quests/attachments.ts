import { trimEnd } from "../contract/trim-end.ts";
import type { Attachment, Part } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Context, ContextUserContent, Trace } from "../context/context.ts";
import { fence } from "../context/context.ts";
import type { Governance } from "../governance/governance.ts";
import type { Redactor, Sanitizer } from "../security/security.ts";
import type { Tools } from "../tools/tools.ts";
import { readContext } from "./named-context.ts";
import { notice } from "./notices.ts";

/** Further mentions in the same message are treated as text. */
const maxMentions = 20;
/** Mentions that are looked up: each costs a look at the disk. */
const maxTried = 200;

/** The existing files and folders of the workspace that the text mentions as `@path`. */
export function findMentions(text: string, governance: Pick<Governance, "resolvePath">): string[] {
  const paths = new Set<string>();
  const tried = new Set<string>();
  for (const match of text.matchAll(/(?:^|[\s(])@(?:"([^"\n]+)"|([^\s"`]+))/g)) {
    const written = match[1] ?? trimEnd(match[2] ?? "", "),.;:!?");
    if (paths.size >= maxMentions || tried.size >= maxTried) break;
    if (written === "" || tried.has(written)) continue;
    tried.add(written);
    const resolved = governance.resolvePath(written);
    if (resolved.ok && resolved.inside && (resolved.type === "file" || resolved.type === "directory")) paths.add(resolved.display);
  }
  return [...paths];
}

/** @throws LancelotError `unauthorized` when the path is a secret file and the caller has no owner token. */
export function requireOwnerForSecrets(governance: Pick<Governance, "resolvePath">, path: string, owner: boolean): void {
  const resolved = governance.resolvePath(path);
  if (owner || !resolved.ok || resolved.sensitive !== "secret") return;
  throw new LancelotError(
    "unauthorized",
    `${resolved.inside ? resolved.display : path} contains secrets. Adding it requires the owner token; its secrets are redacted.`,
  );
}

/** The parts that show an attachment in the chat. What a text attaches by its name is in the text. */
export function attachmentParts(attachment: Attachment): Part[] {
  switch (attachment.type) {
    case "file":
      return [{ type: "file", path: attachment.path }];
    case "selection":
      return [{ type: "file", path: `${attachment.path}:${String(attachment.startLine)}-${String(attachment.endLine)}` }];
    case "image":
      return [{ type: "image", mediaType: attachment.mediaType, data: attachment.data }];
    case "context":
      return [];
  }
}

/** Redacts the secrets in an attachment before it is stored. */
export function protectAttachment(attachment: Attachment, redactor: Redactor): Attachment {
  return attachment.type === "selection" ? { ...attachment, text: redactor.text(attachment.text).text } : attachment;
}

/** Reads attachments as content for the model, and returns a notice for each one that could not be read. */
export async function readAttachments(
  { context, redactor, sanitizer, tools }: { context: Context; redactor: Redactor; sanitizer: Sanitizer; tools: Pick<Tools, "invoke"> },
  attachments: readonly Attachment[],
  trace: Trace,
  signal: AbortSignal,
): Promise<{ content: ContextUserContent[]; problems: Part[] }> {
  const content: ContextUserContent[] = [];
  const problems: Part[] = [];
  for (const attachment of attachments) {
    switch (attachment.type) {
      case "image":
        content.push({ type: "image", mediaType: attachment.mediaType, data: attachment.data });
        break;
      case "selection": {
        const title = `Lines ${String(attachment.startLine)} to ${String(attachment.endLine)} of ${attachment.path}, selected by the user`;
        const findings = sanitizer.inspect(attachment.text).findings.map(({ rule }) => rule);
        content.push({
          type: "text",
          text: fence(title, redactor.text(attachment.text).text),
          attached: true,
          path: `${attachment.path}:${String(attachment.startLine)}-${String(attachment.endLine)}`,
          ...(findings.length === 0 ? {} : { findings }),
        });
        break;
      }
      case "context": {
        try {
          const { title, text } = await readContext(tools, attachment.name, { quest: trace.questId, parent: trace.parentId, signal });
          const findings = sanitizer.inspect(text).findings.map(({ rule }) => rule);
          content.push({ type: "text", text: fence(title, text), attached: true, ...(findings.length === 0 ? {} : { findings }) });
        } catch (error) {
          if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
          problems.push(notice("warning", `@${attachment.name} was not attached. ${error.message}`));
        }
        break;
      }
      case "file": {
        const file = await context.attached(attachment.path, trace);
        if (file.ok)
          content.push({
            type: "text",
            text: file.text,
            attached: true,
            path: file.path,
            ...(file.findings.length === 0 ? {} : { findings: file.findings }),
          });
        else problems.push(notice("warning", `${file.path} was not attached. ${file.problem}`));
        break;
      }
    }
  }
  return { content, problems };
}
