/**
 * A shorter text that still fails: parts are left out, halves first, then ever smaller ones.
 * @param fails true when a text fails like the first one
 * @param tries calls of `fails` at most
 */
export async function shrink(text: string, fails: (text: string) => Promise<boolean>, tries = 400): Promise<string> {
  let shortest = text;
  let left = tries;
  for (let size = Math.ceil(shortest.length / 2); size >= 1 && left > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < shortest.length && left > 0; ) {
      const candidate = shortest.slice(0, start) + shortest.slice(start + size);
      left -= 1;
      if (await fails(candidate)) shortest = candidate;
      else start += size;
    }
  }
  return shortest;
}
