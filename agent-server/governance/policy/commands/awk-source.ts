/** What a slash after it divides, when it ends with one of these: a name, a number, a text, a bracket, a field. */
const operandEnd = /[\w"\]$.)]$/;

const keyword = /\b(?:print|printf|return|in|else|do|case|exit)$/;

/**
 * An awk program without the content of its texts, its patterns and its comments, so that what is left is what it does. As it was
 * given, when a slash may as well begin a pattern as divide, or something is left open: then all of it counts.
 */
export function withoutTexts(program: string): string {
  let bare = "";
  for (let at = 0; at < program.length; ) {
    const rest = program.slice(at);
    const char = rest.charAt(0);
    let token = char;
    let kept = char;
    if (char === '"') {
      token = /^"(?:\\.|[^"\\\n])*"/s.exec(rest)?.[0] ?? "";
      if (token === "") return program;
      // An address of the network is a file to awk.
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
        // A slash between brackets ends the pattern for some and not for others.
        if (token === "" || /\[[^\]]*$/.test(token)) return program;
        kept = "//";
      }
    }
    bare += kept;
    at += token.length;
  }
  return bare;
}
