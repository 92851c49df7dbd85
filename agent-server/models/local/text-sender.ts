/** Words come to the host at most so often: 30 times a second reads as a stream, and each message takes time from the model. Milliseconds. */
const everyMs = 33;

/** Joins pieces of text that come quickly. The first is sent at once; what waits is sent when its time has come, whatever comes after. */
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
