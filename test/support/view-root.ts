import { render } from "preact";
import { afterEach, beforeEach } from "vitest";

/** An element of its own for each test of a file, to draw a view into; what was drawn is gone after it. */
export function eachWithRoot(use: (root: HTMLElement) => void): void {
  let root: HTMLElement;
  beforeEach(() => {
    root = document.createElement("div");
    document.body.append(root);
    use(root);
  });
  afterEach(() => {
    render(null, root);
    root.remove();
  });
}
