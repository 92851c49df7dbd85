import { realpathSync } from "node:fs";
import { isAbsolute } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { createConfigFile } from "../../storage/storage.ts";

export const deployActions = ["build", "test", "package", "deploy"] as const;
export type DeployAction = (typeof deployActions)[number];

const maxSeconds = 3600;

const Command = z.string().trim().min(1).max(10_000);
const fields = {
  command: Command,
  /** Relative to the workspace. */
  folder: z.string().min(1).max(1000).default("."),
  network: z.boolean().default(false),
  timeout_seconds: z.int().min(1).max(maxSeconds).default(600),
};
/** A string is a step with the defaults. */
const orCommand = <S extends z.ZodType>(schema: S) =>
  z.preprocess((written) => (typeof written === "string" ? { command: written } : written), schema);
const Step = orCommand(z.strictObject(fields));
const Deployment = orCommand(
  z.strictObject({
    ...fields,
    /** Runs after the deployment, which is verified when this exits with 0. */
    verify: Command.optional(),
  }),
);
const Steps = z.strictObject({
  build: Step.optional(),
  test: Step.optional(),
  package: Step.optional(),
  deploy: Deployment.optional(),
});
type Written = z.output<typeof Deployment>;
const TargetName = z.string().regex(/^[\w][\w.-]{0,99}$/, "Name a target with letters, digits, dots and dashes.");
const DeployTable = z.strictObject({
  version: z.literal(1),
  workspaces: z
    .record(
      z.string().refine(isAbsolute, "Write the absolute path of the workspace."),
      z.strictObject({ ...Steps.shape, targets: z.record(TargetName, Steps).default({}) }),
    )
    .default({}),
});

/** The command that the user declared for one action. */
export interface DeclaredStep {
  readonly command: string;
  readonly verify: string | null;
  readonly folder: string;
  readonly network: boolean;
  readonly timeoutMs: number;
}

export interface DeployConfig {
  /** @throws LancelotError `not_found` with how to declare it, `unavailable` when the file cannot be used. */
  find(action: DeployAction, target: string | undefined): DeclaredStep;
  /** The declared actions of this workspace, such as "build, deploy (staging)". */
  declared(): readonly string[];
  /** Why the file cannot be used; null when it can. */
  problem(): string | null;
}

/** The user's `config/deploy.yaml`, by workspace. Files in the workspace are never read for it. */
export function createDeployConfig(deps: { dataDir: string; workspace: string | null }): DeployConfig {
  const file = createConfigFile({
    dataDir: deps.dataDir,
    name: "deploy.yaml",
    schema: DeployTable,
    fallback: { version: 1, workspaces: {} },
  });

  function ofWorkspace() {
    const { value } = file.read();
    if (value === null || deps.workspace === null) return null;
    const found = Object.entries(value.workspaces).find(([path]) => samePath(path, deps.workspace ?? ""));
    return found?.[1] ?? null;
  }

  const declared = (): string[] => {
    const own = ofWorkspace();
    if (own === null) return [];
    const names = (steps: z.output<typeof Steps>) => deployActions.filter((action) => steps[action] !== undefined);
    return [
      ...names(own),
      ...Object.entries(own.targets).flatMap(([target, steps]) => names(steps).map((action) => `${action} (${target})`)),
    ];
  };

  return {
    find(action, target) {
      const { problem } = file.read();
      if (problem !== null) throw new LancelotError("unavailable", problem);
      const own = ofWorkspace();
      const targets = new Map(Object.entries(own?.targets ?? {}));
      const step: Written | undefined = target === undefined ? own?.[action] : targets.get(target)?.[action];
      if (step === undefined) throw new LancelotError("not_found", howToDeclare(action, target, declared()));
      const { command, verify = null, folder, network, timeout_seconds } = step;
      return { command, verify, folder, network, timeoutMs: timeout_seconds * 1000 };
    },
    declared,
    problem: () => file.read().problem,
  };
}

function howToDeclare(action: DeployAction, target: string | undefined, declared: readonly string[]): string {
  const what = `${action}${target === undefined ? "" : ` for ${target}`}`;
  const there = declared.length === 0 ? "Nothing is declared for this workspace." : `Declared: ${declared.join(", ")}.`;
  return (
    `The user has not declared a command to ${what}. ${there} ` +
    `The user can declare it in config/deploy.yaml in Lancelot's data folder, under workspaces and this workspace's path: ` +
    `${target === undefined ? `"${action}: the command"` : `"targets: { ${target}: { ${action}: the command } }"`}. Nothing ran.`
  );
}

function samePath(declared: string, workspace: string): boolean {
  if (declared === workspace) return true;
  try {
    return realpathSync(declared) === workspace;
  } catch {
    return false;
  }
}
