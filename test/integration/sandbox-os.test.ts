import { findControlGroups } from "../../agent-server/tools/sandbox/os/control-groups.ts";
import { isolationCases } from "../support/sandbox/isolation.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";

// As whoever runs the tests: in CI root, in a workspace of somebody else's.
isolationCases("bubblewrap", {
  memoryEnds: process.getuid?.() === 0 && findControlGroups() !== null ? "memory" : "exit",
  open: (room, limits) => Promise.resolve(openOsShell(room, { limits: () => limits })),
});
