import type { TraceNode } from "../../../agent-server/contract/receipts.ts";

/** One visible line of a trace tree. */
export interface TraceLine {
  readonly node: TraceNode;
  /** Starts at 1. */
  readonly level: number;
  readonly position: number;
  readonly siblings: number;
  readonly parentId: string | null;
}

/** Returns the visible lines of a tree whose `closed` nodes are collapsed. */
export function visibleLines(roots: readonly TraceNode[], closed: ReadonlySet<string>): TraceLine[] {
  const lines: TraceLine[] = [];
  const walk = (nodes: readonly TraceNode[], level: number, parentId: string | null): void => {
    nodes.forEach((node, index) => {
      lines.push({ node, level, position: index + 1, siblings: nodes.length, parentId });
      if (!closed.has(node.receipt.id)) walk(node.children, level + 1, node.receipt.id);
    });
  };
  walk(roots, 1, null);
  return lines;
}

/** In milliseconds since the epoch. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the time range of a trace. An open receipt extends to the last known time. */
export function spanOf(roots: readonly TraceNode[]): Span {
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  const walk = (node: TraceNode): void => {
    const from = Date.parse(node.receipt.timestamp);
    start = Math.min(start, from);
    end = Math.max(end, from + (node.receipt.durationMs ?? 0));
    node.children.forEach(walk);
  };
  roots.forEach(walk);
  return start <= end ? { start, end } : { start: 0, end: 0 };
}

/** Returns the position of a bar on the timeline, in percent. A bar is always visible and never exceeds the end. */
export function barOf(node: TraceNode, span: Span): { left: number; width: number } {
  const total = span.end - span.start;
  if (total <= 0) return { left: 0, width: 100 };
  const from = Date.parse(node.receipt.timestamp) - span.start;
  const length = node.receipt.durationMs ?? total - from;
  const width = Math.min(100, Math.max(1, (length / total) * 100));
  return { left: Math.min(100 - width, Math.max(0, (from / total) * 100)), width };
}

export type TreeMove = { kind: "go"; id: string } | { kind: "open"; id: string } | { kind: "close"; id: string };

/** Returns the action of a key in the tree, as the WAI-ARIA tree pattern defines it; null for any other key. */
export function treeKey(key: string, lines: readonly TraceLine[], currentId: string, closed: ReadonlySet<string>): TreeMove | null {
  const index = lines.findIndex((line) => line.node.receipt.id === currentId);
  const line = lines[index];
  if (line === undefined) return null;
  const go = (target: TraceLine | undefined): TreeMove | null => (target === undefined ? null : { kind: "go", id: target.node.receipt.id });
  const folded = closed.has(currentId);
  const parent = line.node.children.length > 0;
  switch (key) {
    case "ArrowDown":
      return go(lines[index + 1]);
    case "ArrowUp":
      return go(lines[index - 1]);
    case "Home":
      return go(lines[0]);
    case "End":
      return go(lines.at(-1));
    case "ArrowRight":
      if (!parent) return null;
      return folded ? { kind: "open", id: currentId } : go(lines[index + 1]);
    case "ArrowLeft":
      if (parent && !folded) return { kind: "close", id: currentId };
      return line.parentId === null ? null : { kind: "go", id: line.parentId };
    default:
      return null;
  }
}
