export { type Audit, createAudit } from "./audit.ts";
export { createLedger } from "./ledger.ts";
export { receiptsHandlers } from "./handlers.ts";
export { withReceipt } from "./with-receipt.ts";
export { receiptsMigrations } from "./schema.ts";
export { verifyExport } from "./verify-export.ts";
export { createTelemetry, type Telemetry } from "./otel/telemetry.ts";
export type { Ledger, ReceiptClosing, ReceiptOpening } from "./types.ts";
