import { installFakeHost } from "./fake-host.ts";

installFakeHost();
