import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEffectsFixture } from "../support/tools/effects-fixture.ts";
import { runHost } from "../support/tools/killed-host.ts";
import { makeManyFiles } from "../support/tools/many-files.ts";
import { pictureOf } from "../support/tools/tree.ts";
import { runs } from "../support/soak.ts";

const kills = runs(3, 10);

describe("a host that is killed", () => {
  let base = "";
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-killed-")));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const fill = async (files: number) => {
    const fixture = createEffectsFixture({ base });
    makeManyFiles(fixture.workspace, files);
    await fixture.sh(
      "mkdir swap empty; echo s > swap/s.txt; ln -s swap link; echo r > ro.txt; chmod 444 ro.txt; git init -q . && git add packages && git commit -qm one",
      {
        questId: null,
      },
    );
    const picture = pictureOf(fixture.workspace);
    fixture.close();
    return picture;
  };
  const change =
    "for f in packages/p*/src/*/*.ts; do echo changed >> $f; done; rm -r packages/p0; rm -rf swap; ln -s packages swap; rm link; mkdir link; echo l > link/l.txt; rm -f ro.txt; echo w > ro.txt; rmdir empty; git add -A packages";

  it("while a command runs: the next one finds what it had changed, and the undo of the task is exact", async () => {
    const before = await fill(300);
    const ended = await runHost([base, "command", `${change}; echo running; sleep 60`], { word: "running", after: 5 });
    expect(ended.done).toBe(false);

    const fixture = createEffectsFixture({ base });
    await fixture.ready;
    const recovered = fixture.ledger.search({ query: "effects.recover", limit: 1 }).items[0];
    expect(recovered).toMatchObject({ status: "success", questId: "q1", outputs: { changedTotal: expect.any(Number) } });
    const checkpoint = fixture.checkpoints.list({ questId: "q1", limit: 5 })[0];
    expect(checkpoint?.total).toBeGreaterThan(200);
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    const now = pictureOf(fixture.workspace);
    // Git's logs and objects only gain.
    const compared = (picture: Record<string, string>) =>
      Object.fromEntries(Object.entries(picture).filter(([path]) => !/^\.git\/(objects|logs)/.test(path)));
    expect(compared(now)).toEqual(compared(before));
    fixture.ledger.reconcile();
    expect(await fixture.ledger.verify()).toMatchObject({ ok: true });
    fixture.close();
  });

  it("while it looks at the workspace before: the command never ran, and nothing is left open", async () => {
    const before = await fill(runs(1_000, 2_000));
    rmSync(join(base, "data/effects"), { recursive: true });
    const ended = await runHost([base, "command", "echo never > never.txt"], { word: "begun", after: 20 });
    const fixture = createEffectsFixture({ base });
    await fixture.ready;
    if (!ended.done) {
      expect(pictureOf(fixture.workspace)).toEqual(before);
      expect(fixture.checkpoints.list({ questId: "q1", limit: 5 })).toEqual([]);
    }
    const { touched } = await fixture.sh("echo now > now.txt");
    expect(touched.files).toEqual([{ path: "now.txt", kind: "created", undoable: true }]);
    fixture.close();
  });

  it("at any point of a restore: the next one completes it, and nothing is lost", async () => {
    const fixture = createEffectsFixture({ base });
    makeManyFiles(fixture.workspace, 250);
    await fixture.sh("mkdir swap empty; echo s > swap/s.txt; ln -s swap link; echo r > ro.txt; chmod 444 ro.txt", { questId: null });
    const before = pictureOf(fixture.workspace);
    await fixture.sh(change.replace("; git add -A packages", ""));
    const after = pictureOf(fixture.workspace);
    fixture.close();

    // How long one takes undisturbed; then there and back, killed at points all over it.
    const { took } = await runHost([base, "restore", "q1"], null);
    let at: "before" | "after" = "before";
    let completed = 0;
    let killed = 0;
    // The machine may be faster or slower than when that was measured: on until enough were killed, and the next host had one to complete.
    const enough = (): boolean => killed > kills / 2 && completed > 0;
    for (let round = 0; round < kills || (round < kills + 20 && !enough()); round += 1) {
      const part = round < kills ? (round + 0.5) / kills : (((round * 7) % 10) + 1) / 5;
      const start = createEffectsFixture({ base });
      await start.ready;
      const [newest] = start.checkpoints.list({ limit: 1 });
      start.close();
      const ended = await runHost([base, "restore", newest?.id ?? ""], { word: "begun", after: took * part });
      const next = createEffectsFixture({ base });
      await next.ready;
      const other: "before" | "after" = at === "before" ? "after" : "before";
      const [latest] = next.checkpoints.list({ limit: 1 });
      // Once its checkpoint is taken it goes through, by the next host if need be; before that nothing was touched.
      const taken = latest?.id !== newest?.id;
      if (taken) at = other;
      if (!ended.done) killed += 1;
      completed = next.ledger.search({ query: "checkpoint_restore.resume", limit: 50 }).items.length;
      expect(pictureOf(next.workspace)).toEqual(at === "before" ? before : after);
      next.ledger.reconcile();
      next.close();
    }
    expect(killed).toBeGreaterThan(kills / 2);
    expect(completed).toBeGreaterThan(0);
    const last = createEffectsFixture({ base });
    expect(await last.ledger.verify()).toMatchObject({ ok: true });
    last.close();
  });
});
