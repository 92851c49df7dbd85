import type { CountryCode } from "libphonenumber-js/max";
import { findAddresses } from "./address.ts";
import { type Exemption, findExemption } from "./allow-list.ts";
import { findAccountAfterCue, findCardAfterCue, findCards, findIbans } from "./bank.ts";
import { findBirthDateAfterCue } from "./birth-date.ts";
import { type Candidate, type Report, resolveOverlaps, weights } from "./candidate.ts";
import { findCoordinatesAfterCue, findDegrees } from "./coordinates.ts";
import { type Cue, cuePhrases } from "./cues.ts";
import { findEmails } from "./email.ts";
import { isFamilyName } from "./family-names.ts";
import { givenName } from "./first-names.ts";
import { findIdAfterCue, findIdsByForm } from "./national-ids.ts";
import { findNetworkAddresses } from "./network-address.ts";
import { findNameAfterCue, findNameBeforeEmail, findNameByFamily, findNameByItself, findNamesByVerb, needsEvidence } from "./person.ts";
import { findPhoneAfterCue, findPhonesByForm, type PhoneCheck } from "./phone.ts";
import type { PiiDetector, PiiKind, PiiMatch } from "./types.ts";
import { findPlateAfterCue } from "./license-plate.ts";
import { createRedactionSettings, type Redaction, strictRedaction } from "./redaction-settings.ts";
import { findInTables } from "./tables.ts";
import { eachPhrase, type Word } from "./phrases.ts";

export interface ConfigurablePiiDetector extends PiiDetector {
  /**
   * Loads the phone numbering plans (about 0.3 MB, 25 ms). Until then, phone numbers are detected by shape and length only, with false
   * positives. Called once, when the host is idle or before the first call to a provider. Never rejects.
   */
  ready(): Promise<void>;
  /** The setting that exempts a value, also one found by another detector; null when it must be replaced. */
  exemption(value: string, kind: PiiKind): Exemption | null;
  /** Why `config/redaction.yaml` is ignored, with the line and how to correct it; null when it is valid. */
  problem(): string | null;
}

/** Sample text that exercises every rule. */
const warmUp =
  "Dear Anna Schmidt, tel. 030 2093701, born 1985-03-12, card 4111, account 1, SSN 1, plate B-A 1, lat 1.5, a@b.cd, 1.2.3.4\nVia Roma 1, 12 High Street\na,phone\n1,2";

/** Maximum cached phone number checks. */
const maxCachedNumbers = 2_000;

/** Maximum distance (UTF-16 units) to other personal data for a name that needs it as evidence. */
const evidenceDistance = 160;

/**
 * Creates a rule-based detector of personal data (M6) that runs in linear time.
 * @param deps folders of `config/redaction.yaml`; null to use no settings
 */
export function createPiiDetector(deps: { configDir: string; dataDir: string } | null): ConfigurablePiiDetector {
  const redaction: () => Redaction = deps === null ? () => strictRedaction : createRedactionSettings(deps);
  let check: PhoneCheck = null;
  let loading: Promise<void> | null = null;

  const load = async (): Promise<void> => {
    const { parsePhoneNumberFromString } = await import("libphonenumber-js/max");
    // Cached, because each turn of a conversation contains the same numbers.
    const known = new Map<string, boolean>();
    check = (number, region) => {
      const key = `${region ?? ""}${number}`;
      let valid = known.get(key);
      if (valid === undefined) {
        valid = parsePhoneNumberFromString(number, region === null ? undefined : (region as CountryCode))?.isValid() === true;
        if (known.size >= maxCachedNumbers) known.clear();
        known.set(key, valid);
      }
      return valid;
    };
    // Builds the lazily created patterns and lists now rather than with the first message.
    findAll(warmUp, strictRedaction, check);
  };

  return {
    find(text) {
      return findAll(text, redaction(), check);
    },
    ready: () => (loading ??= load().catch(() => void (loading = null))),
    exemption: (value, kind) => findExemption(value, kind, redaction()),
    problem: () => redaction().problem,
  };
}

