export interface PageFacts {
  view: "chat" | "war-room";
  title: string;
  /** Text shown until the script has rendered the view. */
  loading: string;
  lang: string;
  /** Translations by English text; undefined for English. */
  texts: Readonly<Record<string, string>> | undefined;
  cspSource: string;
  /** Random, for one page. */
  nonce: string;
  uris: { script: string; style: string; codicons: string };
}

/** The HTML of a view: security policy, styles, a loading skeleton and the script. */
export function pageHtml({ view, title, loading, lang, texts, cspSource, nonce, uris }: PageFacts): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource} 'unsafe-inline'`,
    `font-src ${cspSource}`,
    `img-src ${cspSource} data:`,
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${escape(lang)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<link id="vscode-codicon-stylesheet" rel="stylesheet" href="${escape(uris.codicons)}">
<link rel="stylesheet" href="${escape(uris.style)}">
<style nonce="${nonce}">
#root:not(:empty) + .skeleton { display: none; }
.skeleton { padding: 16px; color: var(--vscode-descriptionForeground); font-family: var(--vscode-font-family); }
.skeleton i { display: block; height: 10px; margin: 10px 0; border-radius: 3px; background: var(--vscode-editorWidget-border, currentColor); opacity: 0.35; }
</style>
</head>
<body data-view="${view}" data-vscode-context='{"preventDefaultContextMenuItems": true}'>
<div id="root"></div>
<div class="skeleton" role="status">${escape(loading)}<i style="width: 90%"></i><i style="width: 70%"></i><i style="width: 80%"></i></div>
${texts === undefined ? "" : `<script id="l10n" type="application/json">${JSON.stringify(texts).replaceAll("<", "\\u003c")}</script>\n`}<script nonce="${nonce}" src="${escape(uris.script)}"></script>
</body>
</html>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
