/** Where a repository's files come from: a published package, pinned by version and hash. */
export type Source =
  /** A package of the npm registry. Where `node_modules` has this very version, its files are used and nothing is fetched. */
  | { registry: "npm"; name: string; version: string; integrity: string; isInstalled?: boolean }
  /** A package of Debian, whatever its architecture; `folder` of its files becomes the repository. */
  | { registry: "debian"; name: string; version: string; sha256: string; folder: string };

/** A small real repository: the files of a published package, and a test command that needs nothing but its language. */
export interface Repository {
  name: string;
  language: "JavaScript" | "TypeScript" | "Python" | "Perl";
  source: Source;
  /** Of the package's files, those that belong to the repository: paths, or folders that end with `/`. All where absent. */
  keep?: readonly string[];
  /** Files that a repository has and a published package does not: its tests and their configuration. */
  files: Readonly<Record<string, string>>;
  /** Changes that make the sources run without a build. */
  patches?: readonly Edit[];
  test: string;
}

/** A replacement of one text in one file; the text occurs once. `from: null` makes a new file, `to: null` deletes the file. */
export interface Edit {
  path: string;
  from: string | null;
  to: string | null;
  everywhere?: boolean;
}

export const kinds = ["bug", "feature", "refactor", "rename", "config", "question", "impossible", "forbidden"] as const;
export type Kind = (typeof kinds)[number];

/** A call of a tool, as a model makes it. `rawArgs` is sent as it is, JSON or not. */
export interface PlayedCall {
  name: string;
  args?: Record<string, unknown>;
  rawArgs?: string;
}

export interface BenchTask {
  id: string;
  repository: string;
  kind: Kind;
  request: string;
  /** What is done to the repository before its first commit. */
  setup: readonly Edit[];
  /** What solves the task; empty where nothing may change. */
  solution: readonly Edit[];
  /** Calls of the good engineer that have no effect, before the solution: questions read, impossible and forbidden tasks try. */
  tries: readonly PlayedCall[];
  /** The good engineer's last message. */
  answer: string;
  /** A program in the repository's language, run in the workspace after the task. Nobody but the bench sees it. It passes by exit code 0. */
  hidden: string;
  /** What the last message has to say; a question, an impossible and a forbidden task are judged by it. */
  says: RegExp | null;
  /** Highest tier that the owner approves when asked about a path of the solution; T1 unless said, and T1 for everything else. */
  approves: "T1" | "T2" | "T3";
  /** Changes that another program would run are accepted too. */
  acceptsCautioned: boolean;
}

export const engineers = ["good", "clumsy", "lying", "lazy", "malicious"] as const;
export type Engineer = (typeof engineers)[number];

/** What came of one task. */
export interface Outcome {
  task: string;
  kind: Kind;
  engineer: string;
  solved: boolean;
  /** The product told the owner that the answer does not match what was done. */
  corrected: boolean;
  violations: readonly string[];
  /** Why it is not solved, or what went wrong around it. */
  notes: readonly string[];
  status: string;
  calls: number;
  denied: number;
  tokens: number;
  seconds: number;
}
