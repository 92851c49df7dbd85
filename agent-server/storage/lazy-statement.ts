import type Database from "better-sqlite3";
import { toUserError } from "./sqlite-errors.ts";

type Statement = Database.Statement;
const delegated = ["run", "get", "all", "iterate", "columns", "raw", "expand", "safeIntegers", "bind"] as const;

/**
 * Makes `db.prepare` compile a statement when it is first used. Modules prepare their statements when they are created, and most starts
 * use few of them: compiling all took a sixth of the host's start.
 */
export function prepareOnFirstUse(db: Database.Database): void {
  const prepare = db.prepare.bind(db);
  const lazily = (sql: string): Statement => lazyStatement(() => prepare(sql));
  db.prepare = lazily as typeof db.prepare;
}

function lazyStatement(prepare: () => Statement): Statement {
  let plucks = false;
  const lazy: Record<string, unknown> = {
    pluck: (toggle = true) => {
      plucks = toggle;
      return lazy;
    },
  };
  // The real methods replace these at the first call, so that later calls cost nothing more.
  const compile = (): void => {
    const statement = prepare();
    if (plucks) statement.pluck();
    lazy["pluck"] = statement.pluck.bind(statement);
    for (const method of delegated) lazy[method] = statement[method].bind(statement);
    // A write outside of a transaction fails in the same words as one in it.
    lazy["run"] = (...values: unknown[]) => {
      try {
        return statement.run(...values);
      } catch (error) {
        throw toUserError(error);
      }
    };
  };
  for (const method of delegated) {
    lazy[method] = (...values: unknown[]) => {
      compile();
      return (lazy[method] as (...of: unknown[]) => unknown)(...values);
    };
  }
  return lazy as unknown as Statement;
}
