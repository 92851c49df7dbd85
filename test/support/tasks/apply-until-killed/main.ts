import { applyGenerated, recoverGenerated, undoGenerated } from "../../../../agent-server/workspace/workspace.ts";
import { generatedRequest } from "../killed-apply.ts";

// Applies the generated files of a test, undoes a journal, or recovers what was left unfinished, and is killed in between.
const [lower = "", task = "", id = "", undo = ""] = process.argv.slice(2);
process.stdout.write("begun\n");
if (undo === "recover") await recoverGenerated(task);
else if (undo === "") await applyGenerated(generatedRequest(lower, task, id));
else await undoGenerated(undo);
