// Entry of the worker thread that parses one page (page-reader.ts), so that a hostile page cannot block the host.
import { parentPort, workerData } from "node:worker_threads";
import { readable } from "./readable.ts";

const { html, url } = workerData as { html: string; url: string };
parentPort?.postMessage(readable(html, url));
