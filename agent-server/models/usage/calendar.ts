/** The date of an instant in the machine's time zone, or in `timeZone` (an IANA name): YYYY-MM-DD. */
export function createCalendar(timeZone?: string): (at: Date) => string {
  // A formatter loads megabytes of system tables; the machine's own zone needs none.
  if (timeZone === undefined) return (at) => `${pad(at.getFullYear(), 4)}-${pad(at.getMonth() + 1, 2)}-${pad(at.getDate(), 2)}`;
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });
  return (at) => {
    const part = (type: Intl.DateTimeFormatPartTypes): string => format.formatToParts(at).find((one) => one.type === type)?.value ?? "";
    return `${part("year")}-${part("month")}-${part("day")}`;
  };
}

function pad(number: number, digits: number): string {
  return String(number).padStart(digits, "0");
}

/** The date `count` days earlier, by the calendar, so that a day of 23 or 25 hours counts as one. */
export function daysBefore(day: string, count: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1, date - count)).toISOString().slice(0, 10);
}
