import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Hunk } from "../../agent-server/contract/changes.ts";
import { count, t } from "./l10n.ts";

export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

export function countLines(hunks: readonly Hunk[]): LineCounts {
  let added = 0;
  let removed = 0;
  for (const hunk of hunks) {
    for (const line of hunk.lines) {
      if (line.startsWith("+")) added += 1;
      else if (line.startsWith("-")) removed += 1;
    }
  }
  return { added, removed };
}

export function Counts({ added, removed }: LineCounts): JSX.Element {
  return (
    <span class="line-counts">
      <span class="added" title={count(added, "{0} line added", "{0} lines added")}>
        +{added}
      </span>{" "}
      <span class="removed" title={count(removed, "{0} line removed", "{0} lines removed")}>
        −{removed}
      </span>
    </span>
  );
}

function kindOf(line: string): string {
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return line.startsWith("@@") ? "range" : "same";
}

/** Lines of a unified diff. A button shows the lines after the first `most`. */
export function DiffLines({ lines, label, max = 24 }: { lines: readonly string[]; label: string; max?: number }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all || lines.length <= max + 4 ? lines : lines.slice(0, max);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled by keyboard */}
      <pre class="diff" tabIndex={0} role="region" aria-label={label}>
        <code>
          {shown.map((line, index) => (
            <span key={index} class={`diff-line ${kindOf(line)}`}>
              {`${line}\n`}
            </span>
          ))}
        </code>
      </pre>
      {shown.length < lines.length && (
        <button data-testid="show-all-lines" type="button" class="button link" onClick={() => setAll(true)}>
          {t("Show All {0} Lines", lines.length)}
        </button>
      )}
    </>
  );
}
