import type { Ledger } from "../receipts/receipts.ts";
import { type ConfigFile, createConfigFile, type LoadedConfig } from "./models-config.ts";
import type { ConfigIssue } from "./config-issue.ts";
import { createRouterFile, type LoadedRouter } from "./router/router-config.ts";

/** Reads models.yaml and router.yaml; every call uses their current content. */
export interface ConfigFiles {
  models(): LoadedConfig;
  rules(): LoadedRouter;
  /** Provider names of models.yaml, and `local`. */
  providers(): string[];
  readonly file: ConfigFile;
  /** The problems of a text for one of the files. */
  lint(file: "models" | "router", text: string): ConfigIssue[];
}

/** @param deps.onChange called when one of them was edited, since displayed state is then outdated */
export function createConfigFiles(deps: {
  configDir: string;
  dataDir: string;
  ledger: Pick<Ledger, "record">;
  onChange: () => void;
}): ConfigFiles {
  /** A rejected user file is recorded as a receipt, once for each text. */
  const noticing = <T extends { readonly problem: string | null }>(name: "models" | "router", read: () => T): (() => T) => {
    let known: T | undefined;
    return () => {
      const loaded = read();
      if (loaded === known) return loaded;
      if (known !== undefined) deps.onChange();
      known = loaded;
      if (loaded.problem !== null)
        deps.ledger.record(
          { actionType: "system", actionName: `${name}_config_rejected`, inputs: { file: `config/${name}.yaml` }, riskTier: "T0" },
          { status: "failure", errorMessage: loaded.problem },
        );
      return loaded;
    };
  };
  const file = createConfigFile(deps);
  const models = noticing("models", file.read);
  const providers = (): string[] => [...new Set([...Object.keys(models().config.providers), "local"])];
  const routerFile = createRouterFile({ ...deps, providers });
  return {
    models,
    rules: noticing("router", routerFile.read),
    providers,
    file,
    lint: (name, text) => [...(name === "models" ? file : routerFile).check(text).issues],
  };
}
