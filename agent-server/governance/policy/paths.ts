/** A path as the system would open it, and what policy makes of it. */
export type ResolvedPath =
  | {
      readonly ok: true;
      /** Absolute, links resolved in every existing part; the one path to use. */
      readonly absolute: string;
      /** With forward slashes, relative to the workspace root when inside, else the absolute path. */
      readonly display: string;
      readonly inside: boolean;
      /** The last part exists and is: */
      readonly type: "file" | "directory" | "other" | "missing";
      /** What is sensitive about it: `secret` (never read by a tool), `protected` (written with approval only), or null. */
      readonly sensitive: "secret" | "protected" | null;
      /** Id of the rule that says so. */
      readonly rule: string | null;
    }
  | { readonly ok: false; readonly rule: string; readonly message: string };
