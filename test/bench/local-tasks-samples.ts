import * as z from "zod";

/** Texts with what a person would take from them. */
export const extractions: { text: string; schema: z.ZodType; wanted: unknown }[] = [
  { text: "The service billing listens on port 8081.", schema: z.object({ port: z.int() }), wanted: { port: 8081 } },
  {
    text: "Name: api-gateway\nVersion: 2.4.1\nReplicas: 3",
    schema: z.object({ name: z.string(), replicas: z.int() }),
    wanted: { name: "api-gateway", replicas: 3 },
  },
  {
    text: "Severity: high. Reported by Ann.",
    schema: z.object({ severity: z.enum(["low", "medium", "high"]) }),
    wanted: { severity: "high" },
  },
  {
    text: 'The tool said {"status": "failed", "code": 3} and stopped.',
    schema: z.object({ status: z.string(), code: z.int() }),
    wanted: { status: "failed", code: 3 },
  },
  { text: "Debug logging is enabled in production.", schema: z.object({ debugLogging: z.boolean() }), wanted: { debugLogging: true } },
  {
    text: "Labels: bug, ui, needs-info",
    schema: z.object({ labels: z.array(z.string()) }),
    wanted: { labels: ["bug", "ui", "needs-info"] },
  },
  { text: "Ask ops@nordwind-kontor.de about it.", schema: z.object({ contact: z.email() }), wanted: { contact: "ops@nordwind-kontor.de" } },
  {
    text: "It must be done by 2026-12-24 at the latest.",
    schema: z.object({ deadline: z.iso.date() }),
    wanted: { deadline: "2026-12-24" },
  },
  { text: "In src/parser.ts at line 88 a bracket is missing.", schema: z.object({ line: z.int() }), wanted: { line: 88 } },
  {
    text: "We would call that a blocker.",
    schema: z.object({ severity: z.enum(["minor", "major", "blocker"]) }),
    wanted: { severity: "blocker" },
  },
  { text: "timeout = 30\nretries = 5", schema: z.object({ timeout: z.int(), retries: z.int() }), wanted: { timeout: 30, retries: 5 } },
  {
    text: "They moved from Postgres to a database by the name of CockroachDB.",
    schema: z.object({ newDatabase: z.string() }),
    wanted: { newDatabase: "CockroachDB" },
  },
];

/** Texts with what must not be lost of them. */
export const summaries: { text: string; facts: string[] }[] = [
  {
    text: "We looked into the slow start of the importer today. It was a long day. The profile shows that 83 % of the time is spent in src/import/parse.ts. Some like tabs, some like spaces. We decided to read the file in chunks of 64 kB. The flag --legacy must never be removed, because the nightly job needs it. Then we talked about lunch for a while, and about the weather, which is nice.",
    facts: ["src/import/parse.ts", "83", "64 kB", "--legacy"],
  },
  {
    text: "The login failed for 12 users this morning. At first everybody suspected the network, and much was said about that. The cause is the expired certificate in config/tls/ca.pem. Renewing it fixed the login. People were happy. Next: an alert 30 days before a certificate ends. The coffee machine is still broken.",
    facts: ["12", "config/tls/ca.pem", "30 days"],
  },
  {
    text: "Hello all, hope you are well. The review of the cart module is over. We agreed that discounts are applied before taxes, always. calculateTotal in cart.js rounds too early and must be changed. Nobody had strong feelings about the names. The tests in cart.spec.js cover 71 % now. See you on Monday, have a nice weekend, and thanks for all the work.",
    facts: ["before taxes", "calculateTotal", "cart.spec.js", "71"],
  },
  {
    text: "Migration notes. We talked for an hour about history. The table orders gets a column currency, with EUR as its default. The migration is db/migrations/0042_currency.sql. It was tested on a copy with 3.2 million rows and took 48 seconds. Somebody told a story about an older migration. Rolling back is not possible after the release, so it needs approval by the owner.",
    facts: ["currency", "db/migrations/0042_currency.sql", "48 seconds", "approval"],
  },
];

/** Texts with the names of people in them. */
export const namedPeople: { text: string; names: string[] }[] = [
  { text: "Please ask Johanna Weber before you merge this.", names: ["Johanna Weber"] },
  { text: "The bug was reported by Tobias Lindqvist and confirmed by Mei Tanaka.", names: ["Tobias Lindqvist", "Mei Tanaka"] },
  { text: "Ms. Okafor wants the report on Monday.", names: ["Okafor"] },
  { text: "I met Carlos Mendoza at the conference, he wrote the parser.", names: ["Carlos Mendoza"] },
  { text: "Signed-off-by: Grace Kim", names: ["Grace Kim"] },
  { text: "Weber and Lindqvist are on holiday, Tanaka stands in.", names: ["Weber", "Lindqvist", "Tanaka"] },
  { text: "Big thanks go to Nkechi for the patch.", names: ["Nkechi"] },
  { text: "Run the tests with Node and Docker, then open Chrome.", names: [] },
  { text: "const user = new User(name, Date.now());", names: [] },
  { text: "According to Priya Raman the invoice of Dr. Schneider is wrong.", names: ["Priya Raman", "Schneider"] },
];
