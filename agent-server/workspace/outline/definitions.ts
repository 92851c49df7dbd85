import type { Node, Parser } from "@vscode/tree-sitter-wasm";
import type { OutlineEntry } from "../../contract/context.ts";
import type { OutlinedLanguage } from "./languages.ts";

/** Limits of an outline: entries, visited nodes, and milliseconds of parsing. */
const maxEntries = 1_000;
const maxNodes = 300_000;
const parseMs = 1_000;
const signatureCharacters = 160;

export interface Definitions {
  entries: OutlineEntry[];
  /** Why the outline is incomplete; null when it is complete. */
  problem: string | null;
}

/** Lists the definitions of a source text in order. Text with syntax errors yields the definitions that could be parsed. */
export function findDefinitions(parser: Parser, language: OutlinedLanguage, text: string): Definitions {
  const until = performance.now() + parseMs;
  let late = false;
  const tree = parser.parse(text, null, {
    progressCallback: () => {
      late = performance.now() > until;
      return late;
    },
  });
  if (tree === null) {
    parser.reset();
    return { entries: [], problem: `it took longer than ${String(parseMs / 1000)} s to parse` };
  }
  try {
    const { entries, cut } = walk(tree.rootNode, language);
    if (cut) return { entries, problem: "it exceeds the maximum length of an outline" };
    return { entries, problem: tree.rootNode.hasError ? "it has syntax errors, so some definitions may be missing" : null };
  } finally {
    tree.delete();
  }
}

function walk(root: Node, language: OutlinedLanguage): { entries: OutlineEntry[]; cut: boolean } {
  const entries: OutlineEntry[] = [];
  const stack: { node: Node; depth: number }[] = [{ node: root, depth: 0 }];
  let nodes = 0;
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    nodes += 1;
    if (nodes > maxNodes || entries.length >= maxEntries) return { entries, cut: true };
    const { node, depth } = next;
    // A namespace's block contains definitions, unlike a function's.
    if (language.closed.has(node.type) && !(node.parent?.type ?? "").endsWith("module")) continue;
    const entry = toEntry(node, language, depth);
    if (entry !== null) entries.push(entry);
    const inside = depth + (entry === null ? 0 : 1);
    for (const child of node.namedChildren.toReversed()) if (child !== null) stack.push({ node: child, depth: inside });
  }
  return { entries, cut: false };
}

function toEntry(node: Node, language: OutlinedLanguage, depth: number): OutlineEntry | null {
  const kind = Object.hasOwn(language.definitions, node.type) ? language.definitions[node.type] : undefined;
  if (kind === undefined) return null;
  const name = nameOf(node);
  // In broken source, a parser makes up nodes without text for what it misses.
  if (name === null || name === "") return null;
  const refined = refine(node, kind);
  if (refined === null) return null;
  return {
    name: name.slice(0, 200),
    kind: refined,
    startLine: node.startPosition.row + 1,
    endLine: node.endPosition.row + (node.endPosition.column === 0 && node.endPosition.row > node.startPosition.row ? 0 : 1),
    depth,
    signature: signatureOf(node),
  };
}

/** The node's own name; null when it defines nothing with a name. */
function nameOf(node: Node): string | null {
  switch (node.type) {
    case "impl_item": {
      const type = node.childForFieldName("type")?.text ?? "";
      const trait = node.childForFieldName("trait")?.text;
      return trait === undefined ? type : `${trait} for ${type}`;
    }
    case "rule_set":
    case "media_statement":
    case "supports_statement":
    case "at_rule":
    case "keyframes_statement":
      return oneLine(headOf(node));
    case "assignment":
      return node.childForFieldName("left")?.type === "identifier" ? (node.childForFieldName("left")?.text ?? null) : null;
    case "function_statement":
      return node.namedChildren.find((child) => child?.type === "function_name")?.text ?? null;
    case "class_statement":
    case "enum_statement":
    case "class_method_definition":
      return node.namedChildren.find((child) => child?.type === "simple_name")?.text ?? null;
    case "field_declaration":
    case "property_declaration":
    case "const_declaration":
    case "declaration":
    case "type_definition":
    case "function_definition":
      return node.childForFieldName("name")?.text ?? declaredName(node);
    default:
      return node.childForFieldName("name")?.text ?? node.childForFieldName("property")?.text ?? null;
  }
}

