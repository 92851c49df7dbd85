import { Tag } from "../../contract/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { encodedRuns, mirrors, plainForms } from "./encoded-runs.ts";
import { fold } from "./evidence-vocabulary.ts";
import { type GateInput, refuse, type GateStep } from "./gate-step.ts";

const encodedSecret = "[redacted:encoded-secret]";
const placeholder = /\[redacted:[\w-]+\]/;
/** Letters and digits that may be the second half of a secret. */
const secretRest = /^(?=\S*\d)(?=\S*[A-Za-z])\S{12,}$/;
/** Nested encodings that are decoded. */
const maxDepth = 3;

/**
 * The fourth gate removes secrets from every text of an edit, plain or encoded. It misses a secret
 * of unknown form with a neutral name, and one that is split over several items.
 */
export function scrubEdit(input: GateInput, redactor: Redactor): GateStep {
  const { edit } = input;
  let found = 0;
  const clean = (text: string): string => {
    const scrubbed = scrub(text, redactor);
    if (scrubbed !== text) found += 1;
    return scrubbed;
  };
  const content = edit.content === null ? null : clean(edit.content);
  if (content !== null && content !== edit.content && saysNothing(content))
    return refuse("memory.secret", "This is only a secret, and secrets are never saved.", "Save where it is stored instead.");
  const selector = edit.selector === null ? null : clean(edit.selector);
  const reason = clean(edit.reason);
  // Tags are also checked joined: a secret may be split over them.
  const together = scrub(edit.tags.join(""), redactor) !== edit.tags.join("");
  const tags = together ? [] : edit.tags.filter((tag) => clean(tag) === tag && Tag.safeParse(tag).success);
  const ref = edit.provenance.ref === undefined ? undefined : clean(edit.provenance.ref);
  // Parts that are harmless alone may form a secret together.
  const parts = [content ?? "", tags.join(""), reason, ref ?? ""].filter((part) => part !== "");
  const isJoined =
    found === 0 &&
    !together &&
    parts.length > 1 &&
    scrub(parts.join(""), redactor) !== parts.join("") &&
    scrub(parts.join(" "), redactor) === parts.join(" ");
  // The first half may be a secret of its own.
  const isContinued = content !== edit.content && /\[redacted:[\w-]+\]$/.test(content ?? "") && secretRest.test(tags.join(""));
  if (isJoined || isContinued)
    return refuse("memory.secret", "Its texts together contain a secret, and secrets are never saved.", "Save where it is stored instead.");
  if (found === 0 && !together) return input;
  return {
    ...input,
    edit: {
      ...edit,
      content,
      selector,
      reason,
      tags,
      provenance: { source: edit.provenance.source, ...(ref === undefined ? {} : { ref: ref.slice(0, 500) }) },
    },
    notes: [...input.notes, "A secret was removed; secrets are never saved."],
  };
}

/** A text without its secrets; the same text when there are none. It is idempotent. */
export function scrub(text: string, redactor: Redactor): string {
  if (text.length < 8) return text;
  let current = text;
  for (let round = 0; round < 4; round += 1) {
    const next = scrubOnce(current, redactor);
    if (next === current) break;
    current = next;
  }
  return holdsSecret(current, redactor, maxDepth) ? encodedSecret : current;
}

function scrubOnce(text: string, redactor: Redactor): string {
  let current = scrubAsWritten(text, redactor);
  for (const { there, back, reversed } of mirrors) {
    const hidden = there(current);
    const clean = scrubAsWritten(hidden, redactor);
    if (clean === hidden) continue;
    const parts = clean.split(/(\[redacted:[\w-]+\])/).map((part) => (placeholder.test(part) ? encodedSecret : back(part)));
    current = (reversed ? parts.toReversed() : parts).join("");
  }
  for (const form of plainForms(current)) {
    const bare = redactor.text(form);
    if (bare.findings.length > 0) return withoutTails(bare.text);
  }
  return current;
}

/** Removes plain secrets, and runs that encode one. */
function scrubAsWritten(text: string, redactor: Redactor): string {
  let current = withoutTails(redactor.text(text).text);
  let from = current.length;
  for (const { start, end, texts } of encodedRuns(current).toSorted((a, b) => b.end - a.end || a.start - b.start)) {
    // It overlaps a removed one; the next round checks the rest.
    if (end > from) continue;
    if (!texts.some((one) => holdsSecret(one, redactor, maxDepth - 1))) continue;
    current = current.slice(0, start) + encodedSecret + current.slice(end);
    from = start;
  }
  return current;
}

const tail =
  /(\[redacted:[\w-]+\])(?:["'`]\s*(?:(?:[+.&]|\.\.|\|\|)\s*)?["'`]|\\?[ \t]*\r?\n[ \t>*|#]*)(?=[A-Za-z0-9+/_=~.-]*\d)(?=[\d+/_=~.-]*[A-Za-z])[A-Za-z0-9+/_=~-]{4,}(?![A-Za-z])/g;

/** Removes the rest of a secret that was split over two lines, or into two parts of which the first is itself a secret. */
function withoutTails(text: string): string {
  if (!text.includes("[redacted:")) return text;
  let current = text;
  for (let round = 0; round < 20; round += 1) {
    const next = current.replace(tail, "$1");
    if (next === current) break;
    current = next;
  }
  return current;
}

function holdsSecret(text: string, redactor: Redactor, depth: number): boolean {
  if (text.length < 8) return false;
  if (redactor.text(text).findings.length > 0) return true;
  if (plainForms(text).some((form) => redactor.text(form).findings.length > 0)) return true;
  if (mirrors.some(({ there }) => redactor.text(there(text)).findings.length > 0)) return true;
  return depth > 0 && encodedRuns(text).some(({ texts }) => texts.some((one) => holdsSecret(one, redactor, depth - 1)));
}

const secretWords =
  /^(?:secrets?|password|passwords|passwd|pwd|passphrase|passcode|token|tokens|keys?|api|apikey|credentials?|auth|bearer|authorization|basic|private|access|login|user|username|value|is|are|was|the|a|an|my|your|our|this|that|here|for|of|to|and|it|its|use|using|now|new|remember|save|store|keep|note|please|geheimnis|passwort|kennwort|schlussel|ist|das|der|die|mein|meine|lautet|mot|de|passe|cle|jeton|le|la|mon|ma|est|contrasena|clave|el|mi|es|пароль|ключ|токен|мой|это|密码|密钥|令牌|是|我的|パスワード|キー|トークン|は|です)$/u;

/** True when only placeholders are left. */
function saysNothing(scrubbed: string): boolean {
  const words = fold(scrubbed.replace(/\[redacted:[\w-]+\]/g, " ")).match(/[\p{L}]{2,}/gu) ?? [];
  return words.filter((word) => !secretWords.test(word)).length < 2;
}
