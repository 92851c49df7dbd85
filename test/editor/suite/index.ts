import Mocha from "mocha";

/** Entry of the tests inside the extension host. Suites need Mocha's globals, so they are loaded after those are there. */
export async function run(): Promise<void> {
  const mocha = new Mocha({ ui: "tdd", timeout: 30_000, slow: 5000, color: false });
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  await import("./activation.ts");
  await import("./apply-text.ts");
  await import("./review.ts");
  await import("./soul.ts");
  await import("./yaml.ts");
  await import("./safeguards.ts");
  await import("./supervision.ts");
  await import("./symbols.ts");
  await import("./fix-action.ts");
  await new Promise<void>((resolve, reject) => {
    mocha.run((failures) => (failures === 0 ? resolve() : reject(new Error(`${failures} tests failed`))));
  });
}
