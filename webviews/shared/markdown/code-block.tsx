import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Bridge } from "../bridge.ts";
import { IconButton } from "../components.tsx";
import { highlighter, loadHighlighter } from "../highlight/loader.ts";
import { t } from "../l10n.ts";

/** Longest code, in characters, that is highlighted; beyond it the cost outweighs the benefit. */
const maxHighlightedLength = 60_000;

function Lines({ code, language }: { code: string; language: string }): JSX.Element {
  const highlight = highlighter.value;
  const lines = highlight === null || code.length > maxHighlightedLength ? null : highlight(code, language);
  if (lines === null) return <>{code}</>;
  return (
    <>
      {lines.map((line, row) => (
        <span key={row}>
          {row > 0 && "\n"}
          {line.map((token, column) =>
            token.kind === "" ? (
              token.text
            ) : (
              <span key={column} class={`code-${token.kind}`}>
                {token.text}
              </span>
            ),
          )}
        </span>
      ))}
    </>
  );
}

interface CodeBlockProps {
  code: string;
  language: string;
  bridge: Bridge;
  streaming?: boolean;
}

/** A code block with its language and the actions copy and insert at cursor. */
export function CodeBlock({ code, language, bridge, streaming }: CodeBlockProps): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => loadHighlighter(), []);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => {
    bridge.ui({ action: "copy", text: code });
    setCopied(true);
  };
  const name = language === "" ? t("Code") : t("{0} code", language);
  return (
    <div class="code-block">
      <div class="code-heading">
        <span class="code-language">{language}</span>
        <IconButton testId="copy-code" icon={copied ? "check" : "copy"} label={copied ? t("Copied") : t("Copy Code")} onClick={copy} />
        <IconButton
          testId="insert-at-cursor"
          icon="insert"
          label={t("Insert at Cursor")}
          onClick={() => bridge.ui({ action: "insertAtCursor", text: code })}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled by keyboard */}
      <pre tabIndex={0} role="region" aria-label={name}>
        <code>{streaming ? code : <Lines code={code} language={language} />}</code>
      </pre>
    </div>
  );
}
