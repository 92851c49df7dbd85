import type { SandboxState } from "../contract/providers.ts";

/** State and controls of the container sandbox: engine, image and container. */
export interface SandboxControl {
  /** The sandbox's own part of the state; the router decides where commands run. */
  state(): Pick<SandboxState, "engine" | "image" | "container" | "limits" | "network">;
  /** Starts a build and returns when it has started. @throws LancelotError. */
  build(): Promise<void>;
  cancelBuild(): Promise<void>;
  restart(): Promise<void>;
  onChange(listener: () => void): () => void;
}
