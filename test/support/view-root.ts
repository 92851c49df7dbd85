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
  afterEach(async () => {
    render(null, root);
    root.remove();
    // Effects that preact planned for the next frame run while there still is a page.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  });
}
