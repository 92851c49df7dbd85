import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parseImport } from "../../../../agent-server/memory/transfer/parse-import.ts";
import { canonicalJson, genesis, hashEntry } from "../../../../agent-server/receipts/entry.ts";
import { readLine, writeLine } from "../../../../agent-server/receipts/entry-lines.ts";
import { readSegment } from "../../../../agent-server/receipts/segment-file.ts";
import { verifyExport } from "../../../../agent-server/receipts/verify-export.ts";
import { readable } from "../../../../agent-server/tools/providers/readable.ts";
import { betweenTags } from "../../../../agent-server/tools/providers/page-reader.ts";
import { decodePage } from "../../../../agent-server/tools/providers/web-text.ts";
import { fromBytes, toBytes } from "../../../../agent-server/workspace/byte-path.ts";
import { loadTree } from "../../../../agent-server/workspace/effects/tree-file.ts";
import { listedEntries } from "../../../../agent-server/workspace/git/index-entries.ts";
import { ownerSettings, parseSettings } from "../../../../agent-server/workspace/git/git-settings.ts";
import { remoteOf } from "../../../../agent-server/workspace/git/git-transfer.ts";
import { readPlan, readState } from "../../../../agent-server/workspace/tasks/generated-journal.ts";
import { parseIndex, parseListing } from "../../../../agent-server/workspace/tasks/view-index.ts";
import { searchWorkspace } from "../../../../agent-server/workspace/workspace-search.ts";
import { Attachment } from "../../../../agent-server/contract/chat.ts";
import { attachmentParts, protectAttachment } from "../../../../agent-server/quests/attachments.ts";
import { createRedactor } from "../../../../agent-server/security/redactor.ts";
import { bytesOf, type Target } from "../target.ts";

const hash = "0123456789abcdef".repeat(4);
/** Two entries of a ledger, chained as the real ones. */
const bodies = [1, 2].map((seq) => canonicalJson({ seq, id: `r${seq}`, kind: "open", at: 1 }));
const hashes = bodies.reduce<string[]>((known, body) => [...known, hashEntry(known.at(-1) ?? genesis, body)], []);
const entries = bodies.map((body, at) => writeLine({ body, hash: hashes[at] ?? "" }));
const ledger = [
  '{"lancelot":"ledger","version":1,"ledger":"l","exportedAt":"2026-01-01T00:00:00.000Z","keys":[{"keyId":"k","publicKey":"AAAA"}],"sealed":[]}',
  ...entries,
  `{"signature":{"seq":2,"keyId":"k","signature":"AAAA","hash":"${hashes[1]}","at":1}}`,
  `{"end":{"entries":2,"head":"${hashes[1]}","signatures":1}}`,
].join("\n");

const memory = [
  '{"lancelot":"memory","version":1,"format":"jsonl","exportedAt":"2026-01-01T00:00:00.000Z","workspace":null}\n{"target":"archival","namespace":"workspace","kind":"fact","content":"We use pnpm.","confidence":0.9}\n{"end":{"items":1}}\n',
  '{"type":"entity","name":"a","entityType":"b","observations":["c"]}\n{"type":"relation","from":"a","to":"b","relationType":"c"}\n',
  "# Memory\n\n## Core: rules\n\n- Use tabs. <!-- id: m1, confidence: 0.9 -->\n- Never push.\n\n## Facts\n\n* a\n",
];

const page =
  '<!doctype html><html><head><meta charset="utf-8"><title>T</title></head><body><nav>n</nav><main><h1>A</h1><p>Text <a href="/x">l</a></p><table><tr><td>1</td></tr></table><pre>c</pre><img src=a alt=b></main></body></html>';

/** An index of git, version 2, with one entry. */
const index = (() => {
  const entry = Buffer.alloc(72);
  entry.writeUInt32BE(0o100644, 24);
  entry.writeUInt16BE(3, 60);
  entry.write("a/b", 62, "latin1");
  const header = Buffer.alloc(12);
  header.write("DIRC", 0, "latin1");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(1, 8);
  return Buffer.concat([header, entry, Buffer.from("TREE\0\0\0\x06\x001 0\n", "latin1"), Buffer.alloc(20)]).toString("latin1");
})();

/** A target whose input is a file that the function reads. */
const inFile = (
  name: string,
  samples: readonly string[],
  words: readonly string[],
  read: (path: string) => unknown,
  throws: readonly string[] = [],
): Target => ({
  name,
  samples,
  words,
  throws,
  open: (folder) => (input) => {
    const path = join(folder, "input");
    writeFileSync(path, bytesOf(input));
    return read(path);
  },
});

/** Pages are read in a thread of their own, which is ended after fifteen seconds: here the limit is that a page ends with a text or an error. */
const pageTarget: Target = {
  name: "web pages, readable content",
  samples: [page],
  words: ["<p>", "</p>", "<table>", "<td>", "<a href=", "<!--", "&#x", "<svg>", "<template>", "<body>", "</body>"],
  longest: 8_000,
  mostMs: 5_000,
  throws: ["Error", "TypeError", "RangeError", "SyntaxError", "DOMException"],
  open: () => (input) => readable(input, "https://a.example/"),
};

