import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { CoreBlock, MemoryItem } from "../../../agent-server/contract/memory.ts";
import { Button, Icon, RelativeTime } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { Block, LivePanel, Meter } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { addActionId } from "./memory-actions.ts";
import { ItemActions, ItemFacts } from "./item-actions.tsx";
import { problemFor, TextForm } from "./memory-parts.tsx";
import { blockMeaning, blockText } from "./memory-labels.ts";

/** Number of entries of a block that are shown at first. */
const entriesShown = 40;
const maxTextLength = 4000;

function Entry({ warRoom, item }: { warRoom: WarRoom; item: MemoryItem }): JSX.Element {
  return (
    <li class="entry">
      <p class="item-text">{item.content}</p>
      <ItemFacts warRoom={warRoom} item={item} />
      <ItemActions warRoom={warRoom} item={item} onHistory={() => warRoom.showMemory({ itemId: item.id })} />
    </li>
  );
}

function Excluded({ block }: { block: CoreBlock }): JSX.Element | null {
  if (block.excluded.length === 0) return null;
  const texts = new Map(block.entries.map(({ id, content }) => [id, content]));
  return (
    <div class="excluded-entries">
      <p>
        <Icon name="warning" />{" "}
        {count(block.excluded.length, "{0} entry is excluded from the prompt:", "{0} entries are excluded from the prompt:")}
      </p>
      <ul class="sentences">
        {block.excluded.map(({ id, reason }) => (
          <li key={id}>
            {texts.get(id) ?? id} <span class="quiet">{reason}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Add({ warRoom, block }: { warRoom: WarRoom; block: CoreBlock }): JSX.Element {
  const open = useSignal(false);
  const { memory } = warRoom;
  const close = (): void => {
    open.value = false;
  };
  if (open.value)
    return (
      <TextForm
        testId="new-entry"
        label={t("New entry: {0}", blockText(block.block))}
        rows={2}
        submitLabel={t("Add")}
        maxLength={maxTextLength}
        busy={memory.busy.value !== null}
        problem={problemFor(warRoom, addActionId(block.block))}
        onSend={(text) => void memory.add(block.block, text).then((ok) => ok && close())}
        onClose={close}
      />
    );
  return (
    <div class="actions">
      <Button
        testId={`add-entry:${block.block}`}
        icon="add"
        label={t("Add Entry: {0}", blockText(block.block))}
        onClick={() => {
          open.value = true;
        }}
      >
        {t("Add Entry")}
      </Button>
    </div>
  );
}

/** The persona block is read-only, because it summarizes the soul. */
function Persona({ warRoom, block }: { warRoom: WarRoom; block: CoreBlock }): JSX.Element {
  return (
    <>
      {block.text === "" ? (
        <p class="quiet">{t("No soul is active.")}</p>
      ) : (
        <details class="persona">
          <summary>{t("Show Text")}</summary>
          <p class="item-text">{block.text}</p>
        </details>
      )}
      <div class="actions">
        <Button testId="open-soul" icon="heart" onClick={() => warRoom.showTab("soul")}>
          {t("Open Soul")}
        </Button>
      </div>
    </>
  );
}

function BlockView({ warRoom, block }: { warRoom: WarRoom; block: CoreBlock }): JSX.Element {
  const all = useSignal(false);
  const name = blockText(block.block);
  const { entries, sources, version, updatedAt } = block;
  const shown = all.value || entries.length <= entriesShown + 5 ? entries : entries.slice(0, entriesShown);
  return (
    <Block
      testId={`block:${block.block}`}
      title={name}
      wide
      aside={
        <Meter
          value={block.tokens}
          max={block.cap}
          label={t("Token budget: {0}", name)}
          text={t("{0} of {1} tokens", formatNumber(block.tokens), formatNumber(block.cap))}
        />
      }
    >
      <p class="quiet">
        {blockMeaning(block.block)}
        {sources.length > 0 && ` ${t("Sources: {0}.", sources.join(", "))}`}
        {version > 0 && ` ${t("Version {0}", formatNumber(version))}, `}
        {version > 0 && updatedAt !== null && <RelativeTime at={updatedAt} />}
      </p>
      {block.block === "persona" ? (
        <Persona warRoom={warRoom} block={block} />
      ) : (
        <>
          {entries.length === 0 && block.text !== "" && <p class="item-text">{block.text}</p>}
          {entries.length === 0 && block.text === "" && (
            <p class="quiet" data-testid="empty-block">
              {t("Empty")}
            </p>
          )}
          {entries.length > 0 && (
            <ul class="entries">
              {shown.map((item) => (
                <Entry key={item.id} warRoom={warRoom} item={item} />
              ))}
            </ul>
          )}
          {shown.length < entries.length && (
            <Button
              testId="show-all-entries"
              kind="link"
              onClick={() => {
                all.value = true;
              }}
            >
              {t("Show All {0} Entries", formatNumber(entries.length))}
            </Button>
          )}
          <Excluded block={block} />
          <Add warRoom={warRoom} block={block} />
        </>
      )}
    </Block>
  );
}

/** The five blocks that every prompt contains, in prompt order. */
export function CoreSection({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <LivePanel warRoom={warRoom} live={warRoom.memory.core} label={t("Core blocks")}>
      {(blocks) => blocks.map((block) => <BlockView key={block.block} warRoom={warRoom} block={block} />)}
    </LivePanel>
  );
}
