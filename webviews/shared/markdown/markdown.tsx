import type { ComponentChildren, JSX } from "preact";
import { memo } from "preact/compat";
import { useRef } from "preact/hooks";
import type { Bridge } from "../bridge.ts";
import { t } from "../l10n.ts";
import { type Blocks, blockSource, noBlocks, splitBlocks } from "./blocks.ts";
import { CodeBlock } from "./code-block.tsx";
import { hiddenDestination, linkTarget, markdownToTree } from "./sanitize.ts";

const plainTags = new Set(["p", "blockquote", "ul", "li", "strong", "em", "del", "thead", "tbody", "tr"]);

interface LinkProps {
  bridge: Bridge;
  href: string;
  /** The text that the link shows. */
  text: string;
  children: ComponentChildren;
}

function Link({ bridge, href, text, children }: LinkProps): JSX.Element {
  const target = linkTarget(href);
  if (target === null) return <span title={t("Blocked link: {0}", href)}>{children}</span>;
  const open = (event: MouseEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    if (target.kind === "web") bridge.ui({ action: "openExternal", url: target.url });
    else bridge.ui({ action: "openFile", path: target.path, ...(target.line === undefined ? {} : { line: target.line }) });
  };
  const hidden = hiddenDestination(text, target);
  return (
    <>
      <a href={target.kind === "web" ? target.url : "#"} title={href} onClick={open}>
        {children}
      </a>
      {hidden !== null && <span class="link-destination">{` (${t("opens {0}", hidden)})`}</span>}
    </>
  );
}

function children(node: ParentNode, bridge: Bridge, streaming: boolean): ComponentChildren[] {
  return [...node.childNodes].map((child) => toElement(child, bridge, streaming));
}

function codeOf(pre: Element): { code: string; language: string } {
  const code = pre.querySelector("code");
  const language = /(?:^|\s)language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
  return { code: (code ?? pre).textContent?.replace(/\n$/, "") ?? "", language };
}

/** Renders one node of the sanitized tree. An unknown element renders as its text. */
function toElement(node: ChildNode, bridge: Bridge, streaming: boolean): ComponentChildren {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent;
  if (!(node instanceof Element)) return null;
  const inner = (): ComponentChildren[] => children(node, bridge, streaming);
  const name = node.tagName.toLowerCase();
  // All headings become one level below the message heading, because models skip levels.
  if (/^h[1-6]$/.test(name)) return <h3 class={name}>{inner()}</h3>;
  if (plainTags.has(name)) {
    const Plain = name as "p";
    return <Plain>{inner()}</Plain>;
  }
  switch (name) {
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "code":
      return <code>{node.textContent}</code>;
    case "pre":
      return <CodeBlock {...codeOf(node)} bridge={bridge} streaming={streaming} />;
    case "a":
      return (
        <Link bridge={bridge} href={node.getAttribute("href") ?? ""} text={node.textContent ?? ""}>
          {inner()}
        </Link>
      );
    case "ol":
      return <ol start={Number(node.getAttribute("start") ?? 1)}>{inner()}</ol>;
    case "table":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard
        <div class="table-scroll" tabIndex={0} role="region" aria-label={t("Table")}>
          <table>{inner()}</table>
        </div>
      );
    case "th":
      return <th scope="col">{inner()}</th>;
    case "td":
      return <td>{inner()}</td>;
    case "input": {
      const done = node.hasAttribute("checked");
      return (
        <span class={`codicon codicon-${done ? "pass-filled" : "circle-large"}`} role="img" aria-label={done ? t("done") : t("not done")} />
      );
    }
    default:
      return node.textContent;
  }
}

const Block = memo(function Block({ source, bridge, streaming }: { source: string; bridge: Bridge; streaming: boolean }) {
  return <>{children(markdownToTree(source), bridge, streaming)}</>;
});

/** Most blocks of a text that are drawn as Markdown. The rest shows as it is. */
const maxBlocks = 1_000;

/** Markdown written by a model. While it streams, only the last blocks are parsed and drawn again. */
export function Markdown({ text, streaming, bridge }: { text: string; streaming: boolean; bridge: Bridge }): JSX.Element {
  const blocks = useRef<Blocks>(noBlocks);
  blocks.current = splitBlocks(text, blocks.current);
  const { sources, definitions } = blocks.current;
  const rest = sources.slice(maxBlocks).join("");
  return (
    <div class="markdown">
      {sources.slice(0, maxBlocks).map((source, index) => {
        const last = index === sources.length - 1;
        // Blocks grow only at the end, so the index identifies a block.
        return source.trim() === "" ? null : (
          <Block key={index} source={blockSource(source, definitions, streaming && last)} bridge={bridge} streaming={streaming && last} />
        );
      })}
      {rest !== "" && <pre>{rest}</pre>}
    </div>
  );
}
