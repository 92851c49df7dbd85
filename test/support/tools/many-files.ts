import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A tree like that of a large repository: `count` small files of different content in folders of fifty, some of them of dependencies. */
export function makeManyFiles(root: string, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const folder = Math.floor(index / 50);
    const top = folder % 4 === 0 ? "node_modules" : "packages";
    const path = join(root, top, `p${Math.floor(folder / 40)}`, "src", `d${folder}`);
    if (index % 50 === 0) mkdirSync(path, { recursive: true });
    writeFileSync(
      join(path, `file-${index}.ts`),
      `// ${index}\n${`export const value${index % 97} = ${index};\n`.repeat(5 + (index % 60))}`,
    );
  }
}
