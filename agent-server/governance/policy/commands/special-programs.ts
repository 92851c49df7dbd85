import type { SpecialProgram } from "./program-call.ts";
import { environment } from "./env-program.ts";
import { awk, copy, dashed, dd, grep, remove, sed } from "./text-programs.ts";
import {
  goals,
  interpreter,
  makeTargets,
  moduleLast,
  packageRunner,
  packageScripts,
  projectRunner,
  testRunner,
} from "./runner-programs.ts";
import { channel, container, namesLookup, remoteCopy, transfer, git } from "./service-programs.ts";
import {
  changeFolder,
  commandBuiltin,
  condition,
  declare,
  evaluate,
  shell,
  shellSettings,
  sourceFile,
  sums,
  variableNames,
} from "./shell-builtins.ts";
import { elevate, fd, find, isolate, lock, prefix, xargs } from "./wrapper-programs.ts";

/** Programs with a special syntax, by their name in the table. */
export const specialPrograms: Readonly<Record<string, SpecialProgram>> = {
  cd: { judge: changeFolder },
  env: { judge: environment },
  shell: { judge: shell },
  eval: { judge: evaluate },
  source: { judge: sourceFile },
  let: { judge: sums },
  command: { judge: commandBuiltin },
  declare: { judge: declare },
  names: { judge: variableNames },
  prefix: { judge: prefix },
  "shell-settings": { judge: shellSettings },
  condition: { judge: condition },
  elevate: { judge: elevate },
  flock: { judge: lock },
  isolate: { judge: isolate },
  xargs: { judge: xargs },
  find: { judge: find },
  fd: { judge: fd },
  grep: { judge: grep },
  sed: { judge: sed },
  awk: { judge: awk },
  tar: { prepare: dashed },
  dd: { judge: dd },
  rm: { judge: remove },
  copy: { judge: copy },
  git: { judge: git },
  scripts: { judge: packageScripts },
  interpreter: { prepare: moduleLast, judge: interpreter },
  "package-runner": { judge: packageRunner },
  "project-runner": { judge: projectRunner },
  tests: { judge: testRunner },
  goals: { judge: goals },
  targets: { judge: makeTargets },
  container: { judge: container },
  transfer: { judge: transfer },
  channel: { judge: channel },
  "remote-copy": { judge: remoteCopy },
  "names-lookup": { judge: namesLookup },
};
