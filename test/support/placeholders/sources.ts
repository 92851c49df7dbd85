import { token } from "../secret-samples.ts";

/** Numbers that come in the same order for the same seed. */
export function sequence(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const letters = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXuR";
const firstNames = ["lena", "jonas", "sofia", "pierre", "amelie", "marta", "hugo", "ines", "oskar", "paula"];
const lastNames = ["hoffmann", "keller", "moreau", "fontaine", "romano", "vasquez", "lindner", "brandt", "ferrari", "dubois"];
const domains = ["firma-nord.de", "atelier-lumiere.fr", "casaverde.it", "nordlicht-gmbh.de", "obras-sur.es"];

export interface Source {
  readonly number: number;
  readonly path: string;
  readonly text: string;
  readonly personal: readonly string[];
  readonly secrets: readonly string[];
}

function iban(digits: string): string {
  const check = 98n - (BigInt(`${digits}131400`) % 97n);
  return `DE${String(check).padStart(2, "0")}${digits}`;
}

/** A source file as it might stand in a project, with values of its own; nothing of it is anybody's. */
export function makeSource(number: number): Source {
  const pick = sequence(number);
  const digits = (count: number): string => Array.from({ length: count }, () => String(pick(10))).join("");
  const random = (count: number): string => Array.from({ length: count }, () => letters.charAt(pick(letters.length))).join("");
  const name = `${firstNames[pick(10)] ?? ""}.${lastNames[pick(10)] ?? ""}`;
  const domain = domains[pick(5)] ?? "";
  const email = `${name}${String(number)}@${domain}`;
  const phone = `+49 30 9018${digits(4)}`;
  const account = iban(`37040044${digits(10)}`);
  const apiKey = token("sk-proj-", `${random(40)}7aB3`);
  const github = token("ghp_", `${random(34)}4X`);
  const password = `${random(10)}-9${random(4)}`;
  const url = `postgres://app:${password}@db.intern.${domain}:5432/orders`;
  const values = { email, phone, iban: account, api_key: apiKey, database_url: url, github_token: github };
  const [path, lines] = layouts[number % layouts.length]?.(number, Object.entries(values)) ?? ["", []];
  return { number, path, text: `${lines.join("\n")}\n`, personal: [email, phone, account], secrets: [apiKey, github, password] };
}

type Layout = (number: number, values: [string, string][]) => [path: string, lines: string[]];

const layouts: readonly Layout[] = [
  (number, values) => [
    `src/record-${String(number)}.ts`,
    [
      "// A record of the billing team.",
      `export const record${String(number)} = {`,
      ...values.map(([name, value]) => `  ${name}: "${value}",`),
      "  active: true,",
      "};",
      "",
      `export function label(): string {`,
      `  return \`record \${record${String(number)}.active ? "on" : "off"}\`;`,
      "}",
    ],
  ],
  (number, values) => [
    `tools/record_${String(number)}.py`,
    [
      '"""Settings of one customer."""',
      "import os",
      "",
      ...values.map(([name, value]) => `${name.toUpperCase()} = "${value}"`),
      "",
      "def load():",
      '    return os.environ.get("MODE", "dry")',
    ],
  ],
  (number, values) => [
    `deploy/record-${String(number)}.yaml`,
    ["kind: customer", "spec:", ...values.map(([name, value]) => `  ${name}: "${value}"`), "  replicas: 2"],
  ],
  (number, values) => [
    `bin/record-${String(number)}.sh`,
    ["#!/bin/sh", "set -eu", ...values.map(([name, value]) => `export ${name.toUpperCase()}='${value}'`), 'exec "$@"'],
  ],
  (number, values) => [
    `data/record-${String(number)}.json`,
    ["{", ...values.map(([name, value]) => `  "${name}": "${value}",`), '  "active": true', "}"],
  ],
];
