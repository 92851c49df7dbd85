/**
 * A title as part of an address: "Äpfel & Birnen" → "apfel-birnen".
 * @param {string} title
 * @returns {string}
 */
export function slug(title) {
  return title
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
