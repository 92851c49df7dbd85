import { type Field, literal } from "./shell-fields.ts";
import { asks, type Finding, alwaysAsks } from "./command-findings.ts";
import type { WordContext } from "./types.ts";

const sensitiveVariable =
  /^(?:PATH|HOME|PWD|OLDPWD|SHELL|IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|CDPATH|FPATH|ZDOTDIR|GLOBIGNORE|EXECIGNORE|INPUTRC|HIST.*|MAIL.*|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|GETCONF_DIR|MALLOC_.*|HOSTALIASES|RES_OPTIONS|NLSPATH|TERMINFO.*|TMPDIR|TMP|TEMP|PAGER|.*_?PAGER|LESS.*|MAN.*|EDITOR|VISUAL|.*_EDITOR|BROWSER|GIT_.*|SSH_.*|GPG_.*|SUDO_.*|DISPLAY|XDG_.*|NODE_.*|NPM_CONFIG_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*|COREPACK_.*|PYTHON.*|PIP_.*|UV_.*|VIRTUAL_ENV|CONDA_.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|RBENV.*|PHP.*|COMPOSER_.*|LUA_.*|JAVA_.*|_JAVA_OPTIONS|JDK_.*|CLASSPATH|MAVEN_.*|MVN_.*|GRADLE_.*|SBT_.*|CARGO.*|RUSTC.*|RUSTFLAGS|RUSTDOC.*|RUSTUP_.*|GO(?:FLAGS|PATH|ROOT|PROXY|PRIVATE|NOSUMDB|NOSUMCHECK|TOOLCHAIN|ENV|BIN)|CGO_.*|CC|CXX|CPP|LD|AR|AS|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|MAKE.*|MFLAGS|CMAKE_.*|CTEST_.*|PKG_CONFIG.*|ACLOCAL.*|LIBRARY_PATH|CPATH|C_INCLUDE_PATH|CPLUS_INCLUDE_PATH|COMPILER_PATH|GCC_.*|DOTNET_.*|COR_.*|CORECLR_.*|COMPLUS_.*|NUGET_.*|MSBUILD.*|DOCKER_.*|CONTAINER_.*|PODMAN.*|KUBE.*|HELM_.*|AWS_.*|AZURE_.*|GOOGLE_.*|CLOUDSDK_.*|TF_.*|VAULT_.*|ANSIBLE_.*|TAR_OPTIONS|GREP_OPTIONS|RIPGREP_CONFIG_PATH|FZF_.*|BAT_.*|LS_COLORS|DIFF_.*|RSYNC_.*|CVS_.*|SVN_.*|HG.*|OPENSSL_.*|SSL_.*|CURL_.*|WGETRC|NETRC|KRB5.*|(?:HTTPS?|FTP|ALL|NO)_PROXY|LANCELOT.*|ANTHROPIC_.*|OPENAI_.*|GEMINI_.*|VSCODE_.*|ELECTRON_.*|VIM.*|MYVIMRC|EXINIT|EMACS.*|SCREENRC|TMUX.*|AWK.*|ERL_.*|ELIXIR_.*|MIX_(?!ENV).*|R_.*|JULIA_.*|SWIFT_.*|DEVELOPER_DIR|SDKROOT|TOOLCHAINS|FLUTTER_.*|ANDROID_.*|PRE_COMMIT_.*|TOX_.*|NOX.*|JUST_.*|DIRENV_.*|OPTIND|OPTERR|TIMEFORMAT|POSIXLY_CORRECT|COPROC|FIGNORE|FCEDIT|histchars)$/i;

