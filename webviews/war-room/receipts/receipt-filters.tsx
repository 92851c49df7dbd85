import type { JSX } from "preact";
import { Tier } from "../../../agent-server/contract/common.ts";
import { ActionType, ReceiptStatus } from "../../../agent-server/contract/receipts.ts";
import { t } from "../../shared/l10n.ts";
import { FilterBar } from "../search-field.tsx";
import { Select } from "../select.tsx";
import { type WarRoom } from "../war-room-state.ts";
import { Filters, noFilters } from "../war-room-types.ts";
import { receiptState, typeText } from "./receipt-labels.ts";

export function ReceiptFilters({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { filters } = warRoom.receipts;
  const current = filters.value;
  const change = (patch: Partial<Filters>): void => {
    filters.value = { ...filters.peek(), ...patch };
  };

  const quest = current.questId === "" ? null : (warRoom.store.quests.value.get(current.questId)?.title ?? current.questId);
  const quests = warRoom.store.recentQuests.value.slice(0, 100).map(({ id, title }) => ({ value: id, text: title.slice(0, 60) }));
  if (quest !== null && !quests.some(({ value }) => value === current.questId)) quests.unshift({ value: current.questId, text: quest });

  return (
    <FilterBar
      label={t("Search receipts")}
      testId="search-receipts"
      query={current.query}
      onQuery={(query) => change({ query })}
      filtered={JSON.stringify(current) !== JSON.stringify(noFilters)}
      onClear={() => {
        filters.value = noFilters;
      }}
    >
      <Select
        label={t("Type")}
        value={current.actionType ?? ""}
        options={[
          { value: "actions", text: t("Actions") },
          { value: "", text: t("Any type") },
          ...ActionType.options.map((value) => ({ value, text: typeText(value) })),
        ]}
        onChange={(value) => change({ actionType: Filters.shape.actionType.safeParse(value).data ?? null })}
      />
      <Select
        label={t("Status")}
        value={current.status ?? ""}
        options={[
          { value: "", text: t("Any status") },
          ...ReceiptStatus.options.map((value) => ({ value, text: receiptState(value).text })),
        ]}
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
        <span>{t("To")}</span>
        <input class="field" type="date" value={current.to} onChange={(event) => change({ to: event.currentTarget.value })} />
      </label>
    </FilterBar>
  );
}
