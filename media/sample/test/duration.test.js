import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "../src/duration.js";

test("seconds alone", () => assert.equal(duration(42), "42 s"));
test("nothing", () => assert.equal(duration(0), "0 s"));
test("minutes", () => assert.equal(duration(300), "5 min"));
test("hours and minutes", () => assert.equal(duration(3900), "1 h 5 min"));
