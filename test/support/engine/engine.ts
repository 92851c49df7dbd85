import type Dockerode from "dockerode";
import type { startEngine } from "../setup/engine.mjs";

/** A private dockerd; see test/support/setup/engine.mjs. */
export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

export { smallImage, startEngine, toolsImage } from "../setup/engine.mjs";

/**
 * Lancelot's containers. The engine sometimes lists a removed container as dead until it is restarted, when it was removed twice at once:
 * what it cannot inspect is gone.
 */
export async function ourContainers(docker: Dockerode): Promise<Dockerode.ContainerInfo[]> {
  const listed = await docker.listContainers({ all: true, filters: { label: ["lancelot.host"] } });
  const isThere = ({ Id }: Dockerode.ContainerInfo): Promise<boolean> =>
    docker
      .getContainer(Id)
      .inspect()
      .then(() => true)
      .catch((error: { statusCode?: number }) => {
        if (error.statusCode === 404) return false;
        throw error;
      });
  const there = await Promise.all(listed.map(isThere));
  return listed.filter((_, index) => there[index]);
}
