// Every repository and every task of the benchmark.
import * as bytes from "./sets/bytes.ts";
import * as ini from "./sets/ini.ts";
import * as minimist from "./sets/minimist.ts";
import * as ms from "./sets/ms.ts";
import * as mustache from "./sets/mustache.ts";
import * as perl from "./sets/perl.ts";
import * as picomatch from "./sets/picomatch.ts";
import * as python from "./sets/python.ts";
import * as semver from "./sets/semver.ts";
import * as slugify from "./sets/slugify.ts";
import * as typescript from "./sets/typescript.ts";
import type { BenchTask, Repository } from "./types.ts";

const sets = [semver, ms, ini, minimist, bytes, picomatch, mustache, slugify, perl];

export const repositories: readonly Repository[] = [
  ...sets.map(({ repository }) => repository),
  ...typescript.repositories,
  ...python.repositories,
];

export const tasks: readonly BenchTask[] = [...sets.flatMap((set) => set.tasks), ...typescript.tasks, ...python.tasks];

/** The repository of a task. @throws Error when there is none */
export function repositoryOf(task: Pick<BenchTask, "repository">): Repository {
  const found = repositories.find(({ name }) => name === task.repository);
  if (found === undefined) throw new Error(`There is no repository ${task.repository}.`);
  return found;
}
