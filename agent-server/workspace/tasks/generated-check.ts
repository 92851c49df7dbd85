import { displayPath } from "../byte-path.ts";

/** Folders that package managers fill. What lies there configures nothing but the packages. */
const dependencyFolders = new Set(["node_modules", "bower_components", ".venv", "venv", "site-packages", "vendor", "Pods"]);
/** Names behind a link or folder whose meaning depends on the folder's name. */
const inside = ["x", "config", "settings.json", "tasks.json", "launch.json"];

/** Finds entries that are never applied as generated: repository metadata at any depth, secrets, and settings that programs run. */
export interface GeneratedCheck {
  /** Checks one entry by its name. */
  name(path: string, kind: "file" | "link" | "folder"): void;
  /** Checks a folder by the names of all that it will contain. */
  folder(path: string, names: Iterable<string>): void;
  /** Refused paths, for messages. */
  readonly refused: readonly string[];
}

export function createGeneratedCheck(judgeName: (relative: string) => "secret" | "protected" | null): GeneratedCheck {
  const refused = new Set<string>();

  function isForbidden(path: string, kind: "file" | "link" | "folder"): boolean {
    const parts = path.split("/");
    if (parts.some((part) => part.toLowerCase() === ".git")) return true;
    if (parts.slice(0, -1).some((part) => dependencyFolders.has(part))) return false;
    if (judgeName(path) !== null) return true;
    return kind === "link" && inside.some((name) => judgeName(`${path}/${name}`) !== null);
  }

  return {
    name(path, kind) {
      if (isForbidden(path, kind)) refused.add(displayPath(path));
    },
    folder(path, names) {
      const found = new Set<string>();
      for (const name of names) if (/^(?:HEAD|objects|refs|commondir)$/i.test(name)) found.add(name.toLowerCase());
      if (found.has("head") && (found.has("commondir") || (found.has("objects") && found.has("refs")))) refused.add(displayPath(path));
    },
    get refused() {
      return [...refused].sort();
    },
  };
}
