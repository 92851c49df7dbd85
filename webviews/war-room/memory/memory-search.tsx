import type { JSX } from "preact";
import { experienceNamespace, MemoryTier, type SearchHit } from "../../../agent-server/contract/memory.ts";
import { RelativeTime } from "../../shared/components.tsx";
import { formatNumber, formatPercent, t } from "../../shared/l10n.ts";
import { Placeholder } from "../live-panel.tsx";
import { FilterBar, SearchField } from "../search-field.tsx";
import { Select } from "../select.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { ItemDetail, shownItemHeading } from "./item-detail.tsx";
import { itemsText, ListWithDetail } from "../list-with-detail.tsx";
import { type MemoryFilters, noMemoryFilters } from "./memory-state.ts";
import { namespaceText, placeText, sourceText, tierText } from "./memory-labels.ts";

const rowHeight = 46;

function Row({ hit }: { hit: SearchHit }): JSX.Element {
  const { item, snippet } = hit;
  const text = (snippet === "" ? item.content : snippet).replaceAll(/\s+/g, " ").trim();
  return (
    <div class="memory-row">
      <span class="ellipsis">{text === "" ? t("Message of a deleted task") : text}</span>
      <span class="quiet memory-row-facts">
        <span>{placeText(item)}</span>
        <span>{namespaceText(item.namespace)}</span>
        <span>{t("confidence {0}", formatPercent(item.weight))}</span>
        <span>{sourceText(item.provenance.source)}</span>
        <RelativeTime at={item.updatedAt} />
      </span>
    </div>
  );
}

function Filters({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { filters, status } = warRoom.memory;
  const current = filters.value;
  const change = (patch: Partial<MemoryFilters>): void => {
    filters.value = { ...filters.peek(), ...patch };
  };
  const tiers = status.value.value?.tiers;
  const quests = warRoom.store.recentQuests.value
    .slice(0, 100)
    .map(({ id, title }) => ({ value: `quest:${id}`, text: title.slice(0, 60) }));
  return (
    <div class="toolbar">
      <FilterBar
        label={t("Search memory")}
        testId="search-memory"
        query={current.query}
        onQuery={(query) => change({ query })}
        filtered={JSON.stringify(current) !== JSON.stringify(noMemoryFilters)}
        onClear={() => {
          filters.value = noMemoryFilters;
        }}
      >
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
          label={t("Scope")}
          value={current.namespace}
          options={[
            { value: "", text: t("All scopes") },
            { value: "global", text: t("Everywhere") },
            { value: "workspace", text: t("This workspace") },
            { value: experienceNamespace, text: t("Outcomes of tasks") },
            ...quests,
          ]}
          onChange={(namespace) => change({ namespace })}
        />
        <div class="filter-tag">
          <SearchField testId="search-tag" label={t("Tag")} value={current.tag} onValue={(tag) => change({ tag })} />
        </div>
      </FilterBar>
    </div>
  );
}

function EmptySearch({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const filtered = JSON.stringify(warRoom.memory.filters.value) !== JSON.stringify(noMemoryFilters);
  if (filtered) return <Placeholder icon="archive" title={t("No memories match these filters.")} />;
  return (
    <Placeholder
      icon="archive"
      title={t("Memory is empty.")}
      text={t("Tell Lancelot “remember that …” or finish a task. Saved memories appear here with their source.")}
    />
  );
}

/** All memory items by tier and search text; without a search text, the newest first. */
export function SearchSection({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { hits, itemId } = warRoom.memory;
  const shown = itemId.value;
  return (
    <ListWithDetail
      id="memory-hit"
      label={warRoom.memory.filters.value.query.trim() === "" ? t("Memories, newest first") : t("Memories, best match first")}
      pages={hits}
      filterKey={JSON.stringify(warRoom.memory.filters.value)}
      keyOf={(hit) => hit.item.id}
      rowHeight={rowHeight}
      row={(hit) => <Row hit={hit} />}
      selected={itemId}
      empty={<EmptySearch warRoom={warRoom} />}
      countText={itemsText}
      before={<Filters warRoom={warRoom} />}
      detail={shown === null ? null : { heading: shownItemHeading(warRoom), body: <ItemDetail warRoom={warRoom} id={shown} /> }}
    />
  );
}
