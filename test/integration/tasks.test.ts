// @module-tag sandbox
import { createOsShell } from "../../agent-server/sandbox/os-sandbox.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { taskCases } from "../support/tasks/task-cases.ts";

taskCases("commands of a task", ({ workspace, dataDir }) =>
  createOsShell({
    ...{ workspace, dataDir, egress: null },
    limits: () => isolationLimits,
    protectedPaths: () => [],
    masked: () => Promise.resolve({ files: [], folders: [] }),
    log: () => undefined,
  }),
);
