import { asks, type Finding, alwaysAsks } from "./command-findings.ts";
import type { PathUse } from "./types.ts";
import type { EntryType } from "../path-resolution.ts";

export const deleteOne = "Delete single files with delete_file, which can be undone.";

/** Files that a build or a test run recreates. */
const scratch =
  /(?:^|\/)(?:dist|out|build|target|coverage|\.nyc_output|node_modules|tmp|temp|logs?|\.cache|\.turbo|\.next|\.nuxt|\.svelte-kit|\.parcel-cache|\.vite|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.gradle|test-results|test-output|playwright-report|storybook-static|htmlcov|\.eggs|[^/]+\.egg-info)(?:\/|$)|\.(?:log|tmp|pyc|tsbuildinfo)$/;

/** Data files, which no program runs or reads as settings. */
const ordinaryOutput =
  /^(?!(?:.*\/)?\.)(?!.*(?:require|constraint|cmake|config|rule|instruction|prompt|manifest|robots|allow|deny|ignore|list|schema|node_modules|site-packages))(?:.*\/)?[^/]*(?:\.(?:log|txt|out|tmp|csv|tsv|jsonl|html|svg|diff|patch|prof)|(?:report|result|results|output|out|stats|coverage|audit|bench|dump)[^/]*\.json)$/;

/** Judges writing, changing or deleting a regular workspace file. `display` is its path from the workspace root. */
export function judgeInsideWrite(path: string, type: EntryType, use: PathUse, display: string): Finding[] {
  const isNew = type === "missing";
  const isScratch = scratch.test(display);
  switch (use) {
    case "create":
      return [];
    case "output":
      return isNew || isScratch || (type === "file" && !/\.[a-z]{1,5}$/i.test(display))
        ? []
        : [asks("overwrite", `Overwrites ${path} without review.`, ["Name another file for the result."], ["write"])];
    case "delete":
      return [
        isScratch
          ? asks("delete-scratch", `Deletes ${path}, which a build can recreate.`, [deleteOne], ["delete"])
          : alwaysAsks("delete", `Deletes ${path}.`, [deleteOne], ["delete"]),
      ];
    case "delete-tree":
      return [
        isScratch
          ? asks("delete-scratch", `Deletes ${path}, which a build can recreate.`, [deleteOne], ["delete"])
          : alwaysAsks("delete-tree", `Deletes ${path} and everything below it.`, [deleteOne], ["delete", "destroy"]),
      ];
    case "change":
    case "change-tree":
      return [asks("change", `Changes ${path} in place.`, ["Change files with edit_file, so that the change can be reviewed."], ["write"])];
    case "write":
    case "read":
    case "list":
    case "search":
    case "maybe":
    default:
      if (ordinaryOutput.test(display.toLowerCase()) && (isNew || scratch.test(display))) return [];
      return [
        isNew
          ? asks(
              "new-file",
              `Writes the new file ${path} without review.`,
              ["Write files with write_file, so that the change can be reviewed."],
              ["write"],
            )
          : asks(
              "overwrite",
              `Overwrites ${path} without review.`,
              ["Change files with edit_file, so that the change can be reviewed."],
              ["write"],
            ),
      ];
  }
}
