import type { ClaimLanguage } from "../claim-language.ts";
import { english } from "./english.ts";
import { french } from "./french.ts";
import { german } from "./german.ts";
import { italian } from "./italian.ts";
import { portuguese } from "./portuguese.ts";
import { spanish } from "./spanish.ts";

/** The languages in which answers are checked. */
export const languages: readonly ClaimLanguage[] = [english, german, french, spanish, italian, portuguese];