export const transferTargets: readonly Target[] = [
  {
    name: "memory, import",
    samples: memory,
    words: ['{"id":', '"content":"', '"createdAt":', "## ", "- ", "<!-- ", " -->", "\n", '{"type":"entity"'],
    open: () => (input) => parseImport(input),
  },
  inFile("receipts, verifying an export", [ledger], ['{"hash":', '"seq":', '"signature":', '{"end":', "\n", hash], verifyExport),
  {
    name: "receipts, sealed files",
    samples: [entries.join("\n"), "not an entry"],
    words: ['{"hash":', '"body":', "\n"],
    // A damaged file is an entry of what is wrong with the ledger.
    throws: ["Error"],
    open: (folder) => async (input) => {
      const path = join(folder, "segment.gz");
      const packed = gzipSync(bytesOf(input));
      // Some are whole, some have a byte changed.
      if (input.length % 2 === 1) packed[(input.length * 7) % packed.length] = input.charCodeAt(0) & 0xff;
      writeFileSync(path, packed);
      let count = 0;
      for await (const lines of readSegment(path)) count += lines.length;
      return [count, readLine(input)];
    },
  },
  {
    name: "git, settings",
    samples: ["global\0user.name\nMe\0local\0core.bare\nfalse\0system\0credential.helper\nstore\0", "local\0a.b\0"],
    words: ["\0", "\n", "global\0", "commit.gpgsign", "http.proxy"],
    open: () => (input) => ownerSettings(parseSettings(input)),
  },
  {
    name: "git, listings and index",
    samples: [`100644 blob ${hash.slice(0, 40)}\ta/b\x00120000 ${hash.slice(0, 40)} 0\tc d\0`, index],
    words: ["\0", "\t", "100644 ", "DIRC", "link\0\0\0\x04", "\xff\xff\xff\xff"],
    open: () => (input) => [listedEntries(input), parseListing(input), parseIndex(bytesOf(input), 20), parseIndex(bytesOf(input), 32)],
  },
  {
    name: "git, addresses",
    samples: ["https://github.com/a/b.git", "git@github.com:a/b.git", "ssh://me@h:22/x", "../other", "file:///a", "ext::sh -c x", "-u x"],
    words: ["://", "@", ":", "..", "%", "~", "::", "-", "\\\\"],
    open: (folder) => (input) => remoteOf(input, folder),
  },
  {
    name: "paths of any bytes",
    samples: ["a/b", "caf\xe9", "\xff\xfe", "日本/x"],
    open: () => (input) => toBytes(fromBytes(bytesOf(input))),
  },
  {
    name: "search, records of ripgrep",
    samples: ["./src/a.ts\u000012:const a = 1;\n./src/b.ts\u00003:x\r\n", "Binary file ./x matches\n", "./.env\u00001:SECRET=x\n"],
    words: ["\0", "\n", ":", "./", "\r"],
    open: (folder) => {
      // Stands for ripgrep: it prints the input.
      const program = join(folder, "program.sh");
      writeFileSync(program, '#!/bin/sh\nexec cat "$(dirname "$0")/input"\n');
      chmodSync(program, 0o755);
      const governance = { resolvePath: (path: string) => ({ ok: !path.includes("..") }) } as never;
      return (input) => {
        writeFileSync(join(folder, "input"), bytesOf(input));
        return searchWorkspace(
          { governance, ripgrepPath: program, workspace: folder },
          { query: "x", regex: false, limit: 100 },
          new AbortController().signal,
        );
      };
    },
  },
  inFile(
    "file states of a workspace",
    ['{"version":1}\n', "\x1f\x8b\x08\0", readFileSync(import.meta.filename, "latin1").slice(0, 400)],
    ["{", "}", "\n", "\0"],
    loadTree,
  ),
  {
    name: "journals of generated files",
    samples: ['{"version":1,"root":"/x","steps":[]}', '{"state":"placed"}'],
    words: ['"steps":[', "{", "}", '"path":'],
    throws: ["Error", "ZodError", "SyntaxError"],
    open: (folder) => (input) => {
      for (const name of ["plan.json", "state.json"]) writeFileSync(join(folder, name), bytesOf(input));
      return [readState(folder), readPlan(folder)];
    },
  },
  {
    name: "attachments",
    samples: [
      '{"type":"image","mediaType":"image/png","data":"iVBORw0KGgo="}',
      '{"type":"selection","path":"a.ts","startLine":1,"endLine":2,"text":"password=hunter2hunter2"}',
      '{"type":"file","path":"notebook.ipynb"}',
    ],
    words: ['"data":"', "====", '"mediaType":"', '"startLine":-1', '"text":'],
    open: () => {
      const redactor = createRedactor();
      return (input) => {
        let value: unknown = input;
        try {
          value = JSON.parse(input);
        } catch {
          // Texts are tried as they are.
        }
        const parsed = Attachment.safeParse(value);
        return parsed.success ? attachmentParts(protectAttachment(parsed.data, redactor)) : null;
      };
    },
  },
  {
    name: "web pages, bytes to text",
    samples: [page, '<meta charset="shift_jis">\x82\xa0', "\xff\xfe<\0a\0>\0"],
    words: ["<", ">", "charset=", "<!--", "&#", "&lt;", "<script>", "</script"],
    open: () => (input) => {
      const text = decodePage({ body: bytesOf(input), charset: null, type: "text/html" });
      return betweenTags(text);
    },
  },
  pageTarget,
];
