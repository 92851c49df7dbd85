/** A criterion that evidence can decide. */
export type Check =
  | { kind: "command"; command: string; exitCode: number }
  | { kind: "tests"; atLeast: number }
  | { kind: "exists"; path: string; exists: boolean }
  | { kind: "contains"; path: string; text: string; contains: boolean }
  | { kind: "changed"; path: string };

const quoted = String.raw`(?:\`([^\`]{1,1000})\`|"([^"]{1,1000})"|'([^']{1,1000})')`;
const file = String.raw`(?:the )?(?:file )?(?:\`([^\`]{1,500})\`|([\w./@-]{1,300}\.\w{1,10}|[\w.@-]{1,100}/[\w./@-]{1,300}))`;
const passing = String.raw`(?:(?:still )?(?:pass(?:es)?|succeeds?)|(?:is|are) green|runs? without (?:an )?errors?|exits? with (?:code )?(\d{1,3}))`;

const command = new RegExp(
  String.raw`^(?:running )?(?:\`([^\`]{1,1000})\`|((?:npm|npx|pnpm|yarn|node|python3?|pytest|go|cargo|make|mvn|gradle|\./gradlew|tsc|bundle|rspec|composer|dotnet) [\w ./:=@-]{1,300}?|pytest|rspec|tsc|make)) ${passing}\.?$`,
  "i",
);
const tests =
  /^(?:all )?(?:of )?(?:the )?(?:(\d{1,6}) )?(?:(?:unit|existing|new|integration|project's) )?tests? (?:still )?(?:pass|passes|succeed|are green)\.?$/i;
const present = new RegExp(String.raw`^${file} (?:exists|is created|was created|is present)\.?$`, "i");
const absent = new RegExp(String.raw`^${file} (?:does not exist|no longer exists|is deleted|is removed|was deleted|was removed)\.?$`, "i");
const containing = new RegExp(String.raw`^${file} (contains|includes|does not contain|no longer contains) ${quoted}\.?$`, "i");
const changed = new RegExp(String.raw`^${file} (?:is|was) (?:changed|modified|updated|edited)\.?$`, "i");

/** Reads a criterion that evidence can decide; null for one that needs a judgement. */
export function readCriterion(criterion: string): Check | null {
  const text = criterion.trim().replaceAll(/\s+/g, " ");
  const run = command.exec(text);
  if (run !== null) return { kind: "command", command: (run[1] ?? run[2] ?? "").trim(), exitCode: Number(run[3] ?? 0) };
  const suite = tests.exec(text);
  if (suite !== null) return { kind: "tests", atLeast: Number(suite[1] ?? 1) };
  const there = present.exec(text);
  if (there !== null) return { kind: "exists", path: there[1] ?? there[2] ?? "", exists: true };
  const gone = absent.exec(text);
  if (gone !== null) return { kind: "exists", path: gone[1] ?? gone[2] ?? "", exists: false };
  const has = containing.exec(text);
  if (has !== null) {
    const [, one, other, verb = "", ...texts] = has;
    return {
      kind: "contains",
      path: one ?? other ?? "",
      text: texts.find((found) => found !== undefined) ?? "",
      contains: !/not|longer/i.test(verb),
    };
  }
  const edited = changed.exec(text);
  return edited === null ? null : { kind: "changed", path: edited[1] ?? edited[2] ?? "" };
}
