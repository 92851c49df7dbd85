import type { Ledger } from "../receipts/receipts.ts";
import { type ConfigFile, createConfigFile, type LoadedConfig } from "./models-config.ts";
import type { ConfigIssue } from "./config-yaml.ts";
import { createRouterFile, type LoadedRouter } from "./router/router-config.ts";

/** models.yaml and router.yaml as they are now: a call reads what stands in them when it is made. */
export interface ConfigFiles {
  models(): LoadedConfig;
  rules(): LoadedRouter;
  /** Names of models.yaml, and `local`. */
  providers(): string[];
  readonly file: ConfigFile;
  /** What is wrong with a text for one of them, as it would be read. */
  lint(file: "models" | "router", text: string): ConfigIssue[];
}

/** @param deps.onChange told when one of them was edited by hand: what was shown of it holds no more */
export function createConfigFiles(deps: {
  configDir: string;
  dataDir: string;
  ledger: Pick<Ledger, "record">;
  onChange: () => void;
}): ConfigFiles {
  /** A file of the owner's that is not in use leaves a receipt, once for each text. */
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
