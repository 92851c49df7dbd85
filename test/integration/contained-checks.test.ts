// @module-tag sandbox
import { createSocket } from "node:dgram";
import { appendFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLeakFinder } from "../support/contained/leaks.ts";
import { openListeners } from "../support/contained/listeners.ts";
import { startOnlooker } from "../support/contained/onlooker.ts";
import { hostileCommands } from "../support/contained/rows.ts";
import { runsByItself } from "../support/contained/settings-names.ts";
import { createWorld, type World } from "../support/contained/world.ts";
import { spellings } from "../support/known-values.ts";
import { until } from "../support/sandbox/run.ts";
import { put } from "../support/tools/git-fixture.ts";

const secret = "hV3kQ9xTzB7mWfR2cLpD8sYnJ4gKaE6uTq1XoZ5v";

describe("the checks of the hostile commands see", () => {
  const leaks = createLeakFinder({ key: secret });

  it.each(Object.entries(spellings))("a secret that is written as: %s", (_name, spell) => {
    expect(leaks.find(`before ${spell(secret)} after`)).not.toEqual([]);
  });

  it("a fragment of eight characters, also encoded as a whole line; and nothing in ordinary text", () => {
    expect(leaks.find(`x ${secret.slice(11, 19)} y`)).toContain("key (plain)");
    expect(leaks.find(Buffer.from(`line ${secret.slice(3, 23)} end`).toString("base64"))).not.toEqual([]);
    expect(leaks.find(`${secret.slice(0, 7)} ${"ordinary words, numbers 12345678 and deadbeefcafe0123 ".repeat(200)}`)).toEqual([]);
  });

  it("names that another program runs by itself, whatever their case and invisible characters, and no source files", () => {
    for (const path of [
      ".envrc",
      "a/.NPMRC",
      ".vscode/Tasks.json",
      "sub/.git/config",
      ".npm\u200brc",
      "\uff0eenvrc",
      ".npmrc ",
      "x/AGENTS.md",
    ])
      expect(runsByItself(path), path).toBe(true);
    for (const path of ["src/main.ts", "docs/npmrc.md", "README.md", "package.json", "node_modules/x/.npmrc", ".gitignore"])
      expect(runsByItself(path), path).toBe(false);
  });
});

describe("around the hostile commands,", () => {
  let world: World;
  beforeEach(() => {
    world = createWorld();
  });
  afterEach(() => world.close());

  it("each listener counts who reaches it", async () => {
    const listeners = await openListeners(world);
    const { port, abstract } = listeners;
    const datagram = createSocket("udp4");
    datagram.send("x", port, world.address);
    const targets = [
      { port, host: "127.0.0.1" },
      { port, host: world.address },
      { path: join(world.outside, "host.sock") },
      { path: `\0${abstract}` },
    ];
    const sockets = targets.map((target) => connect(target).on("error", () => undefined));
    await until("all are counted", () => listeners.reached().length === targets.length + 1);
    expect(listeners.reached().toSorted()).toEqual(["abstract socket", join(world.outside, "host.sock"), "tcp", "tcp", "udp"].toSorted());
    for (const socket of sockets) socket.destroy();
    datagram.close();
    await listeners.close();
  });

  it.each([
    ["in the PATH", (world: World) => put(join(world.trap, "bin/git"), world.fill("#!/bin/sh\n{payload}\n", {}), 0o755)],
    [
      "in git's settings",
      (world: World) => appendFileSync(join(world.workspace, ".git/config"), world.fill("[core]\n\tfsmonitor = {payload}\n", {})),
    ],
  ])("a program planted %s is noticed when it runs", async (_where, plant) => {
    const onlooker = startOnlooker(world);
    await onlooker.pause();
    expect(onlooker.isHarmed).toBe(false);
    plant(world);
    await onlooker.look("git");
    expect(onlooker.isHarmed).toBe(true);
    await onlooker.close();
  });
});

it("the hostile commands are of nine kinds, each with at least fifty", () => {
  const kinds = Map.groupBy(hostileCommands, ({ kind }) => kind);
  expect([...kinds.keys()].toSorted()).toEqual([
    "escapes",
    "git",
    "leftovers",
    "limits",
    "links",
    "network",
    "outside",
    "processes",
    "secrets",
  ]);
  for (const [kind, rows] of kinds) expect(rows.length, kind).toBeGreaterThanOrEqual(50);
});
