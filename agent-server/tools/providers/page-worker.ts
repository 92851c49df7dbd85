// Entry of a thread that understands one page (page-reader.ts): what a page can do to a parser stays in it.
import { parentPort, workerData } from "node:worker_threads";
import { readable } from "./readable.ts";

const { html, url } = workerData as { html: string; url: string };
parentPort?.postMessage(readable(html, url));
