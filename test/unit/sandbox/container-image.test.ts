import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { installedPackages } from "../../../agent-server/sandbox/container/container-image.ts";
import { root } from "../../support/setup/project.mjs";

describe("the packages of an image", () => {
  it("are those of the shipped Dockerfile", () => {
    const packages = installedPackages(readFileSync(join(root, "config/sandbox/Dockerfile"), "utf8"));
    expect(packages).toEqual(expect.arrayContaining(["bash", "git", "nodejs", "python3", "ripgrep", "zip"]));
    expect(packages).not.toContain("rm");
    expect(packages.every((name) => /^[a-z0-9][a-z0-9.+-]*$/.test(name))).toBe(true);
  });

  it.each<[string, string[]]>([
    ["RUN apt-get install -y git g++", ["git", "g++"]],
    ["RUN apt-get update && apt-get install -qq a1 \\\n  b2 \\\n c3 && rm -rf /x", ["a1", "b2", "c3"]],
    ["RUN apt-get install a; echo b\nRUN apt-get install a c\r\n", ["a", "c"]],
    ["RUN npm install left-pad\nRUN pip install x", []],
    ["RUN apt-get install $PACKAGES 'it is' Ignore.", []],
    ["", []],
  ])("of %j", (dockerfile, packages) => {
    expect(installedPackages(dockerfile)).toEqual(packages);
  });

  it("are bounded", () => {
    const names = Array.from({ length: 500 }, (_, index) => `p${String(index)}`);
    expect(installedPackages(`RUN apt-get install ${names.join(" ")}`).length).toBeLessThanOrEqual(60);
  });
});
