// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { SearchField } from "../../../webviews/war-room/search-field.tsx";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
eachWithRoot((made) => {
  root = made;
});

const value = signal("");
const applied = vi.fn((text: string) => {
  value.value = text;
});
beforeEach(() => {
  value.value = "";
  applied.mockClear();
});

function Field() {
  return <SearchField testId="search" label="Search" value={value.value} onValue={applied} />;
}

const field = (): HTMLInputElement => root.querySelector("input") as HTMLInputElement;
function type(text: string): void {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
}

describe("a search field", () => {
  it("keeps what is typed before its effects have run for the first time", async () => {
    render(<Field />, root);
    type("staging");
    await vi.waitFor(() => expect(applied.mock.calls).toEqual([["staging"]]));
    expect(field().value).toBe("staging");
  });

  it("applies a text once, when the typing stops, and keeps what follows", async () => {
    await act(() => render(<Field />, root));
    for (const text of ["s", "st", "sta"]) await act(() => type(text));
    expect(applied).not.toHaveBeenCalled();
    applied.mockImplementationOnce((text) => {
      value.value = text;
      type("stag");
    });
    await vi.waitFor(() => expect(applied.mock.calls).toEqual([["sta"], ["stag"]]));
    expect(field().value).toBe("stag");
  });

  it("shows a value that is set from elsewhere", async () => {
    await act(() => render(<Field />, root));
    await act(() => type("staging"));
    await vi.waitFor(() => expect(applied).toHaveBeenCalledOnce());
    await act(() => {
      value.value = "";
    });
    await vi.waitFor(() => expect(field().value).toBe(""));
  });
});
