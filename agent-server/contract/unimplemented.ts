/**
 * Public methods that are not implemented yet. They respond with `unavailable` and are not listed. Remove a method from this list when
 * adding it to the table.
 */
export const unimplementedMethods: readonly string[] = [
  ...["list", "get", "validate", "install", "enable", "disable", "uninstall", "run", "propose", "proposals"].map(
    (name) => `skills.${name}`,
  ),
  ...["skills.approve", "skills.reject", "skills.package"],
  ...["jobs", "get", "runs", "validate", "enable", "disable", "run", "approve"].map((name) => `scheduler.${name}`),
  ...["onboarding.status", "onboarding.answer", "onboarding.command"],
];
