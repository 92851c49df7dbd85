import { startRunawayHost } from "../support/host/runaway-host.ts";
import { type BenchRow, quick } from "./bench-row.ts";

const rounds = quick ? 3 : 10;
/** What the model sends while the user stops the task: nothing, and without end. */
const quiet = "silence";
const loads = ["text in small pieces", "text and thinking in turn", "unknown events", "comments"];

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** How long stopping a task takes while its model floods the host, beside a task whose model is silent. The model is a process of its own. */
export async function run(): Promise<BenchRow[]> {
  const host = await startRunawayHost();
  const stop = async (kind: string): Promise<number | null> => {
    const questId = await host.sendAndWait(kind);
    // The flood is under way.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const from = performance.now();
    const { status } = await host.cancel(questId);
    const took = performance.now() - from;
    return status === "cancelled" ? took : null;
  };
  try {
    const times = new Map([quiet, ...loads].map((kind) => [kind, [] as number[]]));
    for (let round = -1; round < rounds; round += 1)
      for (const [kind, list] of times) {
        const took = await stop(kind);
        if (round >= 0 && took !== null) list.push(took);
      }
    const bare = median(times.get(quiet) ?? []);
    return loads.map((kind) => {
      const list = times.get(kind) ?? [];
      const ours = median(list);
      return {
        name: `stop: ${kind}`,
        ours,
        bare,
        ratio: ours / bare,
        unit: "ms",
        note: `at most ${Math.max(...list).toFixed(0)} ms in ${list.length} of ${rounds} tasks that still ran; beside a silent model`,
      };
    });
  } finally {
    await host.stop();
  }
}
