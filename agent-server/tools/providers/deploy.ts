import type { ToolProvider } from "../routing/capabilities.ts";
import type { DeployConfig } from "./deploy-config.ts";

/** Finds the commands that the user declared to build, test, package and deploy (requirement T7). They run in the sandbox. */
export function createDeclaredCommands(config: DeployConfig): ToolProvider {
  return {
    id: "declared-commands",
    title: "Declared commands",
    version: () => "1",
    priority: 10,
    local: () => true,
    flag: null,
    // A problem in the file is no fault of this provider: the file is read again each time.
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
        return Promise.resolve({ status: "down", message: problem, nextStep: "Fix config/deploy.yaml in Lancelot's data folder." });
      const declared = config.declared();
      return Promise.resolve(
        declared.length === 0
          ? {
              status: "ok",
              message: "No commands are declared for this workspace.",
              nextStep: "Declare them in config/deploy.yaml in Lancelot's data folder.",
            }
          : { status: "ok", message: `Declared: ${declared.join(", ")}.`, nextStep: null },
      );
    },
  };
}
