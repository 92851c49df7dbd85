/** Puts text that is data, not instruction, between marks it cannot close itself. */
export function fence(title: string, text: string): string {
  let marks = "```";
  while (text.includes(marks)) marks += "`";
  return `${title}:\n${marks}\n${text}\n${marks}`;
}
