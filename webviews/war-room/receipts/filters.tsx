import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Tier } from "../../../agent-server/contract/common.ts";
import { ActionType, ReceiptStatus } from "../../../agent-server/contract/receipts.ts";
import { Button, Icon } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";
import { Select } from "../select.tsx";
import { type Filters, noFilters, type WarRoom } from "../state.ts";
import { statusLook, typeText } from "./words.ts";

/** Milliseconds of rest in typing before a search starts. */
const typingRest = 200;

export function FilterBar({ room }: { room: WarRoom }): JSX.Element {
  const { filters } = room.receipts;
  const current = filters.value;
  const typed = useSignal(current.query);
  const change = (patch: Partial<Filters>): void => {
    filters.value = { ...filters.peek(), ...patch };
  };
  useEffect(() => {
    if (typed.value === filters.peek().query) return undefined;
    const timer = setTimeout(() => change({ query: typed.value }), typingRest);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useEffect(() => {
    typed.value = current.query;
  }, [current.query]);

  const any = JSON.stringify(current) !== JSON.stringify(noFilters);
  const quest = current.questId === "" ? null : (room.store.quests.value.get(current.questId)?.title ?? current.questId);
  const quests = room.store.recentQuests.value.slice(0, 100).map(({ id, title }) => ({ value: id, text: title.slice(0, 60) }));
  if (quest !== null && !quests.some(({ value }) => value === current.questId)) quests.unshift({ value: current.questId, text: quest });

  return (
    <div class="filters" role="search" aria-label={t("Search receipts")}>
      <div class="filter-text">
        <Icon name="search" />
        <input
          class="field"
          type="search"
          aria-label={t("Search receipts")}
          placeholder={t("Search receipts")}
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
          }}
        />
      </div>
      <Select
        label={t("Type")}
        value={current.actionType ?? ""}
        options={[{ value: "", text: t("Any type") }, ...ActionType.options.map((value) => ({ value, text: typeText(value) }))]}
        onChange={(value) => change({ actionType: ActionType.safeParse(value).data ?? null })}
      />
      <Select
        label={t("Status")}
        value={current.status ?? ""}
        options={[{ value: "", text: t("Any status") }, ...ReceiptStatus.options.map((value) => ({ value, text: statusLook(value).text }))]}
        onChange={(value) => change({ status: ReceiptStatus.safeParse(value).data ?? null })}
      />
      <Select
        label={t("Tier")}
        value={current.tier ?? ""}
        options={[{ value: "", text: t("Any tier") }, ...Tier.options.map((value) => ({ value, text: value }))]}
        onChange={(value) => change({ tier: Tier.safeParse(value).data ?? null })}
      />
      <Select
        label={t("Task")}
        value={current.questId}
        options={[{ value: "", text: t("Any task") }, ...quests]}
        onChange={(value) => change({ questId: value })}
      />
      <label class="date">
        <span>{t("From")}</span>
        <input class="field" type="date" value={current.from} onChange={(event) => change({ from: event.currentTarget.value })} />
      </label>
      <label class="date">
        <span>{t("to")}</span>
        <input class="field" type="date" value={current.to} onChange={(event) => change({ to: event.currentTarget.value })} />
      </label>
      {any && (
        <Button
          kind="link"
          icon="clear-all"
          onClick={() => {
            filters.value = noFilters;
          }}
        >
          {t("Clear filters")}
        </Button>
      )}
    </div>
  );
}
