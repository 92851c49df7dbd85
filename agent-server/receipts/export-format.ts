import * as z from "zod";

/**
 * An exported ledger is JSON lines: this header, then `{"entry":…,"hash":…}` for every entry, `{"signature":…}` after the entry
 * whose hash was signed, and the end. The hash of an entry is SHA-256, in hex, of the hash before it (64 zeros at first) and the
 * canonical JSON (RFC 8785) of `entry`; a signature is Ed25519 over the text `lancelot ledger head v1`, the ledger's id, seq,
 * hash and time in milliseconds, each followed by a newline.
 */
export const ExportHeader = z.object({
  lancelot: z.literal("ledger"),
  version: z.literal(1),
  ledger: z.string(),
  exportedAt: z.string(),
  /** Ed25519, SPKI, DER, base64. `keyId` is the start of its SHA-256. */
  keys: z.array(z.object({ keyId: z.string(), publicKey: z.string() })),
  /** Segments sealed into files, with the files' hashes; the export includes their entries too. */
  sealed: z.array(z.object({ from: z.int(), to: z.int(), file: z.string(), sha256: z.string(), lastHash: z.string() })),
});
export type ExportHeader = z.infer<typeof ExportHeader>;

export const ExportSignature = z.object({
  signature: z.object({ seq: z.int(), hash: z.string(), at: z.number(), keyId: z.string(), signature: z.string() }),
});

export const ExportEnd = z.object({ end: z.object({ entries: z.int(), head: z.string(), signatures: z.int() }) });
export type ExportEnd = z.infer<typeof ExportEnd>;
