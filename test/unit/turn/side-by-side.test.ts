import { expect, it } from "vitest";
import { runInOrder } from "../../../agent-server/turn/side-by-side.ts";

const subtask = (id: string, ...allowed: string[]) => ({ id, name: "spawn_subtask", args: allowed.length === 0 ? {} : { allowed } });
const other = (id: string) => ({ id, name: "edit_file", args: {} });
type Call = ReturnType<typeof subtask> | ReturnType<typeof other>;

/** Runs calls that end only when the test ends them. @returns which began before which of them was ended */
function hold(calls: Call[]) {
  const began: string[] = [];
  const open = new Map<string, { resolve(): void; reject(error: Error): void }>();
  const all = runInOrder(calls, ({ id }) => {
    began.push(id);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    open.set(id, { resolve, reject });
    return promise;
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    all,
    began: async () => (await settled(), began.join("")),
    end: (id: string) => open.get(id)?.resolve(),
    fail: (id: string) => open.get(id)?.reject(new Error(id)),
  };
}

it.each<[string, Call[], string]>([
  ["different paths", [subtask("a", "src/a"), subtask("b", "src/b")], "ab"],
  ["different paths and the same capability", [subtask("a", "file_ops", "src/a"), subtask("b", "file_ops", "src/b")], "ab"],
  ["at most three", [subtask("a", "a"), subtask("b", "b"), subtask("c", "c"), subtask("d", "d")], "abc"],
  ["the same path", [subtask("a", "src"), subtask("b", "src/")], "a"],
  ["a path within another", [subtask("a", "src/x"), subtask("b", "src")], "a"],
  ["no paths", [subtask("a"), subtask("b", "src")], "a"],
  ["capabilities only", [subtask("a", "file_ops"), subtask("b", "src")], "a"],
  ["the workspace", [subtask("a", "src"), subtask("b", ".")], "a"],
  ["another tool between", [subtask("a", "a"), other("x"), subtask("b", "b")], "a"],
  ["another tool before", [other("x"), subtask("a", "a")], "x"],
])("begins together what may run side by side: %s", async (_what, calls, together) => {
  const held = hold(calls);
  expect(await held.began()).toBe(together);
  for (const { id } of calls) {
    await held.began();
    held.end(id);
  }
  await held.all;
  expect((await held.began()).length).toBe(calls.length);
});

it("waits for those that run before it reports a failure, and begins no other", async () => {
  const held = hold([subtask("a", "a"), subtask("b", "b"), subtask("c", "a")]);
  expect(await held.began()).toBe("ab");
  let isOver = false;
  const result = held.all.catch((error: unknown) => error).finally(() => (isOver = true));
  held.fail("a");
  expect(await held.began()).toBe("ab");
  expect(isOver).toBe(false);
  held.end("b");
  expect(await result).toMatchObject({ message: "a" });
});
