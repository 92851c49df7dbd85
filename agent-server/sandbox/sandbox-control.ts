import type { SandboxState } from "../contract/providers.ts";

/** The container's engine, image and state, and what the owner can do with them. */
export interface SandboxControl {
  /** Where commands run is the router's business; this is what it knows of its own. */
  state(): Pick<SandboxState, "engine" | "image" | "container" | "limits" | "network">;
  /** Begins to build the image; comes back when it has begun. @throws LancelotError. */
  build(): Promise<void>;
  cancelBuild(): Promise<void>;
  restart(): Promise<void>;
  onChange(listener: () => void): () => void;
}
