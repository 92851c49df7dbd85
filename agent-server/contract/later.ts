/**
 * Methods whose names are public but whose work has not landed. They answer `unavailable` and are not listed anywhere.
 * A method leaves this list when it joins the table.
 */
export const laterMethods: readonly string[] = [
  ...["host.sleep", "host.wake", "intent.classify"],
  ...["create", "list", "get", "update", "approve", "execute"].map((name) => `plans.${name}`),
  ...["router.decide", "router.decisions", "router.stats"],
  ...["summary", "lanes", "savings", "reset"].map((name) => `usage.${name}`),
  ...["status", "core", "search", "begin", "edit", "finish", "rollback", "commits", "compile", "contexts"].map((name) => `memory.${name}`),
  ...["memory.quarantine", "memory.promote", "memory.deny"],
  ...["list", "get", "validate", "install", "enable", "disable", "uninstall", "run", "propose", "proposals"].map(
    (name) => `skills.${name}`,
  ),
  ...["skills.approve", "skills.reject", "skills.package"],
  ...["jobs", "get", "runs", "validate", "enable", "disable", "run", "approve"].map((name) => `scheduler.${name}`),
  ...["context.items", "context.add", "context.remove", "workspace.outline"],
  ...["onboarding.status", "onboarding.answer", "onboarding.command"],
  ...["oauth.initiate", "oauth.revoke", "oauth.status"],
];
