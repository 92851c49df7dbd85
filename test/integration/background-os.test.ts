// @module-tag sandbox
import { backgroundCases } from "../support/sandbox/background-cases.ts";

backgroundCases("as root or the user who runs this");
