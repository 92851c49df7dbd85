import type { ToolProvider } from "../routing/capabilities.ts";
import type { DeployConfig } from "./deploy-config.ts";

/** What the owner declared to build, test, package and deploy this workspace (requirement T7). The commands run in a shell of the sandbox. */
export function createDeclaredCommands(config: DeployConfig): ToolProvider {
  return {
    id: "declared-commands",
    title: "Declared commands",
    version: () => "1",
    priority: 10,
    local: () => true,
    flag: null,
    // What is wrong with what was declared is the file's, and is looked at anew each time.
    blames: () => false,
    offers: {
      deploy_ops: {
        build: (target) => config.find("build", target),
        test: (target) => config.find("test", target),
        package: (target) => config.find("package", target),
        deploy: (target) => config.find("deploy", target),
      },
    },
    probe() {
      const problem = config.problem();
      if (problem !== null)
        return Promise.resolve({ status: "down", message: problem, nextStep: "Correct config/deploy.yaml in Lancelot's data folder." });
      const declared = config.declared();
      return Promise.resolve(
        declared.length === 0
          ? {
              status: "ok",
              message: "No commands are declared for this workspace.",
              nextStep: "Declare them in config/deploy.yaml of Lancelot's data folder.",
            }
          : { status: "ok", message: `Declared: ${declared.join(", ")}.`, nextStep: null },
      );
    },
  };
}
