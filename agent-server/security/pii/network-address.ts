import { isIPv4, isIPv6 } from "node:net";
import { reachOf } from "../addresses.ts";
import { type Report, weights } from "./candidate.ts";

/** Public DNS servers that are common in configuration. */
const everybodys = new Set([
  "8.8.8.8",
  "8.8.4.4",
  "1.1.1.1",
  "1.0.0.1",
  "9.9.9.9",
  "149.112.112.112",
  "208.67.222.222",
  "208.67.220.220",
  "4.2.2.2",
  "123.45.67.89",
  "1.2.3.4",
  "2606:4700:4700::1111",
  "2606:4700:4700::1001",
  "2001:4860:4860::8888",
  "2001:4860:4860::8844",
  "2620:fe::fe",
]);

const versionBefore =
  /(?:\b(?:v|ver|version|release|build|rev|revision|chrome|firefox|safari|edge|edg|opera|chromium|electron|oid|sdk|api|section|chapter|sect|§|§§)["'`]?\s{0,2}[:=/@^~]{0,2}\s{0,2}["'`]?|[/@^~<>=!_-]|==\s?|[\w)]\.|[A-Za-z])$/i;
const addressBefore =
  /(?:(?:\bip|\bipv4|\bhost|\bclient|\bremote|\baddr|\baddress|\bfrom|\bserver|\bssh|\bpeer|\bvisitor|\bvon|\bdesde|\bdepuis|\bde|\bda|_ip|Ip|IP|Addr|Address|_addr|_address|_host|-For|-IP)\s?["'`]?\s{0,2}(?:[:=>]|is|ist|est|es|è|é|address)?\s{0,2}["'`([]?|:\/\/|@)$/i;

/** Finds public IPv4 and IPv6 addresses, and MAC addresses. @param internal include private networks */
export function findNetworkAddresses(text: string, internal: boolean, report: Report): void {
  for (const { index, 0: match } of text.matchAll(
    /(?<![\d.]|\d,)(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\d])(?!\.\d)/g,
  )) {
    if (!isIPv4(match) || !isSomebodys(match, internal)) continue;
    const before = text.slice(Math.max(0, index - 24), index);
    const named =
      addressBefore.test(before) || /^(?::\d{2,5}\b|\/\d{1,2}\b)/.test(text.slice(index + match.length, index + match.length + 8));
    if (
      !named &&
      (versionBefore.test(before) ||
        isLikeVersion(match) ||
        /^[-+_A-Za-z]|^\.[A-Za-z]/.test(text.slice(index + match.length, index + match.length + 2)))
    )
      continue;
    report(index, index + match.length, "ip_address", named ? weights.checked : weights.tight);
  }
  if (text.includes(":"))
    for (const { index, 0: match } of text.matchAll(
      /(?<![\w:.])(?:[23][0-9a-fA-F]{3}|f[cde][0-9a-fA-F]{2}):[0-9a-fA-F:]{3,35}(?:%\w{1,15})?(?![\w:])/g,
    )) {
      const address = match.replace(/%.*|:$/, "");
      if (isIPv6(address) && isSomebodys(address, internal)) report(index, index + address.length, "ip_address", weights.checked);
    }
  findMacAddresses(text, report);
}

function isSomebodys(address: string, internal: boolean): boolean {
  if (everybodys.has(address)) return false;
  const reach = reachOf(address);
  if (reach === "public") return true;
  return (
    internal &&
    reach === "internal" &&
    /^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.|^f[cd]|^fe80/i.test(address)
  );
}

/** Four small numbers are more likely a version than an address. */
function isLikeVersion(address: string): boolean {
  const [first = 0, ...rest] = address.split(".").map(Number);
  if (address.split(".").filter((part) => part.length === 1).length >= 2) return true;
  return (first < 20 && rest.every((part) => part < 100)) || rest.filter((part) => part === 0).length >= 2;
}

function findMacAddresses(text: string, report: Report): void {
  for (const { index, 0: match } of text.matchAll(
    /(?<![\w:-])[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})(?![\w]|[:-][0-9A-Fa-f])/g,
  )) {
    const digits = match.replace(/[:-]/g, "").toLowerCase();
    // Not a device: all zeros, all ones, multicast, documentation ranges and counting sequences.
    if (
      /^(?:0{12}|f{12}|01005e|3333|00005e0053|0123456789ab|001122334455|aabbccddeeff|deadbeef|112233445566)|^(.)\1*$|^(..)\2*$/.test(digits)
    )
      continue;
    // Six pairs of digits with dashes are a date and time.
    if (match.includes("-") && !/[a-f]/.test(digits)) continue;
    report(index, index + match.length, "mac_address", weights.checked);
  }
}
