import type { WorkStateReader } from "../../../agent-server/context/context.ts";
import { createPlans, createRoutedLoop } from "../../../agent-server/plans/plans.ts";
import { runLoop } from "../../../agent-server/turn/turn.ts";
import { type makeFolders, openHost } from "./harness.ts";
import { recordingTools } from "./recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "./scripted-models.ts";

/** The files of the plan. */
export const paths = ["one.txt", "two.txt"];
export const proposal = {
  goal: "Make two files",
  context: "There are none.",
  steps: paths.map((path) => ({
    title: `Make ${path}`,
    doneWhen: [`\`${path}\` exists`],
    actions: [{ tool: "write_file", target: path }],
  })),
  doneWhen: ["`two.txt` exists"],
};

/** Proposes the plan while one is asked for, and writes the file of each attempt at a step once. */
const model: Answer = (request, signal) => {
  if (request.tools.some(({ name }) => name === "propose_plan")) return calls(["propose_plan", proposal])(request, signal);
  const shown = request.messages.map((message) => JSON.stringify(message));
  const at = shown.findLastIndex((text) => text.includes("of the approved plan: "));
  const path = paths.find((one) => shown[at]?.includes(`of the approved plan: Make ${one}`) === true);
  const called = shown.slice(at + 1).some((text) => text.includes(`"write_file"`));
  return (path === undefined || called ? says("Finished.") : calls(["write_file", { path }]))(request, signal);
};

/**
 * A host whose model makes a plan of two files and follows it. The files that exist are the paths in `effects`; `look` is called before and
 * after each effect.
 */
export function openPlanned(
  at: ReturnType<typeof makeFolders>,
  effects: string[],
  look: () => void,
  workState: WorkStateReader | null = null,
) {
  const pathOf = (args: unknown): string => (args as { path: string }).path;
  const recorded = recordingTools({
    read_file: {
      tier: "T0",
      effect: ({ args }) => (effects.includes(pathOf(args)) ? { text: "1\tmade" } : { text: "There is no such file.", isError: true }),
    },
    write_file: {
      tier: "T1",
      effect: ({ args }) => {
        look();
        effects.push(pathOf(args));
        look();
        return { text: "Written." };
      },
    },
    propose_plan: {
      tier: "T0",
      capability: "quest",
      effect: ({ args, proposePlan }) => {
        const { text = "No plan is asked for.", accepted = false } = proposePlan?.(args as typeof proposal) ?? {};
        return { text, isError: !accepted };
      },
    },
  });
  const scripted = scriptedModels(Array.from({ length: 40 }, () => model));
  let list: ReturnType<typeof createPlans>["store"]["list"] = () => [];
  const host = openHost(at, scripted.models, recorded.tools, ({ storage, emit }) => {
    const plans = createPlans({ storage, emit, workspace: at.workspace, runLoop });
    list = plans.store.list;
    const askIntent = () => Promise.resolve({ told: null, local: null });
    return { runLoop: createRoutedLoop({ ...plans, isEnabled: () => true, askIntent }), ...(workState === null ? {} : { workState }) };
  });
  return { ...host, requests: scripted.requests, plansOf: (questId: string) => list({ questId, limit: 50 }) };
}
