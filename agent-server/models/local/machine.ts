import { statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Catalog, HubModel } from "./catalog.ts";

/** The machine's resources (bytes). */
export interface Machine {
  /** Memory this process may use. */
  ramBytes: number;
  /** Free memory; null where the system's figure excludes reclaimable memory. */
  freeBytes: number | null;
  /** Whether the runtime of this platform can use a GPU (Metal on Apple silicon). */
  gpu: boolean;
  /** Free space on the disk of the models; null where it is unknown. */
  diskBytes: number | null;
}

/** Space that stays free on the disk (bytes). */
export const diskMargin = 300_000_000;

/** Measures now, within the limits of a container. */
export function measureMachine(folder: string): Machine {
  const limit = process.constrainedMemory();
  const ramBytes = limit > 0 && limit < totalmem() ? limit : totalmem();
  return {
    ramBytes,
    freeBytes: process.platform === "darwin" ? null : Math.min(process.availableMemory(), ramBytes),
    gpu: process.platform === "darwin" && process.arch === "arm64",
    diskBytes: freeDisk(folder),
  };
}

/** The best model of the hub for a machine, and why: the last of the catalog whose needs are met. */
export function chooseModel(catalog: Catalog, machine: Machine): { model: HubModel; fit: string } {
  const model = catalog.hub.findLast((one) => lacks(one, machine) === null) ?? catalog.hub[0];
  if (model === undefined) throw new LancelotError("unavailable", "config/local-models.yaml lists no model.");
  const lacking = lacks(model, machine);
  const verdict =
    lacking === null
      ? `${model.name} fits${model.needs.free_bytes > 0 ? ` (it uses about ${gigabytes(model.needs.free_bytes)} of memory)` : ""}.`
      : `${model.name} is the smallest model, and it ${lacking}.`;
  const larger = catalog.hub.slice(catalog.hub.indexOf(model) + 1).map((one) => `${one.name} ${lacks(one, machine)}.`);
  return { model, fit: [describe(machine), verdict, ...larger].join(" ") };
}

/** How an installed file suits the machine. @param bytes of memory it uses */
export function fitOf(name: string, bytes: number, machine: Machine): string {
  const free = machine.freeBytes ?? machine.ramBytes;
  const verdict =
    bytes > machine.ramBytes
      ? `${name} uses about ${gigabytes(bytes)} of memory, more than this machine has. It will be very slow or fail.`
      : bytes > free
        ? `${name} uses about ${gigabytes(bytes)} of memory. Close other programs before loading it, or it will be slow.`
        : `${name} fits (it uses about ${gigabytes(bytes)} of memory).`;
  return `${describe(machine)} ${verdict}`;
}

/** What a machine lacks for a model, as a predicate; null when nothing. */
function lacks({ needs, bytes }: HubModel, { ramBytes, freeBytes, gpu, diskBytes }: Machine): string | null {
  if (ramBytes < needs.ram_bytes) return `requires a machine with ${gigabytes(needs.ram_bytes)} of memory`;
  if (needs.gpu && !gpu) return "requires a GPU that the embedded runtime can use";
  if (freeBytes !== null && freeBytes < needs.free_bytes) return `requires ${gigabytes(needs.free_bytes)} of free memory`;
  if (diskBytes !== null && diskBytes < bytes + diskMargin) return `requires ${gigabytes(bytes + diskMargin)} of free disk space`;
  return null;
}

function describe({ ramBytes, freeBytes, gpu, diskBytes }: Machine): string {
  const free = freeBytes === null ? "" : ` (${gigabytes(freeBytes)} free)`;
  const disk = diskBytes === null ? "" : `, ${gigabytes(diskBytes)} of free disk space`;
  return `This machine has ${gigabytes(ramBytes)} of memory${free}${disk} and ${gpu ? "a GPU" : "no GPU"} for the embedded runtime.`;
}

/** Of the folder, or of its nearest existing ancestor. */
function freeDisk(folder: string): number | null {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { bavail, bsize } = statfsSync(at);
      return bavail * bsize;
    } catch {
      if (dirname(at) === at) return null;
    }
  }
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
