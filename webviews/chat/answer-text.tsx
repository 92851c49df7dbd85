import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { splitAnswer } from "../../agent-server/contract/answer-sections.ts";
import { sectionId } from "../../agent-server/contract/artifacts.ts";
import { commandAction } from "../shared/commands.ts";
import { Button } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { Markdown } from "../shared/markdown/markdown.tsx";
import type { Chat } from "./chat-state.ts";

interface AnswerTextProps {
  text: string;
  streaming: boolean;
  /** True for a finished answer. Its verbose sections are shown in the War Room's Artifacts. */
  isAnswer: boolean;
  questId: string;
  messageId: string;
  partIndex: number;
  chat: Chat;
}

/** A text of Lancelot. A finished answer ends with a link to its verbose sections; an unfinished one is shown whole, so that nothing jumps. */
export function AnswerText({ text, streaming, isAnswer, questId, messageId, partIndex, chat }: AnswerTextProps): JSX.Element {
  const split = useMemo(() => (isAnswer ? splitAnswer(text) : null), [text, isAnswer]);
  const sections = split?.sections ?? [];
  const shown =
    split === null || sections.length === 0 ? text : split.definitions === "" ? split.chat : `${split.chat}\n\n${split.definitions}`;
  return (
    <>
      <Markdown text={shown} streaming={streaming} bridge={chat.bridge} />
      {sections.length > 0 && (
        <div class="answer-also">
          <Button
            testId="open-artifacts"
            kind="link"
            icon="library"
            title={t("Open Artifacts in the War Room")}
            onClick={() => chat.bridge.ui(commandAction("openWarRoom", { questId, id: sectionId(messageId, partIndex, 0) }))}
          >
            {t("Also: {0}", [...new Set(sections.map(({ title }) => title))].join(", "))}
          </Button>
        </div>
      )}
    </>
  );
}
