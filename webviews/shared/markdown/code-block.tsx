import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Bridge } from "../bridge.ts";
import { IconButton } from "../components.tsx";
import { highlighter, loadHighlighter } from "../highlight/loader.ts";
import { t } from "../l10n.ts";

/** Past this many characters colouring costs more than it helps. */
const longestHighlighted = 60_000;

function Lines({ code, language }: { code: string; language: string }): JSX.Element {
  const highlight = highlighter.value;
  const lines = highlight === null || code.length > longestHighlighted ? null : highlight(code, language);
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

/** Code with its language, a copy button and one that puts it at the editor's cursor. */
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
  const name = language === "" ? t("Code") : t("Code in {0}", language);
  return (
    <div class="code-block">
      <div class="code-heading">
        <span class="code-language">{language}</span>
        <IconButton icon={copied ? "check" : "copy"} label={copied ? t("Copied") : t("Copy code")} onClick={copy} />
        <IconButton icon="insert" label={t("Insert at cursor")} onClick={() => bridge.ui({ action: "insertAtCursor", text: code })} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled by keyboard */}
      <pre tabIndex={0} role="region" aria-label={name}>
        <code>{streaming ? code : <Lines code={code} language={language} />}</code>
      </pre>
    </div>
  );
}