const harmlessVariable =
  /^(?:NODE_ENV|CI|FORCE_COLOR|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|COLOR|COLORTERM|DEBUG|VERBOSE|RUST_BACKTRACE|RUST_LOG|LOG_LEVEL|TZ|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLUMNS|LINES|PORT|HOST|TEST_[A-Z_]*|UPDATE_[A-Z_]*|DJANGO_SETTINGS_MODULE|GOOS|GOARCH|GOARM|CGO_ENABLED|GO111MODULE|GOMAXPROCS|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|PYTHONIOENCODING|PYTHONHASHSEED|PYTHONUTF8|RAILS_ENV|RACK_ENV|APP_ENV|FLASK_ENV|MIX_ENV|ENVIRONMENT|DOTNET_CLI_TELEMETRY_OPTOUT|DOTNET_NOLOGO|NEXT_TELEMETRY_DISABLED|DO_NOT_TRACK|SOURCE_DATE_EPOCH|CARGO_TERM_COLOR|CARGO_INCREMENTAL|GIT_OPTIONAL_LOCKS|GIT_TERMINAL_PROMPT|NODE_NO_WARNINGS|HUSKY|TERM_PROGRAM|BROWSERSLIST_IGNORE_OLD_DATA|TAP|BABEL_ENV|STORYBOOK_DISABLE_TELEMETRY|PUPPETEER_SKIP_DOWNLOAD|SKIP_[A-Z_]*)$/;

/** True for a variable that changes the behavior of later commands or how programs start. */
export function isSensitiveVariable(name: string): boolean {
  return sensitiveVariable.test(name) && !harmlessVariable.test(name);
}

/** True for a variable that only sets output options or a build variant. */
export function isHarmlessVariable(name: string): boolean {
  return harmlessVariable.test(name);
}

/** True for `PAGER=cat`, which turns a pager off. */
export function isPagerOff(name: string, value: string | null): boolean {
  return /^(?:PAGER|GIT_PAGER|MANPAGER|GH_PAGER|BAT_PAGER|AWS_PAGER|SYSTEMD_PAGER)$/.test(name) && (value === "cat" || value === "");
}

export function changesExecution(name: string): Finding {
  return alwaysAsks(
    "changes-execution",
    `Setting ${name} changes how other commands behave.`,
    ["Keep the environment unchanged and use the program's flags."],
    ["settings"],
  );
}

export const number: Field = { kind: "dynamic", prefix: "", number: true, text: "number" };

/** Standard environment variables without private content. */
const openNames =
  /^(?:[0-9]+|[@*?#$!_-]|USER|LOGNAME|SHELL|HOSTNAME|LANG|LC_[A-Z]+|TERM|PATH|TMPDIR|OSTYPE|HOSTTYPE|MACHTYPE|OLDPWD|SHLVL|COLUMNS|LINES|TZ|CI|NODE_ENV|BASH_VERSION|PIPESTATUS|FUNCNAME|BASH_SOURCE|DIRSTACK|GROUPS|OPTIND|OPTARG|REPLY|IFS)$/;

export const numberNames = /^(?:[?#$!]|RANDOM|SRANDOM|SECONDS|LINENO|EPOCHSECONDS|UID|EUID|PPID|BASHPID|SHLVL|COLUMNS|LINES|OPTIND)$/;

const secretNames = /key|token|secret|pass|credential|auth|cookie|session|private|dsn|database_url|_pat$|^pat_/i;

/** Variables whose value is unknown even after an assignment. */
const volatileNames = /^(?:RANDOM|SRANDOM|SECONDS|LINENO|_|OLDPWD|REPLY|OPTARG|OPTIND|PIPESTATUS|BASH_.*)$/;

/** The possible values of a variable, or null. Reports variables from the environment that may be private. */
export function lookUp(name: string, context: WordContext): readonly Field[] | null {
  if (numberNames.test(name)) return [number];
  if (volatileNames.test(name)) return null;
  if (context.variables.has(name)) return context.variables.get(name) ?? null;
  if (name === "HOME") return [literal(context.home, "$HOME")];
  if (name === "PWD") return context.cwd === null ? null : [literal(context.cwd, "$PWD")];
  if (openNames.test(name)) return null;
  if (secretNames.test(name)) {
    context.onFinding(
      alwaysAsks(
        "secret-variable",
        `The variable ${name} may contain a password or key.`,
        ["Do not use secrets in commands."],
        ["credentials"],
      ),
    );
  } else {
    context.onFinding(asks("variable", `The value of the variable ${name} is unknown.`, ["Write the value instead of the variable."]));
  }
  return null;
}
