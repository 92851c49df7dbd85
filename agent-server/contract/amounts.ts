// Of the contract without its schemas: what the extension needs before they are loaded.

/** An amount in US dollars that someone typed: null for none, undefined where it is none that a cap can have. */
export function parseAmount(text: string): number | null | undefined {
  const words = text.trim().replace(/^\$\s*/, "");
  if (words === "") return null;
  if (!/^\d{1,7}([.,]\d{1,6})?$/.test(words)) return undefined;
  const amount = Number(words.replace(",", "."));
  return amount > 0 && amount <= 1_000_000 ? amount : undefined;
}

/** An amount in US dollars in the words of a language: cents, and as many places more as a small amount needs to be seen. */
export function wordUsd(usd: number, language: string): string {
  const size = Math.abs(usd);
  const places = size === 0 || size >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  const format = { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: places } as const;
  return new Intl.NumberFormat(language, format).format(usd);
}
