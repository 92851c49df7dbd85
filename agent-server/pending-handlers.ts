import { LancelotError } from "./contract/errors.ts";
import type { Handlers } from "./contract/table.ts";

const pending = (): never => {
  throw new LancelotError("unavailable", "This is being built.");
};

/** Methods whose rooms are being built; each line goes as its room joins the host. */
export const pendingHandlers = {
  "intent.classify": pending,
  "models.local.load": pending,
  "models.local.unload": pending,
  "models.local.delete": pending,
  "models.servers": pending,
  "models.useServer": pending,
} satisfies Partial<Handlers>;
