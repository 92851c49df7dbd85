// @module-tag sandbox
import { describeTaskViews } from "../support/tasks/view-cases.ts";

describeTaskViews();