/** The name inside nested declarators, as in C, Java and PHP. */
function declaredName(node: Node): string | null {
  let inner: Node | null = node;
  for (let level = 0; level < 12 && inner !== null; level += 1) {
    if (/(?:^|_)identifier$|^operator_name$|^destructor_name$|^qualified_identifier$|^variable_name$/.test(inner.type) && inner !== node)
      return inner.text;
    const next: Node | null =
      inner.childForFieldName("declarator") ??
      inner.childForFieldName("name") ??
      inner.namedChildren.find((child) => child !== null && /declarator$|_element$/.test(child.type)) ??
      (inner === node ? null : (inner.namedChildren.find((child) => child !== null && /identifier$|_name$/.test(child.type)) ?? null));
    inner = next;
  }
  return null;
}

/** Refines the kind; null for nodes without interest in an outline: variables inside functions, forward declarations of types. */
function refine(node: Node, kind: string): string | null {
  switch (node.type) {
    case "variable_declarator": {
      const value = node.childForFieldName("value")?.type ?? "";
      if (/arrow_function|function/.test(value)) return "function";
      if (value === "class") return "class";
      return node.parent?.type === "lexical_declaration" && node.parent.child(0)?.text === "const" ? "constant" : kind;
    }
    case "public_field_definition":
    case "field_definition":
      return /arrow_function|function/.test(node.childForFieldName("value")?.type ?? "") ? "method" : kind;
    case "assignment":
      return /^(?:module|class_definition)$/.test(node.parent?.parent?.type ?? "") ||
        node.parent?.parent?.parent?.type === "class_definition"
        ? kind
        : null;
    case "type_spec": {
      const type = node.childForFieldName("type")?.type ?? "";
      return type === "struct_type" ? "struct" : type === "interface_type" ? "interface" : kind;
    }
    case "class_specifier":
    case "struct_specifier":
    case "union_specifier":
    case "enum_specifier":
      return node.childForFieldName("body") === null ? null : kind;
    case "declaration":
    case "field_declaration":
      return declaresFunction(node) ? "function" : kind === "declaration" ? null : kind;
    case "function_definition":
      return isMember(node) ? "method" : kind;
    default:
      return kind;
  }
}

function declaresFunction(node: Node): boolean {
  let inner = node.childForFieldName("declarator");
  for (let level = 0; level < 6 && inner !== null; level += 1) {
    if (inner.type === "function_declarator") return true;
    inner = inner.childForFieldName("declarator");
  }
  return false;
}

function isMember(node: Node): boolean {
  const outer = node.parent?.type === "decorated_definition" ? node.parent.parent : node.parent;
  return outer?.type === "field_declaration_list" || outer?.parent?.type === "class_definition";
}

/** The text before the body, on one line. */
function signatureOf(node: Node): string {
  const line = oneLine(headOf(node))
    .trimEnd()
    .replace(/(?:=>|[{:=])$/, "")
    .trimEnd();
  return line.length > signatureCharacters ? `${line.slice(0, signatureCharacters)}…` : line;
}

function headOf(node: Node): string {
  const body =
    node.childForFieldName("body") ??
    node.childForFieldName("value")?.childForFieldName("body") ??
    node.namedChildren.find((child) => child !== null && /block$|_body$|_list$/.test(child.type) && child.type !== "parameter_list") ??
    null;
  const end = body === null ? node.endIndex : body.startIndex;
  return node.text.slice(0, Math.min(end - node.startIndex, 2_000));
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
