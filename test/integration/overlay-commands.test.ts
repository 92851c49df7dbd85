// @module-tag sandbox
import { overlayCases } from "../support/sandbox/overlay-cases.ts";

overlayCases("as whoever runs the tests");
