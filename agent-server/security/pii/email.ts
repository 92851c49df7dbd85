import { trimEnd } from "../../contract/trim-end.ts";
import { type Report, weights } from "./candidate.ts";
import { isTopLevelDomain } from "./top-level-domains.ts";

const maxLocal = 64;
const maxDomain = 253;

/** Names reserved by RFC 2606 and RFC 6761 for documentation and tests. */
const reserved = /(?:^|\.)(?:example\.(?:com|net|org|edu)|(?:test|example|invalid|localhost|local|internal|localdomain|lan))$/;
/** Placeholder addresses such as "your address here". */
const placeholderDomain =
  /^(?:(?:your|my|our|some|the)?-?(?:domain|company|site|host|server|mail|email|website|organization|org)|foo|bar|baz|test|sample|x|y|a|b|c|xxx|abc|xyz)\.(?:com|org|net|de|fr|es|it|tld|bar|io|co)$/;
const placeholderName =
  /^(?:foo|bar|baz|test|tester|user|users?name|you|your|your[._-]?(?:e?mail|name)|name|someone|somebody|e?mail|me|a|b|c|x|y|xxx|abc|example|sample)\d{0,3}$/;
/** Role accounts that do not belong to a person. */
const machineName = /^(?:git|hg|svn|root|noreply|no-reply|do-?not-?reply|mailer-daemon|postgres|ubuntu|ec2-user|vagrant|pi|localhost)$/;

/** Finds e-mail addresses: plain, URL-encoded (`%40`) or as `name (at) host.org`. */
export function findEmails(text: string, report: Report): void {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) around(text, at, at + 1, report);
  for (let at = text.indexOf("%40"); at !== -1; at = text.indexOf("%40", at + 3)) around(text, at, at + 3, report);
  for (const mark of text.matchAll(/ ?[[(] ?(?:at|AT|ät) ?[\])] ?/g)) around(text, mark.index, mark.index + mark[0].length, report);
}

function around(text: string, localEnd: number, domainStart: number, report: Report): void {
  let start = localEnd;
  while (start > 0 && localEnd - start <= maxLocal && isLocalPart(text.charCodeAt(start - 1))) start -= 1;
  // Escape sequences before the name: `\nname@…` in a string literal, `%20name@…` in a URL.
  if (text.charAt(start - 1) === "\\" && "nrt".includes(text.charAt(start))) start += 1;
  const escaped = /^(?:%[0-9A-Fa-f]{2})+/.exec(text.slice(start, localEnd));
  if (escaped !== null) start += escaped[0].length;
  while (start < localEnd && ".-'+/=&".includes(text.charAt(start))) start += 1;
  const local = text.slice(start, localEnd).toLowerCase();
  if (local === "" || local.length > maxLocal || local.endsWith(".") || isUrlUser(text, start)) return;

  let end = domainStart;
  while (end < text.length && end - domainStart <= maxDomain && isDomainPart(text.charCodeAt(end))) end += 1;
  const domain = wholeDomain(text.slice(domainStart, end));
  if (domain === null) return;
  const name = domain.toLowerCase();
  if (
    reserved.test(name) ||
    machineName.test(local) ||
    (placeholderDomain.test(name) && (placeholderName.test(local) || name.startsWith("your")))
  )
    return;
  // `a@b.T` and `self.w@self.is` are matrix products.
  if (/^(?:self|this|np|torch)\b/.test(name) || (local.length === 1 && name.indexOf(".") === 1)) return;
  report(start, domainStart + domain.length, "email", weights.checked);
}

/** The longest prefix that ends in a top-level domain. */
function wholeDomain(run: string): string | null {
  let domain = trimEnd(run, ".-");
  // The next sentence may follow without a space.
  for (let tries = 0; tries < 3; tries += 1) {
    const dot = domain.lastIndexOf(".");
    if (dot <= 0) return null;
    if (isTopLevelDomain(domain.slice(dot + 1).toLowerCase())) break;
    domain = domain.slice(0, dot);
  }
  const labels = domain.split(".");
  if (labels.length < 2 || !isTopLevelDomain((labels.at(-1) ?? "").toLowerCase())) return null;
  if (labels.some((label) => label === "" || label.length > 63 || label.startsWith("-") || label.endsWith("-"))) return null;
  // `package@1.2.rc` is a package version.
  return /^\d+$/.test(labels[0] ?? "") && labels.length > 2 && /^\d/.test(labels[1] ?? "") ? null : domain;
}

/** True for the user part of a URL: `https://name@host`, `https://name:password@host`. */
function isUrlUser(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 100), start);
  return /:\/\/(?:[^\s/@]{0,90}:)?$/.test(before);
}

function isLocalPart(code: number): boolean {
  // The characters of a domain, and the subset of ! # $ % & ' * + / = _ ~ that occurs in real addresses.
  return isDomainPart(code) || code === 95 || code === 43 || code === 37 || code === 39;
}

function isDomainPart(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 46 ||
    code === 45 ||
    (code >= 0xc0 && code < 0x250)
  );
}
