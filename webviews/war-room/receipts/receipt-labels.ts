import type { ActionType, Receipt } from "../../../agent-server/contract/receipts.ts";
import type { StateProps } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";

export function receiptState(status: Receipt["status"]): StateProps {
  switch (status) {
    case "pending":
      return { icon: "circle-outline", text: t("Open"), kind: "attention" };
    case "success":
      return { icon: "check", text: t("Success"), kind: "good" };
    case "failure":
      return { icon: "error", text: t("Failure"), kind: "bad" };
    case "cancelled":
      return { icon: "debug-stop", text: t("Canceled"), kind: "quiet" };
  }
}

export function typeText(type: ActionType): string {
  switch (type) {
    case "tool_call":
      return t("Tool call");
    case "llm_call":
      return t("Model call");
    case "file_op":
      return t("File");
    case "env_query":
      return t("Environment");
    case "plan_step":
      return t("Plan step");
    case "verification":
      return t("Verification");
    case "user_interaction":
      return t("Your decision");
    case "system":
      return t("System");
  }
}
