import { hash } from "node:crypto";
import type { Redactor, Sanitizer } from "../../security/security.ts";
import { oneLine } from "../core-block-text.ts";

/** The reason a text may not be compiled into a prompt, as a message for the user; null when it may. It is deterministic. */
export type SecurityFilter = (text: string) => string | null;

/** Syntax of tool calls or chat turns, searched in the original text and in one-line compatibility form. */
const toolCallSyntax: readonly RegExp[] = [
  /<\/?\s{0,4}(?:[a-z]{2,12}:)?(?:tool_calls?|tool_use|tool_results?|tool_response|tool_outputs?|tool_code|function_calls?|function_results?)\b[^<>]{0,200}>/iu,
  /<\/?\s{0,4}(?:[a-z]{2,12}:)?(?:invoke|parameter)\s{1,4}name\s{0,4}=/iu,
  /<(?:function|parameter)\s{0,4}=\s{0,4}["']?[\w.:-]/iu,
  /<\|[^|<>\n]{2,40}\|>/u,
  /<(?:start|end)_of_turn>/iu,
  /\[\/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<<\/?SYS>>/iu,
  /"(?:name|tool|tool_name|function|recipient_name)"\s{0,8}:\s{0,8}"[\w./:-]{1,100}"\s{0,8},\s{0,8}"(?:arguments|parameters|args|input|tool_input)"\s{0,8}:\s{0,8}[{"[]/iu,
  /"(?:arguments|parameters|tool_input)"\s{0,8}:\s{0,8}\{[^{}]{0,400}\}\s{0,8},\s{0,8}"(?:name|tool|function)"\s{0,8}:/iu,
  /"type"\s{0,8}:\s{0,8}"(?:tool_use|tool_call|tool_result|function_call)"/iu,
  /"(?:tool_calls|function_call)"\s{0,8}:\s{0,8}[[{]/iu,
  /```\s{0,4}tool_(?:code|call|output)/iu,
  /\bto=(?:functions|tools)\.\w/u,
  /\bAction\s{0,2}:.{1,200}?\sAction Input\s{0,2}:/isu,
];

/** Data marks with any word: no text may bring its own. */
const dataMarks = /\[\s{0,4}data\s{1,4}\S{1,80}\s{1,4}from\b|\[\s{0,4}end\s{1,4}[0-9a-f]{8,64}\s{0,4}\]/iu;

/** Cached verdicts, by the hash of the text, which may be long: the same items are compiled repeatedly. */
const remembered = 5_000;

/**
 * Excludes texts with findings of the sanitizer, tool call syntax, data marks or secrets. Without a sanitizer
 * the other rules apply.
 */
export function createSecurityFilter({ sanitizer, redactor }: { sanitizer: Sanitizer | null; redactor: Redactor }): SecurityFilter {
  const known = new Map<string, string | null>();

  const judge = (text: string): string | null => {
    const secrets = redactor.text(text).findings;
    if (secrets.length > 0) return `It holds a secret (${kinds(secrets.map(({ kind }) => kind))}).`;
    const plain = oneLine(text.normalize("NFKC").replaceAll(/\p{Cf}/gu, ""));
    if (dataMarks.test(text) || dataMarks.test(plain)) return "It contains data marks.";
    if (toolCallSyntax.some((pattern) => pattern.test(text) || pattern.test(plain))) return "It contains tool call syntax.";
    const findings = sanitizer?.inspect(text).findings ?? [];
    return findings.length === 0 ? null : `It looks like an instruction to the model (${kinds(findings.map(({ rule }) => rule))}).`;
  };

  return (text) => {
    const key = hash("sha256", text, "base64");
    const before = known.get(key);
    if (before !== undefined) return before;
    const problem = judge(text);
    if (known.size >= remembered) known.clear();
    known.set(key, problem);
    return problem;
  };
}

function kinds(names: readonly string[]): string {
  return [...new Set(names)].join(", ");
}
