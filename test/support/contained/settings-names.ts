/**
 * Names of files that another program runs or obeys by itself, written down here from the design and not from the product's own table, so
 * that a gap in the table shows. Paths are compared as case-insensitive file systems do, without characters that such systems ignore.
 */
const patterns: readonly RegExp[] = [
  /(^|\/)\.git(\/|$)/,
  /(^|\/)(\.gitmodules|\.gitconfig)$/,
  /(^|\/)\.vscode\/(settings|tasks|launch|extensions|mcp)\.json$/,
  /\.code-workspace$/,
  /(^|\/)\.idea\/(runconfigurations\/|workspace\.xml$|externaltools\.xml$|watchertasks\.xml$)/,
  /(^|\/)(\.devcontainer\/|\.?devcontainer\.json$)/,
  /(^|\/)(\.npmrc|\.yarnrc(\.ya?ml)?|\.pnpmfile\.[cm]?js|bunfig\.toml)$/,
  /(^|\/)(\.envrc|\.?mise\.toml|\.tool-versions)$/,
  /(^|\/)(\.pre-commit-config\.yaml|\.?lefthook(-local)?\.(ya?ml|toml|json))$/,
  /(^|\/)(\.husky|\.githooks)\//,
  /(^|\/)(\.bazelrc|gradle\.properties|init\.gradle(\.kts)?)$/,
  /(^|\/)\.mvn\//,
  /(^|\/)\.gradle\/init\.d\//,
  /(^|\/)\.cargo\/config(\.toml)?$/,
  /(^|\/)(sitecustomize|usercustomize)\.py$/,
  /\.pth$/,
  /(^|\/)\.github\/workflows\//,
  /(^|\/)(\.gitlab-ci\.ya?ml|\.circleci\/config\.yml|jenkinsfile|azure-pipelines\.yml|\.travis\.yml)$/,
  /(^|\/)(agents|claude|gemini)\.md$/,
  /(^|\/)(\.cursorrules|\.windsurfrules|\.clinerules)$/,
  /(^|\/)\.github\/copilot-instructions\.md$/,
  /(^|\/)\.?mcp\.json$/,
  /(^|\/)(\.bashrc|\.profile|\.bash_profile|\.zshrc|\.zshenv|\.inputrc|\.gdbinit|\.vimrc|\.exrc)$/,
  // Secret files.
  /(^|\/)\.env(\.local|\.production)?$/,
  /(^|\/)(\.netrc|\.pypirc|id_rsa|id_ed25519|credentials)$/,
];

/** Characters that a file system may ignore in a name. */
const ignored = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/** True for a file of the *never applied by itself* kind. @param path relative to the workspace */
export function runsByItself(path: string): boolean {
  const folded = path
    .normalize("NFKC")
    .replace(ignored, "")
    .toLowerCase()
    .split("/")
    .map((part) => part.replace(/[. ]+$/, "") || part)
    .join("/");
  // What packages bring in their own folders is read by nothing.
  if (/(^|\/)(node_modules|\.venv)\//.test(folded) && !/(^|\/)\.git(\/|$)/.test(folded)) return false;
  return patterns.some((pattern) => pattern.test(folded));
}
