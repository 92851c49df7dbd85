import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as check from "../../../../agent-server/security/pii/check-digits.ts";

/** Numbers that the authorities and standards publish as examples, or that are known to be well-formed. */
const published: readonly (readonly [string, (number: string) => boolean, readonly string[], readonly string[]])[] = [
  ["card", check.isLuhn, ["4111111111111111", "378282246310005", "6011111111111117"], ["4111111111111112"]],
  ["Steuer-ID", check.isSteuerId, ["86095742719", "47036892816", "65929970489"], ["86095742710", "11111111111", "01234567890"]],
  ["Sozialversicherung", check.isSozialversicherung, ["15070649C103"], ["15070649C104", "15070649D103"]],
  ["German document", check.isGermanDocument, ["T220001293", "C01X0006H1"], ["T220001294"]],
  ["NIR", check.isNir, ["255081416802538", "269054958815780"], ["255081416802539"]],
  ["DNI", check.isDni, ["12345678Z", "X1234567L", "00000001R"], ["12345678A", "X1234567A"]],
  ["codice fiscale", check.isCodiceFiscale, ["RSSMRA85T10A562S", "VRDGPP13R10B293P"], ["RSSMRA85T10A562T"]],
  ["NHS", check.isNhs, ["9434765919", "4010232137"], ["9434765918", "0000000000"]],
  ["NINO", check.isNino, ["AB123456C", "JG103759A"], ["QQ123456C", "GB123456A", "AB123456E"]],
  ["SSN", check.isSsn, ["536228726", "219458934"], ["000123456", "666123456", "536008726", "536220000", "123456789"]],
  ["BSN", check.isBsn, ["111222333", "123456782"], ["123456780"]],
  ["PESEL", check.isPesel, ["44051401359", "02070803628"], ["44051401358", "44059901359"]],
  ["NIF", check.isNif, ["123456789", "501442600"].slice(1), ["501442601"]],
  ["CPF and CNPJ", check.isCpf, ["52998224725", "11222333000181"], ["52998224726", "11111111111"]],
  ["Aadhaar", check.isAadhaar, ["234123412346", "499118665246"], ["234123412347", "034123412346"]],
  ["AHV", check.isAhv, ["7569217076985"], ["7569217076984"]],
  ["routing number", check.isRouting, ["021000021", "122105155"], ["021000022"]],
  ["CCC", check.isCcc, ["21000418450200051332"], ["21000418440200051332"]],
];

describe("check digits", () => {
  it.each(published)("%s", (_name, passes, right, wrong) => {
    expect(right.filter((number) => !passes(number))).toEqual([]);
    expect(wrong.filter((number) => passes(number))).toEqual([]);
  });

  it("one digit changed is noticed", () => {
    const numbers: readonly (readonly [(number: string) => boolean, string])[] = [
      [check.isLuhn, "4111111111111111"],
      [check.isAadhaar, "234123412346"],
      [check.isAhv, "7569217076985"],
      [check.isCpf, "52998224725"],
      [check.isSteuerId, "86095742719"],
      [check.isNir, "255081416802538"],
    ];
    fc.assert(
      fc.property(fc.constantFrom(...numbers), fc.nat(), fc.integer({ min: 1, max: 9 }), ([passes, number], place, shift) => {
        const at = place % number.length;
        const changed = number.slice(0, at) + String((Number(number[at]) + shift) % 10) + number.slice(at + 1);
        expect(passes(changed)).toBe(false);
      }),
    );
  });
});
