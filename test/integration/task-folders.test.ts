// @module-tag sandbox
import { describeTaskFolders } from "../support/tasks/folders-cases.ts";

describeTaskFolders();
