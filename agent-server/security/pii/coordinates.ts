import { type Report, weights } from "./candidate.ts";
import { tightGap, valueAt } from "./cue-value.ts";

/** Four decimals of a degree are about eleven meters, precise enough to identify a house. */
const degrees = String.raw`[-+−]?\d{1,3}\.\d{4,16}`;
const single = new RegExp(`${tightGap}(${degrees})(?!\\d|[.]\\d)`, "yu");
const pair = new RegExp(
  `${tightGap}[([{]?(${degrees}(?:\\s?°?\\s?[NSEWO]|\\s?°)?\\s?[,;/ ]\\s?${degrees}(?:\\s?°?\\s?[NSEWO]|\\s?°)?)(?![\\d\\p{L}]|[.]\\d)`,
  "yu",
);

/** Finds a pair after a cue such as `coordinates`, or one number after `lat`. */
export function findCoordinatesAfterCue(text: string, at: number, one: boolean, report: Report): void {
  const both = valueAt(text, at, pair);
  if (both !== null && isOnEarth(both.text)) {
    report(both.start, both.end, "coordinates", weights.tight);
    return;
  }
  if (!one) return;
  const value = valueAt(text, at, single);
  if (value !== null && isOnEarth(value.text)) report(value.start, value.end, "coordinates", weights.tight);
}

/** Finds coordinates without a cue: degrees, minutes and seconds, and positions in map links. */
export function findDegrees(text: string, report: Report): void {
  // Map links.
  for (const { index, 0: match } of text.matchAll(
    /(?<=[?&](?:q|ll|sll|center|loc|destination|origin|daddr|saddr|query|mlat)=|geo:|\/@)-?\d{1,3}\.\d{4,16}(?:,|%2C) ?-?\d{1,3}\.\d{4,16}(?!\d)/gi,
  ))
    report(index, index + match.length, "coordinates", weights.checked);
  if (!text.includes("°")) return;
  for (const { index, 0: match } of text.matchAll(
    /(?<![\d.])\d{1,3}\s?°\s?\d{1,2}\s?['′’]\s?\d{1,2}(?:[.,]\d{1,6})?\s?(?:["″”]|''|’’)\s?[NSns][,;\s]{0,3}\d{1,3}\s?°\s?\d{1,2}\s?['′’]\s?\d{1,2}(?:[.,]\d{1,6})?\s?(?:["″”]|''|’’)\s?[EWOewo]\b/g,
  ))
    report(index, index + match.length, "coordinates", weights.checked);
  for (const { index, 0: match } of text.matchAll(/(?<![\d.])\d{1,2}\.\d{4,12}\s?°\s?[NS][,;\s]{1,3}\d{1,3}\.\d{4,12}\s?°\s?[EWO]\b/g))
    report(index, index + match.length, "coordinates", weights.checked);
}

function isOnEarth(value: string): boolean {
  const [first = 0, second = 0] = (value.replaceAll("−", "-").match(/[-+]?\d{1,3}\.\d+/g) ?? []).map(Number);
  return Math.abs(first) <= 180 && Math.abs(second) <= 180 && (first !== 0 || second !== 0);
}
