import { describe, expect, it } from "vitest";
import { networkNeeds } from "../../../../agent-server/governance/policy/network-needs.ts";

const services = [
  { name: "the npm registry", programs: ["npm", "npx"], hosts: ["registry.npmjs.org"] },
  { name: "PyPI", programs: ["pip"], hosts: ["pypi.org", "files.pythonhosted.org"] },
];

describe("what commands need of the network", () => {
  it.each<[string, readonly string[], readonly string[], readonly string[] | null]>([
    ["a package manager", ["npm install left-pad"], ["the npm registry"], ["registry.npmjs.org"]],
    ["one by its path and with variables", ["CI=1 /usr/bin/npm ci"], ["the npm registry"], ["registry.npmjs.org"]],
    ["a module of Python", ["python3 -m pip install x"], ["PyPI"], ["pypi.org", "files.pythonhosted.org"]],
    ["an address", ["curl -fsSL https://Example.org/x.tgz"], [], ["example.org"]],
    ["several addresses", ["curl https://a.example/x https://b.example:443/y"], [], ["a.example", "b.example"]],
    [
      "two services",
      ["npm ci", "pip install x"],
      ["the npm registry", "PyPI"],
      ["registry.npmjs.org", "pypi.org", "files.pythonhosted.org"],
    ],
    [
      "a package manager with an address",
      ["npm install https://example.org/x.tgz"],
      ["the npm registry"],
      ["registry.npmjs.org", "example.org"],
    ],
    ["a remote by its name", ["git fetch origin"], [], null],
    ["a known and an unknown part", ["npm ci", "git pull"], ["the npm registry"], null],
    ["an address that is not encrypted", ["curl http://example.org/"], [], null],
    ["nothing", [], [], null],
  ])("is known for %s", (_what, commands, names, hosts) => {
    expect(networkNeeds(commands, services)).toEqual({ services: names, hosts });
  });
});
