import { expect, it } from "vitest";
import { refuseReservedSecret, reservedSecrets } from "../../../agent-server/security/security.ts";

it.each(Object.values(reservedSecrets))("%s is neither set nor deleted by hand", (name) => {
  expect(() => refuseReservedSecret(name)).toThrow(
    expect.objectContaining({ code: "denied", message: expect.stringContaining(name) as string }),
  );
});

it("other names are the owner's, also those that look alike", () => {
  for (const name of ["OPENAI_API_KEY", "LANCELOT_LEDGER", "lancelot_ledger_key"]) expect(() => refuseReservedSecret(name)).not.toThrow();
});
