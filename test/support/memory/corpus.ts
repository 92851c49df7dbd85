import type { MemoryKind, MemoryTier } from "../../../agent-server/contract/memory.ts";
import type { ItemImage } from "../../../agent-server/memory/item-types.ts";

/** Numbers from 0 to 1, the same for the same seed on every machine. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const split = (message: string): string[] => message.trim().split(/\s+/);
const services = split(`billing checkout catalog identity gateway search notifications inventory shipping reporting ledger pricing
  recommendations media uploads sessions audit webhooks importer scheduler analytics chat profile payments tax`);
const environments = ["staging", "production", "development", "preview", "load test", "demo"];
const stores = split("PostgreSQL Redis MongoDB Kafka ClickHouse Elasticsearch MinIO SQLite RabbitMQ MySQL Cassandra DynamoDB");
const tools = split("pnpm npm yarn vitest jest playwright cargo pytest ruff gradle maven docker terraform helm ansible biome eslint make");
const people = split(`Ada Grace Linus Barbara Margaret Alan Katherine Edsger Radia Donald Frances Ken Hedy Dennis Sofia Jamal Priya Chen
  Yuki Olga Piotr Fatima Mateo Ingrid Kwame Noor`);
const nouns = split(`user order invoice cart session token customer report webhook payment shipment product price refund discount
  template account message upload thumbnail schedule quota locale address coupon ledger entry event metric`);
const verbs = split("get create update delete find load save validate parse render send sync merge compute resolve retry cancel archive");
const qualities = split("ById ByEmail Async FromCache WithRetry InBatch ForTenant OrThrow BySlug");
const folders = split("src lib packages apps services internal cmd web server core shared modules");
const endings = split("ts tsx js py go rs java sql yaml json kt rb");
const languages = split("TypeScript Python Go Rust Kotlin Java Ruby SQL Elixir Swift");
const days = split("Monday Tuesday Wednesday Thursday Friday Saturday Sunday");
const cities = split("Berlin Lisbon Osaka Toronto Nairobi Warsaw Austin Dublin Frankfurt Singapore Helsinki Lima");
const tagWords = split("deploy database api frontend testing security people decision performance release docs infra style");

const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Draws one of a list, the first ones far more often: as words are used. */
function draw(random: () => number) {
  return {
    skewed: (list: readonly string[]): string => list[Math.floor(random() ** 2 * list.length)] ?? "",
    even: (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? "",
    number: (from: number, to: number): number => from + Math.floor(random() * (to - from)),
    chance: (part: number): boolean => random() < part,
  };
}
type Draw = ReturnType<typeof draw>;

const identifier = (of: Draw): string => `${of.skewed(verbs)}${upper(of.skewed(nouns))}${of.chance(0.6) ? of.even(qualities) : ""}`;
const path = (of: Draw): string =>
  `${of.skewed(folders)}/${of.skewed(services)}/${of.chance(0.5) ? `${of.skewed(nouns)}s/` : ""}${of.even(verbs)}-${of.even(nouns)}${of.number(0, 400)}.${of.skewed(endings)}`;
const ticket = (of: Draw): string => `${of.even(["OPS", "WEB", "API", "PAY"])}-${of.number(100, 90_000)}`;
const date = (of: Draw): string =>
  `202${of.number(3, 7)}-${String(of.number(1, 13)).padStart(2, "0")}-${String(of.number(1, 29)).padStart(2, "0")}`;

const sentences: readonly ((of: Draw) => string)[] = [
  (of) => `The ${of.skewed(services)} service listens on port ${of.number(3_000, 9_999)} in ${of.skewed(environments)}.`,
  (of) =>
    `${upper(of.skewed(services))} stores its ${of.skewed(nouns)}s in ${of.skewed(stores)}, table ${of.even(nouns)}_${of.even(nouns)}s.`,
  (of) => `Run the ${of.skewed(services)} tests with \`${of.skewed(tools)} run test:${of.even(nouns)}\` before you push.`,
  (of) => `${of.skewed(people)} owns the ${of.skewed(services)} module and reviews every change of ${path(of)}.`,
  (of) => `${identifier(of)} in ${path(of)} returns null when the ${of.skewed(nouns)} is unknown.`,
  (of) =>
    `We decided on ${date(of)} to move ${of.skewed(services)} from ${of.skewed(stores)} to ${of.skewed(stores)} because of ${of.even(nouns)} latency.`,
  (of) => `The timeout of ${identifier(of)} is ${of.number(1, 90)} seconds; ${ticket(of)} asks for a shorter one.`,
  (of) =>
    `Deployments to ${of.skewed(environments)} happen on ${of.even(days)} at ${of.number(6, 22)}:${of.number(10, 59)} from the ${of.even(cities)} region.`,
  (of) =>
    `New code of ${of.skewed(services)} is written in ${of.skewed(languages)}; ${of.even(languages)} is only kept for the ${of.even(nouns)} worker.`,
  (of) =>
    `${ticket(of)}: ${identifier(of)} fails when the ${of.skewed(nouns)} list has more than ${of.number(10, 5_000)} entries. Cause: ${path(of)} reads it twice.`,
  (of) =>
    `The environment variable ${of.even(services).toUpperCase()}_${of.even(nouns).toUpperCase()}_URL points to the ${of.skewed(environments)} ${of.skewed(stores)}.`,
  (of) =>
    `The owner prefers ${of.even(["short", "long", "numbered", "plain"])} answers about ${of.skewed(services)} and wants ${of.skewed(tools)} for ${of.even(nouns)} scripts.`,
  (of) => `${of.skewed(people)} said in review ${of.number(1, 9_000)}: do not call ${identifier(of)} inside a transaction.`,
  (of) =>
    `Der Dienst ${of.skewed(services)} läuft in ${of.even(cities)} auf Port ${of.number(3_000, 9_999)}; zuständig ist ${of.skewed(people)}.`,
  (of) => `Die Tabelle ${of.even(nouns)}_${of.even(nouns)}s wird nachts um ${of.number(0, 6)} Uhr mit ${of.skewed(tools)} bereinigt.`,
  (of) => `Le service ${of.skewed(services)} utilise ${of.skewed(stores)} en ${of.skewed(environments)}, géré par ${of.skewed(people)}.`,
  (of) =>
    `El equipo de ${of.skewed(people)} despliega ${of.skewed(services)} los ${of.even(["lunes", "martes", "jueves"])} con ${of.skewed(tools)}.`,
  (of) =>
    `${of.skewed(services)} 服务在 ${of.skewed(environments)} 环境使用端口 ${of.number(3_000, 9_999)}，负责人是 ${of.skewed(people)}。`,
  (of) => `${of.skewed(services)}のテストは${of.skewed(tools)}で実行し、担当者は${of.skewed(people)}です。`,
  (of) => `Сервис ${of.skewed(services)} хранит данные в ${of.skewed(stores)}, порт ${of.number(3_000, 9_999)}.`,
];

const kinds: readonly MemoryKind[] = ["fact", "fact", "fact", "decision", "preference", "note", "rule"];
const startOfTime = Date.UTC(2025, 0, 1);
export const corpusNow = Date.UTC(2026, 10, 1);
export const corpusWorkspace = "/projects/shop";

/** What a memory of this many items holds, the same for the same seed. Nine in ten items are of `corpusWorkspace` or hold everywhere. */
export function* corpus(count: number, seed = 1): Generator<ItemImage> {
  const random = randomOf(seed);
  const of = draw(random);
  for (let index = 0; index < count; index += 1) {
    const make = sentences[of.number(0, sentences.length)] ?? (() => "");
    const content = of.chance(0.15) ? `${make(of)} ${(sentences[of.number(0, 10)] ?? make)(of)}` : make(of);
    const tier: MemoryTier = of.chance(0.7) ? "archival" : of.chance(0.85) ? "episodic" : "working";
    const everywhere = tier === "archival" && of.chance(0.1);
    const quest = tier === "archival" ? null : `q${of.number(0, Math.max(2, Math.ceil(count / 200)))}`;
    const at = startOfTime + Math.floor(((corpusNow - startOfTime) * index) / count);
    yield {
      id: `item-${seed}-${index}`,
      tier,
      block: null,
      namespace: everywhere ? "global" : quest === null ? "workspace" : `quest:${quest}`,
      workspace: everywhere ? "" : of.chance(0.9) ? corpusWorkspace : `/projects/other-${of.number(0, 5)}`,
      kind: kinds[of.number(0, kinds.length)] ?? "fact",
      content,
      ref: null,
      confidence: Math.round((0.3 + 0.7 * random()) * 100) / 100,
      tags: of.chance(0.5) ? [of.skewed(tagWords)] : [],
      provenance: { source: of.chance(0.4) ? "user" : "agent" },
      questId: quest,
      commitId: `commit-${Math.floor(index / 8)}`,
      version: 1,
      createdAt: at,
      updatedAt: at,
      expiresAt: null,
    };
  }
}

/** Queries as they are asked of such a memory: in words, by identifier, path and number, cut short, misspelt, quoted, of nothing there. */
export function corpusQueries(count: number, seed = 7): { readonly kind: string; readonly query: string }[] {
  const of = draw(randomOf(seed));
  const kindsOfQuery: readonly [string, () => string][] = [
    ["question", () => `which port does ${of.skewed(services)} use in ${of.skewed(environments)}?`],
    ["question", () => `who owns the ${of.skewed(services)} module`],
    ["question", () => `how do we run the ${of.skewed(services)} tests?`],
    ["question", () => `why did we move ${of.skewed(services)} from ${of.skewed(stores)} to ${of.skewed(stores)}?`],
    ["question", () => `auf welchem Port läuft ${of.skewed(services)} in ${of.even(cities)}?`],
    ["question", () => `${of.skewed(services)} 服务使用哪个端口?`],
    ["identifier", () => identifier(of)],
    ["identifier", () => `${of.skewed(verbs)} ${of.skewed(nouns)} by id`],
    ["path", () => path(of)],
    ["path", () => `${of.skewed(services)}/${of.skewed(nouns)}s`],
    ["number", () => String(of.number(3_000, 9_999))],
    ["number", () => ticket(of)],
    ["words", () => `${of.skewed(services)} ${of.skewed(stores)}`],
    ["words", () => `${of.skewed(people)} review transaction`],
    ["common word", () => of.even(["service", "port", "the", "billing", "tests", "staging"])],
    ["beginning", () => of.even(services).slice(0, of.number(2, 5))],
    [
      "misspelt",
      () =>
        of
          .even(stores)
          .toLowerCase()
          .replace(/(.)(.)(.)$/, "$2$1$3"),
    ],
    ["phrase", () => `"${of.skewed(services)} service listens"`],
    ["exclusion", () => `${of.skewed(services)} port -staging`],
    ["not there", () => `what is the ${of.even(["wifi password", "birthday of the CEO", "office address in Madrid", "printer model"])}`],
    [
      "task",
      () =>
        `Fix ${identifier(of)} in ${path(of)}: it fails in ${of.skewed(environments)} since ${of.skewed(stores)} was updated, then run the ${of.skewed(services)} tests and write down what you changed.`,
    ],
  ];
  return Array.from({ length: count }, (_, index) => {
    const [kind, make] = kindsOfQuery[index % kindsOfQuery.length] ?? ["question", () => ""];
    return { kind, query: make() };
  });
}
