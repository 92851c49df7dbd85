import "@vscode-elements/elements/dist/vscode-option/index.js";
import "@vscode-elements/elements/dist/vscode-single-select/index.js";
import type { VscodeSingleSelect } from "@vscode-elements/elements/dist/vscode-single-select/vscode-single-select.js";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "vscode-single-select": import("preact").HTMLAttributes<VscodeSingleSelect> & { label?: string };
      "vscode-option": import("preact").HTMLAttributes<HTMLElement> & { value: string; selected?: boolean };
    }
  }
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly { value: string; text: string }[];
  onChange: (value: string) => void;
}

/** A single-choice list in the style of VS Code's settings. */
export function Select({ label, value, options, onChange }: SelectProps): JSX.Element {
  const element = useRef<VscodeSingleSelect>(null);
  useEffect(() => {
    const select = element.current;
    if (select === null) return undefined;
    const listen = (): void => onChange(select.value);
    select.addEventListener("change", listen);
    return () => select.removeEventListener("change", listen);
  }, [onChange]);
  useEffect(() => {
    const select = element.current;
    if (select !== null && select.value !== value) select.value = value;
  }, [value]);
  return (
    <vscode-single-select ref={element} label={label} title={label}>
      {options.map((option) => (
        <vscode-option key={option.value} value={option.value} selected={option.value === value}>
          {option.text}
        </vscode-option>
      ))}
    </vscode-single-select>
  );
}
