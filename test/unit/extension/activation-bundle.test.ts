import * as esbuild from "esbuild";
import { expect, test } from "vitest";

test("activation loads no schemas and no language client; the first start of the host does", async () => {
  const { metafile } = await esbuild.build({
    entryPoints: ["extension/activate.ts"],
    absWorkingDir: new URL("../../..", import.meta.url).pathname,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "cjs",
    outdir: "out",
    external: ["vscode", "*/deferred.ts"],
  });
  const packages = new Set(
    Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {})
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .flatMap(([input]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []),
  );
  expect([...packages].sort()).toEqual([]);
});