function findAll(text: string, redaction: Redaction, check: PhoneCheck): PiiMatch[] {
  if (text.length < 4) return [];
  const candidates: Candidate[] = [];
  const report: Report = (start, end, kind, weight) => candidates.push({ start, end, kind, weight });

  // Rules are not expected to throw; if one does, the others still run.
  const attempt = (find: () => void): void => {
    try {
      find();
    } catch {
      // Only the candidates of this rule are missing.
    }
  };

  attempt(() => {
    findEmails(text, report);
    for (const { start } of [...candidates]) findNameBeforeEmail(text, start, report);
  });
  if (/\d/.test(text)) {
    attempt(() => findIbans(text, report));
    attempt(() => findCards(text, report));
    attempt(() => findIdsByForm(text, report));
    attempt(() => findPhonesByForm(text, check, report));
    attempt(() => findNetworkAddresses(text, redaction.settings.private_addresses, report));
    attempt(() => findDegrees(text, report));
    attempt(() => findAddresses(text, report));
  }
  attempt(() => findNamesByVerb(text, report));
  const byWord = ({ start, end, text: word }: Word): void => {
    const capital = text.charCodeAt(start);
    if (word.length < 3 || (capital >= 97 && capital <= 122)) return;
    if (givenName(word) === "sure" || (text.charAt(end) === "-" && isDoubleName(text, start))) findNameByItself(text, start, report);
    if (isFamilyName(word)) findNameByFamily(text, start, report);
  };
  attempt(() =>
    eachPhrase(
      text,
      cuePhrases(),
      (cues, start, end) => {
        for (const cue of cues) afterCue(text, cue, start, end, check, report);
      },
      byWord,
    ),
  );
  attempt(() => findInTables(text, (cue, cell) => afterCue(text, cue, cell.start, cell.start, check, report), report));
  for (const { name, pattern } of redaction.patterns)
    for (const match of text.matchAll(pattern))
      candidates.push({ start: match.index, end: match.index + match[0].length, kind: "custom", weight: weights.checked + 2, name });

  return resolveOverlaps(withEvidence(candidates))
    .filter(({ start, end, kind }) => findExemption(text.slice(start, end), kind, redaction) === null)
    .map(({ start, end, kind, name }) => (name === undefined ? { start, end, kind } : { start, end, kind, name }));
}

function isDoubleName(text: string, start: number): boolean {
  const double = /^\p{Lu}\p{Ll}+-\p{Lu}\p{Ll}+/u.exec(text.slice(start, start + 40))?.[0];
  return double !== undefined && givenName(double) === "sure";
}

function afterCue(text: string, cue: Cue, start: number, end: number, check: PhoneCheck, report: Report): void {
  switch (cue.kind) {
    case "phone":
      return findPhoneAfterCue(text, end, cue.language, check, report);
    case "national_id":
      return findIdAfterCue(text, end, cue.id ?? "", report);
    case "card":
      return findCardAfterCue(text, end, report);
    case "birth_date":
      return findBirthDateAfterCue(text, end, report);
    case "account":
      return findAccountAfterCue(text, end, text.slice(start, end), report);
    case "plate":
      return findPlateAfterCue(text, end, report);
    case "coordinates":
    case "latitude":
      return findCoordinatesAfterCue(text, end, cue.kind === "latitude", report);
    case "given_name":
    case "full_name":
    case "weak_name":
    case "title":
    case "greeting":
    case "closing":
    case "introduction":
    case "mention":
      return findNameAfterCue(text, cue.kind, start, end, report);
  }
}

/** Drops candidates that need other personal data as evidence and have none nearby. */
function withEvidence(candidates: readonly Candidate[]): Candidate[] {
  const doubtful = candidates.filter(({ weight }) => weight <= needsEvidence);
  if (doubtful.length === 0) return [...candidates];
  const sure = candidates.filter(({ weight }) => weight >= weights.tight).sort((a, b) => a.start - b.start);
  const starts = sure.map(({ start }) => start);
  const near = ({ start, end }: Candidate): boolean => {
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) < start - evidenceDistance) low = middle + 1;
      else high = middle;
    }
    const first = starts[low];
    return first !== undefined && first <= end + evidenceDistance;
  };
  return candidates.filter((candidate) => candidate.weight > needsEvidence || near(candidate));
}
