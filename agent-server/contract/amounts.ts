// No schemas here, because the extension needs this file before it loads them.

/** Parses a typed amount in US dollars: null when empty, undefined when it is not a valid cap. */
export function parseAmount(text: string): number | null | undefined {
  const digits = text.trim().replace(/^\$\s*/, "");
  if (digits === "") return null;
  if (!/^\d{1,7}([.,]\d{1,6})?$/.test(digits)) return undefined;
  const amount = Number(digits.replace(",", "."));
  return amount > 0 && amount <= 1_000_000 ? amount : undefined;
}

/** Formats an amount in US dollars for a locale, with cents and as many further decimals as a small amount needs. */
export function formatUsdAmount(usd: number, language: string): string {
  const size = Math.abs(usd);
  const places = size === 0 || size >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  const format = { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: places } as const;
  return new Intl.NumberFormat(language, format).format(usd);
}
