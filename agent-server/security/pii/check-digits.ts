/** Check-digit validation of national numbers. Every function takes the number without separators. */

const digitsOf = (text: string): number[] => Array.from(text, (digit) => digit.charCodeAt(0) - 48);

function weightedSum(digits: readonly number[], factors: readonly number[]): number {
  return factors.reduce((sum, factor, index) => sum + factor * (digits[index] ?? 0), 0);
}

export function isLuhn(number: string): boolean {
  let sum = 0;
  for (const [index, digit] of digitsOf(number).toReversed().entries()) {
    const value = index % 2 === 1 ? digit * 2 : digit;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** True for repeated or consecutive digits, which are typical dummy values. */
export function isFiller(number: string): boolean {
  return /^(\d)\1+$/.test(number) || "01234567890123456789".includes(number) || "98765432109876543210".includes(number);
}

/** German tax number: ISO 7064 MOD 11,10; one or two of the first ten digits occur two or three times. */
export function isSteuerId(number: string): boolean {
  if (!/^[1-9]\d{10}$/.test(number)) return false;
  const counts = new Map<string, number>();
  for (const digit of number.slice(0, 10)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  if (Math.max(...counts.values()) > 3 || counts.size > 9) return false;
  return iso11Over10(number.slice(0, 10)) === Number(number[10]);
}

function iso11Over10(number: string): number {
  let product = 10;
  for (const digit of digitsOf(number)) {
    const sum = (digit + product) % 10;
    product = ((sum === 0 ? 10 : sum) * 2) % 11;
  }
  return (11 - product) % 10;
}

/** German social insurance number (`12010188M011`): the letter counts as its position in the alphabet; digit sums of the weighted digits are added. */
export function isSozialversicherung(number: string): boolean {
  if (!/^\d{8}[A-Z]\d{3}$/.test(number)) return false;
  const letter = String(number.charCodeAt(8) - 64).padStart(2, "0");
  const digits = digitsOf(number.slice(0, 8) + letter + number.slice(9, 11));
  const factors = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1];
  const sum = factors.reduce((total, factor, index) => {
    const product = factor * (digits[index] ?? 0);
    return total + Math.floor(product / 10) + (product % 10);
  }, 0);
  return sum % 10 === Number(number[11]);
}

/** German identity card and passport: weights 7, 3, 1 over digits and letters (A is 10). */
export function isGermanDocument(number: string): boolean {
  if (!/^[CFGHJKLMNPRTVWXYZ0-9]{9}\d$/.test(number)) return false;
  const sum = Array.from(number.slice(0, 9)).reduce((total, sign, index) => total + parseInt(sign, 36) * ([7, 3, 1][index % 3] ?? 1), 0);
  return sum % 10 === Number(number[9]);
}

/** French NIR: 97 minus the number modulo 97; Corsica counts as 19 and 18. */
export function isNir(number: string): boolean {
  const match = /^([1-478]\d{2}(?:0[1-9]|1[0-2]|[2-9]\d)(?:\d{2}|2[AB])\d{6})(\d{2})$/.exec(number);
  if (match === null) return false;
  const body = (match[1] ?? "").replace("2A", "19").replace("2B", "18");
  return 97n - (BigInt(body) % 97n) === BigInt(match[2] ?? 0);
}

/** Spanish DNI and NIE: a letter by the number modulo 23. */
export function isDni(number: string): boolean {
  const match = /^([XYZ\d])(\d{7})([A-Z])$/.exec(number);
  if (match === null) return false;
  const first = { X: "0", Y: "1", Z: "2" }[match[1] ?? ""] ?? match[1] ?? "";
  return "TRWAGMYFPDXBNJZSQVHLCKE"[Number(first + (match[2] ?? "")) % 23] === match[3];
}

const oddValues = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

/** Italian codice fiscale. */
export function isCodiceFiscale(number: string): boolean {
  if (!/^[A-Z]{6}[\dLMNPQRSTUV]{2}[ABCDEHLMPRST][\dLMNPQRSTUV]{2}[A-Z][\dLMNPQRSTUV]{3}[A-Z]$/.test(number)) return false;
  const sum = Array.from(number.slice(0, 15)).reduce((total, sign, index) => {
    const value = /\d/.test(sign) ? Number(sign) : sign.charCodeAt(0) - 65;
    return total + (index % 2 === 0 ? (oddValues[value] ?? 0) : value);
  }, 0);
  return number.charCodeAt(15) - 65 === sum % 26;
}

/** British NHS number. */
export function isNhs(number: string): boolean {
  if (!/^\d{10}$/.test(number) || isFiller(number)) return false;
  const check = 11 - (weightedSum(digitsOf(number), [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11);
  return (check === 11 ? 0 : check) === Number(number[9]);
}

/** Prefixes that are in use for British national insurance numbers. */
export function isNino(number: string): boolean {
  return /^(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]$/.test(number);
}

/** American social security and taxpayer numbers; unassigned areas are invalid. */
export function isSsn(number: string): boolean {
  return (
    /^(?!000|666)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(number) &&
    !/^(?:123456789|111223333|078051120|219099999)$/.test(number) &&
    !isFiller(number) &&
    (!number.startsWith("9") || isItin(number))
  );
}

function isItin(number: string): boolean {
  const group = Number(number.slice(3, 5));
  return (group >= 50 && group <= 65) || (group >= 70 && group <= 88) || (group >= 90 && group <= 92) || group >= 94;
}

/** Dutch BSN: the eleven test. */
export function isBsn(number: string): boolean {
  return /^\d{9}$/.test(number) && !isFiller(number) && weightedSum(digitsOf(number), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0;
}

/** Polish PESEL, its date included. */
export function isPesel(number: string): boolean {
  if (!/^\d{11}$/.test(number) || isFiller(number)) return false;
  const month = Number(number.slice(2, 4)) % 20;
  const day = Number(number.slice(4, 6));
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  return weightedSum(digitsOf(number), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;
}

/** Portuguese NIF. */
export function isNif(number: string): boolean {
  if (!/^[1235689]\d{8}$/.test(number) || isFiller(number)) return false;
  const rest = weightedSum(digitsOf(number), [9, 8, 7, 6, 5, 4, 3, 2]) % 11;
  return (rest < 2 ? 0 : 11 - rest) === Number(number[8]);
}

/** Brazilian CPF (11 digits) and CNPJ (14). */
export function isCpf(number: string): boolean {
  if (isFiller(number)) return false;
  const digits = digitsOf(number);
  const checkAt = (at: number, factors: readonly number[]): boolean => {
    const rest = weightedSum(digits, factors) % 11;
    return digits[at] === (rest < 2 ? 0 : 11 - rest);
  };
  if (/^\d{11}$/.test(number)) return checkAt(9, [10, 9, 8, 7, 6, 5, 4, 3, 2]) && checkAt(10, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
  return (
    /^\d{14}$/.test(number) && checkAt(12, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]) && checkAt(13, [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
  );
}

const dihedral = Array.from({ length: 10 }, (_, a) =>
  Array.from({ length: 10 }, (__, b) => {
    if (a < 5) return b < 5 ? (a + b) % 5 : ((a + b) % 5) + 5;
    return b < 5 ? ((a - b + 5) % 5) + 5 : (a - b + 10) % 5;
  }),
);
const permuted = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/** Indian Aadhaar: Verhoeff's check. */
export function isAadhaar(number: string): boolean {
  if (!/^[2-9]\d{11}$/.test(number) || isFiller(number)) return false;
  let check = 0;
  for (const [index, digit] of digitsOf(number).toReversed().entries()) {
    let value = digit;
    for (let turn = 0; turn < index % 8; turn += 1) value = permuted[value] ?? 0;
    check = dihedral[check]?.[value] ?? 0;
  }
  return check === 0;
}

/** Swiss AHV number: EAN-13. */
export function isAhv(number: string): boolean {
  return /^756\d{10}$/.test(number) && weightedSum(digitsOf(number), [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0;
}

/** American routing number of a bank. */
export function isRouting(number: string): boolean {
  return (
    /^(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2])\d{7}$/.test(number) &&
    weightedSum(digitsOf(number), [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0
  );
}

/** Spanish account (CCC): two check digits over bank, branch and account. */
export function isCcc(number: string): boolean {
  if (!/^\d{20}$/.test(number) || isFiller(number)) return false;
  const digits = digitsOf(number);
  const check = (part: readonly number[], factors: readonly number[]): number => {
    const value = 11 - (weightedSum(part, factors) % 11);
    return value === 10 ? 1 : value % 11;
  };
  return (
    check(digits.slice(0, 8), [4, 8, 5, 10, 9, 7, 3, 6]) === digits[8] &&
    check(digits.slice(10), [1, 2, 4, 8, 5, 10, 9, 7, 3, 6]) === digits[9]
  );
}
