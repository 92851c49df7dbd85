import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../src/cart.js";

test("adds up", () => assert.equal(total([{ price: 250, count: 4 }]), 1000));
test("discount from 100 € on", () => assert.equal(total([{ price: 10000, count: 1 }]), 9000));
