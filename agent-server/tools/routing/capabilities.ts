import type { CommandPlace, Containment, ProviderHealth } from "../../contract/providers.ts";
import type { FlagName } from "../../flags/flags.ts";
import type { Git, OpenView, SearchQuery, WorkspaceFiles } from "../../workspace/workspace.ts";
import type { WebFile, WebPage, WebRequest, WebSent } from "../providers/web-types.ts";
import type { ShellCommand, ShellResult } from "../../sandbox/sandbox.ts";
import type { SearchMatch } from "../../contract/tools.ts";
import type { DeclaredStep, DeployAction } from "../providers/deploy-config.ts";

/** Opens a repository without executing anything in it. @throws LancelotError as `openGit`. */
type OpenRepository = (workspace: string, signal: AbortSignal) => Promise<Git>;

/** Renders a template to files, by their path in the target folder. */
type Scaffold = (request: {
  readonly template: string;
  readonly name: string;
  readonly signal: AbortSignal;
}) => Promise<ReadonlyMap<string, Uint8Array>>;

/** A screenshot of a page. */
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
 * The input and output of each action of the seven capabilities (requirement T1). The names of the functions a provider implements
 * are the actions it declares.
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

/** Every capability, with the message for actions that no provider implements. */
export const capabilities: Readonly<Record<Capability, { readonly title: string; readonly missing: string }>> = {
  shell_exec: {
    title: "running commands",
    missing:
      "Commands cannot run on this machine. Install Docker, Podman or bubblewrap and restart Lancelot. Run Lancelot: Doctor for details.",
  },
  repo_ops: { title: "git", missing: "Git is not installed. Install git and try again." },
  file_ops: { title: "files", missing: "No folder is open, so there are no files to work on. Open a folder first." },
  web_ops: { title: "the web", missing: "This version does not support that web action. Ask the user to paste the content." },
  ui_builder: {
    title: "building user interfaces",
    missing: "Scaffolding of user interfaces is not part of this version. Write the files with write_file instead.",
  },
  deploy_ops: { title: "building and deploying", missing: "This machine cannot build or deploy. Give the user the command to run." },
  vision_control: {
    title: "seeing and operating screens",
    missing: "Seeing and operating screens is not part of this version. Ask the user to describe or paste the content of the screen.",
  },
};

export function isCapability(name: string): name is Capability {
  return Object.hasOwn(capabilities, name);
}

/** The properties of a task that affect which providers suit it. */
export interface TaskProfile {
  /** It needs the hosts in the network policy. */
  readonly network: boolean;
  /** No user is present to approve or watch it. */
  readonly unattended: boolean;
  /** It keeps running beside other commands of its task. */
  readonly background?: boolean;
}

/** Runs actions. The pipeline has authorized and recorded each of them before. */
export interface ToolProvider {
  readonly id: string;
  readonly title: string;
  /** Null until the provider was reached. */
  version(): string | null;
  /** The actions it implements, by capability. */
  readonly offers: { readonly [C in Capability]?: Partial<CapabilityActions[C]> };
  /** Lower is tried first. */
  readonly priority: number;
  /** True when it works on this machine only, so safe mode allows it. */
  local(): boolean;
  /** Flag that must be on; null when none. */
  readonly flag: FlagName | null;
  /** Where it runs commands; absent when it runs none. */
  readonly place?: CommandPlace;
  /** The level of containment of its commands, as of the last check; absent when it runs none. */
  containment?(): Containment;
  /** Opens the view of a task for its commands; absent where it has none. */
  readonly openView?: OpenView;
  /** False: never used for failover, only when it was chosen first and shown to the user. */
  readonly allowsFailover?: boolean;
  /** Why it does not suit a task; null when it does. */
  unsuited?(profile: TaskProfile): string | null;
  /** True for errors that the provider caused. The default excludes errors about the request, see `isFault`. */
  blames?(error: unknown): boolean;
  /** Checks its health now. An error and a timeout count as down. */
  probe(signal: AbortSignal): Promise<Pick<ProviderHealth, "status" | "message" | "nextStep">>;
}

export function actionsOf(provider: ToolProvider, capability: Capability): string[] {
  return Object.keys(provider.offers[capability] ?? {});
}
