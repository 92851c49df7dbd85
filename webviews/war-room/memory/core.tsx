import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { CoreBlock, MemoryItem } from "../../../agent-server/contract/memory.ts";
import { Button, Icon, RelativeTime } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { Block, LivePanel, Meter } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { addTo } from "./acts.ts";
import { ItemActions, ItemFacts } from "./entry.tsx";
import { problemFor, TextForm } from "./parts.tsx";
import { blockMeaning, blockText } from "./words.ts";

/** Entries of a block that are drawn before the rest is asked for. */
const entriesShown = 40;
const longestText = 4000;

function Entry({ room, item }: { room: WarRoom; item: MemoryItem }): JSX.Element {
  return (
    <li class="entry">
      <p class="item-text">{item.content}</p>
      <ItemFacts room={room} item={item} />
      <ItemActions room={room} item={item} onHistory={() => room.showMemory({ itemId: item.id })} />
    </li>
  );
}

function Excluded({ block }: { block: CoreBlock }): JSX.Element | null {
  if (block.excluded.length === 0) return null;
  const texts = new Map(block.entries.map(({ id, content }) => [id, content]));
  return (
    <div class="left-out">
      <p>
        <Icon name="warning" /> {count(block.excluded.length, "{0} entry stays out of the prompt:", "{0} entries stay out of the prompt:")}
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

function Add({ room, block }: { room: WarRoom; block: CoreBlock }): JSX.Element {
  const open = useSignal(false);
  const { memory } = room;
  const close = (): void => {
    open.value = false;
  };
  if (open.value)
    return (
      <TextForm
        label={t("New entry: {0}", blockText(block.block))}
        rows={2}
        yes={t("Add")}
        maxLength={longestText}
        busy={memory.busy.value !== null}
        problem={problemFor(room, addTo(block.block))}
        onSend={(text) => void memory.add(block.block, text).then((ok) => ok && close())}
        onClose={close}
      />
    );
  return (
    <div class="actions">
      <Button
        icon="add"
        label={t("Add entry: {0}", blockText(block.block))}
        onClick={() => {
          open.value = true;
        }}
      >
        {t("Add entry")}
      </Button>
    </div>
  );
}

/** A persona is read, not edited: it is the soul, in short. */
function Persona({ room, block }: { room: WarRoom; block: CoreBlock }): JSX.Element {
  return (
    <>
      {block.text === "" ? (
        <p class="quiet">{t("No soul is in effect.")}</p>
      ) : (
        <details class="persona">
          <summary>{t("Show its text")}</summary>
          <p class="item-text">{block.text}</p>
        </details>
      )}
      <div class="actions">
        <Button icon="heart" onClick={() => room.showTab("soul")}>
          {t("Open the soul")}
        </Button>
      </div>
    </>
  );
}

function BlockView({ room, block }: { room: WarRoom; block: CoreBlock }): JSX.Element {
  const all = useSignal(false);
  const name = blockText(block.block);
  const { entries, sources, version, updatedAt } = block;
  const shown = all.value || entries.length <= entriesShown + 5 ? entries : entries.slice(0, entriesShown);
  return (
    <Block
      title={name}
      wide
      aside={
        <Meter
          value={block.tokens}
          most={block.cap}
          label={t("Budget of {0}", name)}
          text={t("{0} of {1} tokens", formatNumber(block.tokens), formatNumber(block.cap))}
        />
      }
    >
      <p class="quiet">
        {blockMeaning(block.block)}
        {sources.length > 0 && ` ${t("Sources: {0}.", sources.join(", "))}`}
        {version > 0 && ` ${t("Version {0},", formatNumber(version))} `}
        {version > 0 && updatedAt !== null && <RelativeTime at={updatedAt} />}
      </p>
      {block.block === "persona" ? (
        <Persona room={room} block={block} />
      ) : (
        <>
          {entries.length === 0 && block.text !== "" && <p class="item-text">{block.text}</p>}
          {entries.length === 0 && block.text === "" && <p class="quiet">{t("Nothing yet.")}</p>}
          {entries.length > 0 && (
            <ul class="entries">
              {shown.map((item) => (
                <Entry key={item.id} room={room} item={item} />
              ))}
            </ul>
          )}
          {shown.length < entries.length && (
            <Button
              kind="link"
              onClick={() => {
                all.value = true;
              }}
            >
              {t("Show all {0} entries", formatNumber(entries.length))}
            </Button>
          )}
          <Excluded block={block} />
          <Add room={room} block={block} />
        </>
      )}
    </Block>
  );
}

/** The five blocks that stand in every prompt, in their order. */
export function CoreSection({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel room={room} live={room.memory.core} label={t("Core blocks")}>
      {(blocks) => blocks.map((block) => <BlockView key={block.block} room={room} block={block} />)}
    </LivePanel>
  );
}
