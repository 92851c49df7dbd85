import { expect, it } from "vitest";
import { announcementOf } from "../../../../agent-server/plans/claims/announcements.ts";

it.each([
  "I'm working on it and will report back.",
  "I'll get started.",
  "Give me a moment.",
  "I'll now edit the file.",
  "Sure! Let me check the code.",
  "Okay, I'm going to fix this. This may take a few minutes.",
  "The bug is in cart.ts. Now I'll update the file.",
  "Ich arbeite daran und melde mich.",
  "Ich werde jetzt die Datei bearbeiten.",
  "Einen Moment bitte.",
  "Je m'en occupe.",
  "Je vais modifier le fichier.",
  "Un instant, je vérifie le code.",
  "Voy a editar el archivo.",
  "Estoy trabajando en ello y te informaré.",
  "Dame un momento.",
  "Sto lavorando alla correzione e ti farò sapere.",
  "Adesso controllo il file.",
  "Un attimo, per favore.",
  "Vou começar agora.",
  "Estou trabalhando nisso e te aviso.",
  "Um momento, por favor.",
])("is an announcement: %s", (answer) => {
  expect(announcementOf(answer)).not.toBeNull();
});

it.each([
  "I updated README.md.",
  "If you like, I'll update README.md.",
  "Shall I fix it?",
  "I can fix it. Would you like me to start?",
  "Let me know if you need anything else.",
  "Let me know what you think.",
  "Once you approve the changes, I'll push the branch.",
  "I won't change anything without your approval.",
  "I'm looking forward to your feedback.",
  "I'm happy to check more files.",
  "The log says:\n```\nI'll now edit the file.\n```",
  "> I'll get started.\n\nThat is what it answered.",
  "Hello! How can I help?",
  "The server will start and then report back to the client.",
  "Ich habe die Datei geändert.",
  "Wenn du willst, werde ich die Datei bearbeiten.",
  "Soll ich anfangen?",
  "J'ai modifié le fichier.",
  "Si vous voulez, je vais modifier le fichier.",
  "He actualizado el archivo.",
  "Si quieres, voy a editar el archivo.",
  "Ho aggiornato il file.",
  "Se vuoi, adesso controllo il file.",
  "Atualizei o arquivo.",
  "Se você quiser, vou editar o arquivo.",
])("is none: %s", (answer) => {
  expect(announcementOf(answer)).toBeNull();
});
