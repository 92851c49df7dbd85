import type { Handlers } from "../contract/table.ts";
import type { PiiDetector } from "./pii/types.ts";
import type { Finding, Redactor } from "./types.ts";
import type { Sanitizer } from "./sanitizer.ts";

/** Handlers that run the sanitizer and the redactor on a text. Nothing is stored. */
export function securityHandlers(deps: {
  sanitizer: Sanitizer;
  redactor: Redactor;
  detector: PiiDetector;
}): Pick<Handlers, "security.inspect" | "security.redact"> {
  return {
    "security.inspect": ({ text }) => {
      const { allowed, findings, normalized } = deps.sanitizer.inspect(text);
      return { allowed, findings: [...findings], normalized };
    },
    "security.redact": ({ text }) => {
      const { text: withoutSecrets, findings } = deps.redactor.text(text);
      return redactPersonalData(withoutSecrets, findings, deps.detector);
    },
  };
}

/** Irreversibly redacts personal data in a text whose secrets are already redacted. */
function redactPersonalData(text: string, before: readonly Finding[], detector: PiiDetector): { text: string; findings: Finding[] } {
  const findings = [...before];
  let result = "";
  let done = 0;
  for (const { start, end, kind } of detector.find(text)) {
    // The match is a redacted secret.
    if (text.slice(start, end).includes("[redacted:")) continue;
    const placeholder = `[redacted:${kind}]`;
    findings.push({ kind, placeholder });
    result += text.slice(done, start) + placeholder;
    done = end;
  }
  return { text: result + text.slice(done), findings };
}
