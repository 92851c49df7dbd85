import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import { GuardedMessage } from "./message.tsx";
import type { Chat } from "./chat-state.ts";
import { earlierCount, isAtEnd, windowSize } from "./message-window.ts";

/**
 * The conversation. Only its last messages are in the page at first; earlier ones are added as the user scrolls up, and the browser skips
 * off-screen content (`content-visibility`). The list follows new text only while the user is at the end.
 */
export function MessageList({ chat, children }: { chat: Chat; children: ComponentChildren }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const top = useRef<HTMLDivElement>(null);
  const atEnd = useSignal(true);
  const shown = useSignal(windowSize);
  const messages = chat.conversation.messages.value;
  const questId = chat.conversation.questId.value;
  const earlier = earlierCount(messages.length, shown.value);
  const showJump = useComputed(() => !atEnd.value);

  const toEnd = (): void => {
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
    atEnd.value = true;
  };
  const showEarlier = (): void => {
    const element = scroller.current;
    const before = element?.scrollHeight ?? 0;
    shown.value += windowSize;
    requestAnimationFrame(() => {
      // Scroll anchoring does not work at the very top.
      if (element !== null && element.scrollTop < 4) element.scrollTop += element.scrollHeight - before;
    });
  };

  useLayoutEffect(() => {
    shown.value = windowSize;
    toEnd();
  }, [questId]);

  useEffect(() => {
    const element = scroller.current;
    const inner = content.current;
    if (element === null || inner === null) return undefined;
    const onScroll = (): void => {
      atEnd.value = isAtEnd(element);
    };
    const follow = new ResizeObserver(() => {
      if (atEnd.peek()) element.scrollTop = element.scrollHeight;
    });
    element.addEventListener("scroll", onScroll, { passive: true });
    follow.observe(inner);
    follow.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      follow.disconnect();
    };
  }, []);

  useEffect(() => {
    const mark = top.current;
    if (mark === null || earlier === 0) return undefined;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting) && !atEnd.peek()) showEarlier();
    });
    seen.observe(mark);
    return () => seen.disconnect();
  }, [earlier]);

  return (
    <div class="conversation">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
      <div class="messages" ref={scroller} role="log" aria-live="off" aria-label={t("Conversation")} tabIndex={0}>
        <div class="messages-content" ref={content}>
          {earlier > 0 && (
            <div class="earlier" ref={top}>
              <Button testId="show-earlier" kind="link" onClick={showEarlier}>
                {count(earlier, "Show {0} Earlier Message", "Show {0} Earlier Messages")}
              </Button>
            </div>
          )}
          {messages.slice(earlier).map((message, index) => (
            <GuardedMessage key={message.peek().id} message={message} next={messages[earlier + index + 1]} chat={chat} />
          ))}
          {children}
        </div>
      </div>
      {showJump.value && (
        <div class="jump">
          <Button testId="jump-to-latest" icon="arrow-down" onClick={toEnd}>
            {t("Jump to Latest")}
          </Button>
        </div>
      )}
    </div>
  );
}
