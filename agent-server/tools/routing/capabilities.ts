import type { CommandPlace, ProviderHealth } from "../../contract/providers.ts";
import type { FlagName } from "../../flags/flags.ts";
import type { Git, SearchQuery, WorkspaceFiles } from "../../workspace/workspace.ts";
import type { WebFile, WebPage, WebRequest, WebSent } from "../providers/web-types.ts";
import type { ShellCommand, ShellResult } from "../../sandbox/sandbox.ts";
import type { SearchMatch } from "../../contract/tools.ts";
import type { DeclaredStep, DeployAction } from "../providers/deploy-config.ts";

/** A repository, opened so that nothing of it is executed. @throws LancelotError as `openGit`. */
type OpenRepository = (workspace: string, signal: AbortSignal) => Promise<Git>;

/** A new part of an application from a template: the files it would have, by their path in the target folder. */
type Scaffold = (request: {
  readonly template: string;
  readonly name: string;
  readonly signal: AbortSignal;
}) => Promise<ReadonlyMap<string, Uint8Array>>;

/** A page as it is seen, with the picture that proves it. */
interface Seen {
  /** PNG. */
  readonly picture: Uint8Array;
  readonly sha256: string;
  readonly url: string;
}

interface Spot {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * The seven capabilities (requirement T1): what each of their actions takes and gives. A provider implements any of them; the names
 * of its functions are the actions it declares.
 */
export interface CapabilityActions {
  readonly shell_exec: { readonly run: (command: ShellCommand) => Promise<ShellResult> };
  readonly repo_ops: {
    readonly status: OpenRepository;
    readonly diff: OpenRepository;
    readonly log: OpenRepository;
    readonly commit: OpenRepository;
    readonly branch: OpenRepository;
    readonly checkout: OpenRepository;
    readonly push: OpenRepository;
    readonly clone: OpenRepository;
  };
  readonly file_ops: {
    readonly read: WorkspaceFiles["current"];
    readonly write: WorkspaceFiles["write"];
    readonly apply_patch: WorkspaceFiles["write"];
    readonly delete: WorkspaceFiles["writeBytes"];
    /** Names that contain the query. */
    readonly list: (query: string, limit: number, signal: AbortSignal) => Promise<string[]>;
    readonly search: (query: SearchQuery, signal: AbortSignal) => Promise<{ items: SearchMatch[]; truncated: boolean }>;
  };
  readonly web_ops: {
    readonly fetch: (request: WebRequest) => Promise<WebPage>;
    readonly download: (request: WebRequest) => Promise<WebFile>;
    readonly post: (request: WebRequest & { readonly body: string; readonly type: string }) => Promise<WebSent>;
  };
  readonly ui_builder: { readonly scaffold: Scaffold };
  readonly deploy_ops: Readonly<Record<DeployAction, (target: string | undefined) => DeclaredStep>>;
  readonly vision_control: {
    readonly capture_screen: (page: { readonly url: string; readonly signal: AbortSignal }) => Promise<Seen>;
    readonly locate_element: (of: { readonly description: string; readonly signal: AbortSignal }) => Promise<Spot | null>;
    readonly perform_action: (act: {
      readonly action: "click" | "type" | "scroll";
      readonly spot: Spot;
      readonly signal: AbortSignal;
    }) => Promise<Seen>;
    readonly verify_state: (of: {
      readonly description: string;
      readonly signal: AbortSignal;
    }) => Promise<{ readonly holds: boolean; readonly seen: Seen }>;
  };
}

export type Capability = keyof CapabilityActions;
export type ActionOf<C extends Capability> = keyof CapabilityActions[C] & string;

/** Every capability, and what the owner is told where nothing provides it. */
export const capabilities: Readonly<Record<Capability, { readonly title: string; readonly missing: string }>> = {
  shell_exec: {
    title: "running commands",
    missing: "Nothing here can run commands. Install Docker, Podman or bubblewrap and start Lancelot again; Lancelot: Doctor says more.",
  },
  repo_ops: { title: "git", missing: "Git is not installed. Install git and try again." },
  file_ops: { title: "files", missing: "No folder is open, so there are no files to work on. Open a folder first." },
  web_ops: { title: "the web", missing: "This version does not do that with pages. Ask the owner to paste what is needed." },
  ui_builder: {
    title: "building user interfaces",
    missing: "Scaffolding of user interfaces is not part of this version. Write the files with write_file instead.",
  },
  deploy_ops: { title: "building and deploying", missing: "Nothing here can build or deploy. Give the owner the command to run." },
  vision_control: {
    title: "seeing and operating screens",
    missing: "Seeing and operating screens is not part of this version. Ask the owner to look, or to paste what is shown.",
  },
};

export function isCapability(name: string): name is Capability {
  return Object.hasOwn(capabilities, name);
}

/** What a task is like, as far as it counts for where its work is done. */
export interface TaskProfile {
  /** It needs hosts of the network policy. */
  readonly network: boolean;
  /** Nobody is there to look at what happens. */
  readonly unattended: boolean;
}

/** What carries out actions. Everything it does was judged, approved and written down before. */
export interface ToolProvider {
  readonly id: string;
  readonly title: string;
  /** Null while it is not known: it was not reached yet. */
  version(): string | null;
  /** The actions it implements, by capability. */
  readonly offers: { readonly [C in Capability]?: Partial<CapabilityActions[C]> };
  /** Lower is tried first. */
  readonly priority: number;
  /** Works on this machine alone, so safe mode leaves it. */
  local(): boolean;
  /** Flag that must be on; null when none. */
  readonly flag: FlagName | null;
  /** Where it runs commands; absent where it runs none. */
  readonly place?: CommandPlace;
  /** False: never taken in place of another that failed, only when it was chosen and the owner told. */
  readonly stepsIn?: boolean;
  /** Why it does not suit a task, in words; null when it does. */
  unsuited?(profile: TaskProfile): string | null;
  /** True for an error that is its own fault. Unless given: what says nothing about what was asked of it. */
  blames?(error: unknown): boolean;
  /** Looks now whether it works. What it throws, and not answering, count as down. */
  probe(signal: AbortSignal): Promise<Pick<ProviderHealth, "status" | "message" | "nextStep">>;
}

/** The actions a provider declares for a capability. */
export function actionsOf(provider: ToolProvider, capability: Capability): string[] {
  return Object.keys(provider.offers[capability] ?? {});
}
