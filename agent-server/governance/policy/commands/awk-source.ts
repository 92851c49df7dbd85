/** A slash after a name, number, string, bracket or field is a division. */
const operandEnd = /[\w"\]$.)]$/;

const keyword = /\b(?:print|printf|return|in|else|do|case|exit)$/;

/**
 * Strips strings, patterns and comments from an awk program, so that only its code remains. Returns the whole program when a
 * slash is ambiguous or a token is unclosed.
 */
export function stripAwkText(program: string): string {
  let bare = "";
  for (let at = 0; at < program.length; ) {
    const rest = program.slice(at);
    const char = rest.charAt(0);
    let token = char;
    let kept = char;
    if (char === '"') {
      token = /^"(?:\\.|[^"\\\n])*"/s.exec(rest)?.[0] ?? "";
      if (token === "") return program;
      // awk opens network addresses as files.
      kept = token.includes("/inet") ? token : '""';
    } else if (char === "#") {
      token = /^[^\n]*/.exec(rest)?.[0] ?? "";
      kept = "";
    } else if (char === "/") {
      const before = bare.trimEnd();
      const isDivision = operandEnd.test(before) && !keyword.test(before);
      if (isDivision && before.endsWith(")") && rest.includes("/", 1)) return program;
      if (!isDivision) {
        token = /^\/(?:\\.|[^/\\\n])*\//.exec(rest)?.[0] ?? "";
        // awk versions differ on whether a slash inside brackets ends the pattern.
        if (token === "" || token.lastIndexOf("[") > token.lastIndexOf("]")) return program;
        kept = "//";
      }
    }
    bare += kept;
    at += token.length;
  }
  return bare;
}
