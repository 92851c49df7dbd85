// Fetches the local model that a data folder's catalog offers, as a host does: for a test to kill in the middle. Prints each state that is news.
// Arguments: data folder.
import { createFetch } from "../../../agent-server/models/local/download.ts";
import { openLocal } from "./local-models.ts";

const [dataDir = ""] = process.argv.slice(2);
const network = createFetch({});
const local = openLocal({
  dataDir,
  env: {},
  fetch: network.fetch,
  retryMs: 10,
  onState: ({ status, doneBytes }) => process.stdout.write(`${status} ${doneBytes}\n`),
});
const { status } = await local.download();
process.stdout.write(`ended ${status}\n`);
await local.close();
await network.close();
