/** Result of reading a connection's first bytes: more are needed, not TLS, or the requested name (null: none). */
export type FirstBytes =
  | { readonly kind: "more" }
  | { readonly kind: "other" }
  | { readonly kind: "hello"; readonly serverName: string | null };

/** No real client sends a longer hello. */
const longest = 64 * 1024;

/**
 * Reads the server name of a TLS hello (RFC 8446 4.1.2, RFC 6066 3), which may span several records. With an encrypted hello,
 * only the outer name is visible.
 */
export function readFirstBytes(bytes: Uint8Array): FirstBytes {
  const handshake: number[] = [];
  for (let at = 0; ; ) {
    if (at >= bytes.length) break;
    if (bytes[at] !== 22) return { kind: "other" };
    if (at + 5 > bytes.length) break;
    const length = u16(bytes, at + 3);
    if (bytes[at + 1] !== 3 || length === 0 || length > 0x4100) return { kind: "other" };
    handshake.push(...bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
    if (handshake.length >= 4) {
      if (handshake[0] !== 1) return { kind: "other" };
      const size = ((handshake[1] ?? 0) << 16) | ((handshake[2] ?? 0) << 8) | (handshake[3] ?? 0);
      if (size > longest) return { kind: "other" };
      if (handshake.length >= 4 + size) return serverNameOf(Uint8Array.from(handshake.slice(4, 4 + size)));
    }
  }
  return bytes.length > longest ? { kind: "other" } : { kind: "more" };
}

function serverNameOf(hello: Uint8Array): FirstBytes {
  let at = 2 + 32;
  const skip = (lengthBytes: 1 | 2): void => {
    at += lengthBytes + (lengthBytes === 1 ? (hello[at] ?? 0) : u16(hello, at));
  };
  skip(1);
  skip(2);
  skip(1);
  if (at === hello.length) return { kind: "hello", serverName: null };
  const end = at + 2 + u16(hello, at);
  if (end !== hello.length) return { kind: "other" };
  let serverName: string | null = null;
  for (at += 2; at + 4 <= end; ) {
    const type = u16(hello, at);
    const size = u16(hello, at + 2);
    if (at + 4 + size > end) return { kind: "other" };
    if (type === 0) {
      // Accepts one host name only, since a second one would be ambiguous.
      const start = at + 4;
      const length = u16(hello, start + 3);
      if (serverName !== null || size < 5 || hello[start + 2] !== 0 || length + 5 !== size || u16(hello, start) !== size - 2)
        return { kind: "other" };
      serverName = Buffer.from(hello.subarray(start + 5, start + 5 + length)).toString("latin1");
    }
    at += 4 + size;
  }
  return at === end ? { kind: "hello", serverName } : { kind: "other" };
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
