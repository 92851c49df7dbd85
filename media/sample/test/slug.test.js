import assert from "node:assert/strict";
import { test } from "node:test";
import { slug } from "../src/slug.js";

test("marks and signs", () => assert.equal(slug("Äpfel & Birnen!"), "apfel-birnen"));
