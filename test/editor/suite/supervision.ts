import * as assert from "node:assert/strict";
import { cleanUp, lancelot, onDisk, propose, write } from "./lancelot.ts";

suite("supervision of the agent host", () => {
  test("a killed host restarts with its proposals", async () => {
    const api = await lancelot();
    const uri = await write("survives.txt", "before\n");
    const { id } = await propose(api, "survives.txt", "after\n");
    const killed = api.hostPid();
    assert.ok(killed);
    process.kill(killed, "SIGKILL");
    await api.ended(killed);
    // The call waits for the host that is being started.
    const { pid } = await api.call("host.info", {});
    assert.notEqual(pid, killed);
    assert.equal(api.hostState().state, "ready");
    await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(await onDisk(uri), "after\n");
    await cleanUp(api);
  });

  test("a pending call fails with an error when the host dies", async () => {
    const api = await lancelot();
    const { pid } = await api.call("host.info", {});
    const call = api.call("receipts.verify", {});
    process.kill(pid, "SIGKILL");
    const answer = await call.then(
      () => "answered before it died",
      (error: unknown) => (error as { code?: string }).code,
    );
    assert.ok(answer === "unavailable" || answer === "answered before it died", String(answer));
    await api.ended(pid);
    assert.notEqual((await api.call("host.info", {})).pid, pid);
  });

  test("a restart the owner asks for ends one host and starts another", async () => {
    const api = await lancelot();
    const { pid } = await api.call("host.info", {});
    await api.restart();
    assert.notEqual((await api.call("host.info", {})).pid, pid);
    assert.throws(() => process.kill(pid, 0), "the old host is gone");
  });
});
