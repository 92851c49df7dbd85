import type { OverlayView } from "../../workspace/workspace.ts";
import type { BackgroundProcess } from "../shell-provider.ts";
import { forwarderPort } from "./inner-script.ts";
import { listeningPorts } from "./listening-ports.ts";
import { untilGone } from "./namespace-process.ts";
import { pauseProcesses } from "./pause-processes.ts";
import { type CommandNetwork, forwardInside } from "./view-network.ts";

/** @param of the first process of the command's namespace, its network, and how to end it when it cannot be paused */
export function createBackgroundProcess(of: {
  readonly view: OverlayView;
  readonly network: CommandNetwork;
  readonly first: { readonly pid: number; readonly startedAt: string };
  readonly env: NodeJS.ProcessEnv;
  /** True when a forwarder to the egress proxy listens in it. */
  readonly hasForwarder: boolean;
  readonly end: () => void;
}): BackgroundProcess {
  const { view, network, first, env } = of;
  return {
    async pause() {
      const paused = await pauseProcesses(first.pid);
      if (paused === null) {
        of.end();
        await untilGone(first);
        return () => undefined;
      }
      return () => {
        // A program that ran in the meantime could have changed the files that were read.
        if (!paused.resume()) of.end();
      };
    },
    ports: () => listeningPorts(first.pid).filter(({ port }) => !of.hasForwarder || port !== forwarderPort),
    forward: (port, client) => forwardInside(view, network.descriptor, port, { client, env }),
  };
}
