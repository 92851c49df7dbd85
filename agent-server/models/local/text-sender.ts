/** Minimum interval between messages (ms): 30 a second look like a stream, and each message costs the model time. */
const everyMs = 33;

/** Joins pieces of text that arrive quickly. The first is sent at once, the others when the interval has passed. */
export function createTextSender(send: (text: string) => void, now: () => number = performance.now.bind(performance)) {
  let waiting = "";
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting === "") return;
    const text = waiting;
    waiting = "";
    last = now();
    send(text);
  }

  return {
    push(text: string): void {
      waiting += text;
      const left = last + everyMs - now();
      if (left <= 0) flush();
      else timer ??= setTimeout(flush, left);
    },
    end: flush,
  };
}
