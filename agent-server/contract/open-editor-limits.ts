/** Files and characters of a selection that the editor tells about. Here without schemas, because the extension loads them at its start. */
export const maxOpenEditors = 20;
export const maxSelectedText = 2_000;
