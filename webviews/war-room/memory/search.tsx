import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { MemoryTier, type SearchHit } from "../../../agent-server/contract/memory.ts";
import { Button, Icon, RelativeTime } from "../../shared/components.tsx";
import { formatNumber, t } from "../../shared/l10n.ts";
import { Select } from "../select.tsx";
import type { WarRoom } from "../state.ts";
import { ItemDetail, shownItemHeading } from "./item.tsx";
import { itemsText, Split } from "./list.tsx";
import { type MemoryFilters, noMemoryFilters } from "./state.ts";
import { namespaceText, percent, placeText, sourceText, tierText } from "./words.ts";

const rowHeight = 46;
/** Milliseconds of rest in typing before a search starts. */
const typingRest = 200;

function Row({ hit }: { hit: SearchHit }): JSX.Element {
  const { item, snippet } = hit;
  const text = (snippet === "" ? item.content : snippet).replaceAll(/\s+/g, " ").trim();
  return (
    <div class="memory-row">
      <span class="ellipsis">{text === "" ? t("A message of a deleted task") : text}</span>
      <span class="quiet memory-row-facts">
        <span>{placeText(item)}</span>
        <span>{namespaceText(item.namespace)}</span>
        <span>{t("{0} sure", percent(item.weight))}</span>
        <span>{sourceText(item.provenance.source)}</span>
        <RelativeTime at={item.updatedAt} />
      </span>
    </div>
  );
}

/** A field whose words take effect when typing rests. */
function Typed(props: { label: string; value: string; onValue: (value: string) => void }): JSX.Element {
  const { label, value, onValue } = props;
  const typed = useSignal(value);
  useEffect(() => {
    if (typed.value === value) return undefined;
    const timer = setTimeout(() => onValue(typed.value), typingRest);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useEffect(() => {
    typed.value = value;
  }, [value]);
  return (
    <input
      class="field"
      type="search"
      aria-label={label}
      placeholder={label}
      value={typed.value}
      onInput={(event) => {
        typed.value = event.currentTarget.value;
      }}
    />
  );
}

function Filters({ room }: { room: WarRoom }): JSX.Element {
  const { filters, status } = room.memory;
  const current = filters.value;
  const change = (patch: Partial<MemoryFilters>): void => {
    filters.value = { ...filters.peek(), ...patch };
  };
  const tiers = status.value.value?.tiers;
  const quests = room.store.recentQuests.value.slice(0, 100).map(({ id, title }) => ({ value: `quest:${id}`, text: title.slice(0, 60) }));
  const any = JSON.stringify(current) !== JSON.stringify(noMemoryFilters);
  return (
    <div class="toolbar">
      <div class="filters" role="search" aria-label={t("Search memory")}>
        <div class="filter-text">
          <Icon name="search" />
          <Typed label={t("Search memory")} value={current.query} onValue={(query) => change({ query })} />
        </div>
        <Select
          label={t("Tier")}
          value={current.tier ?? ""}
          options={[
            { value: "", text: t("Any tier") },
            ...MemoryTier.options.map((value) => ({
              value,
              text: tiers === undefined ? tierText(value) : `${tierText(value)} (${formatNumber(tiers[value])})`,
            })),
          ]}
          onChange={(value) => change({ tier: MemoryTier.safeParse(value).data ?? null })}
        />
        <Select
          label={t("Where it counts")}
          value={current.namespace}
          options={[
            { value: "", text: t("Anywhere") },
            { value: "global", text: t("Everywhere") },
            { value: "workspace", text: t("This workspace") },
            ...quests,
          ]}
          onChange={(namespace) => change({ namespace })}
        />
        <div class="filter-tag">
          <Typed label={t("Tag")} value={current.tag} onValue={(tag) => change({ tag })} />
        </div>
        {any && (
          <Button
            kind="link"
            icon="clear-all"
            onClick={() => {
              filters.value = noMemoryFilters;
            }}
          >
            {t("Clear filters")}
          </Button>
        )}
      </div>
    </div>
  );
}

function Nothing({ room }: { room: WarRoom }): JSX.Element {
  const filtered = JSON.stringify(room.memory.filters.value) !== JSON.stringify(noMemoryFilters);
  return (
    <div class="nothing">
      <Icon name="archive" />
      <p>{filtered ? t("Nothing remembered fits.") : t("Nothing is remembered yet.")}</p>
      {!filtered && (
        <p class="quiet">
          {t("Say “remember that …” in the chat, or let a task end: what is worth keeping appears here with where it came from.")}
        </p>
      )}
    </div>
  );
}

/** Everything that is remembered here, by tier and by words; without words the newest first. */
export function SearchSection({ room }: { room: WarRoom }): JSX.Element {
  const { hits, itemId } = room.memory;
  const shown = itemId.value;
  return (
    <Split
      id="memory-hit"
      label={
        room.memory.filters.value.query.trim() === "" ? t("What is remembered, newest first") : t("What is remembered, best match first")
      }
      pages={hits}
      of={JSON.stringify(room.memory.filters.value)}
      keyOf={(hit) => hit.item.id}
      rowHeight={rowHeight}
      row={(hit) => <Row hit={hit} />}
      selected={itemId}
      nothing={<Nothing room={room} />}
      countText={itemsText}
      before={<Filters room={room} />}
      detail={shown === null ? null : { heading: shownItemHeading(room), body: <ItemDetail room={room} id={shown} /> }}
    />
  );
}
