// @module-tag sandbox
import { describeGeneratedFiles } from "../support/tasks/generated-cases.ts";

describeGeneratedFiles();
