// Amounts and times in words.

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const INFINITE_ITEMS = 1e9;
const INFINITE_BYTES = INFINITE_ITEMS * 2 ** 30;

// Formats are kept: toLocaleString makes one for each number, in a tenth of a millisecond.
const withDigits = (digits: number) => new Intl.NumberFormat("en", { maximumFractionDigits: digits });
const BY_DIGITS = { 0: withDigits(0), 1: withDigits(1), 2: withDigits(2), 3: withDigits(3) };
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0, useGrouping: false });

// A number with so many digits after the point at most.
export function rounded(value: number, digits: keyof typeof BY_DIGITS): string {
  return BY_DIGITS[digits].format(value);
}

function decimals(value: number): string {
  return value < 10 ? rounded(value, 1) : value < 10_000 ? WHOLE.format(value) : rounded(value, 0);
}

export function isInfinite(value: number, unit: string): boolean {
  return amount(value, unit) === "∞";
}

// An amount in the unit of the read API, as Kubernetes writes it.
export function amount(value: number, unit: string): string {
  if (unit === "milliCPU") {
    return value >= INFINITE_ITEMS * 1000 ? "∞" : value % 1000 === 0 || value > 10_000 ? decimals(value / 1000) : `${value}m`;
  }
  if (unit === "bytes") {
    if (value >= INFINITE_BYTES) return "∞";
    let scaled = value;
    let power = 0;
    while (Math.abs(scaled) >= 1024 && power < BINARY.length - 1) {
      scaled /= 1024;
      power += 1;
    }
    return decimals(scaled) + BINARY[power];
  }
  return value >= INFINITE_ITEMS ? "∞" : decimals(value);
}

// "12m", "3d2h": two units at most.
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 && seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return hours < 10 && minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 10 && hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
}

// "12m ago", "in 3h".
export function distance(instant: string, now: number): string {
  const away = Date.parse(instant) - now;
  if (Number.isNaN(away)) return instant;
  return away > 500 ? `in ${duration(away)}` : `${duration(-away)} ago`;
}

const EXACT = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});

// In the zone of the reader.
export function exact(instant: string): string {
  const time = Date.parse(instant);
  return Number.isNaN(time) ? instant : EXACT.format(time);
}

export function count(value: number): string {
  return rounded(value, 3);
}

// "4th", "22nd", "113th".
export function ordinal(value: number): string {
  const isTeen = Math.floor(value / 10) % 10 === 1;
  return `${count(value)}${(isTeen ? undefined : ["th", "st", "nd", "rd"][value % 10]) ?? "th"}`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

// A text of the server, with its instants apart.
export function instantsOf(text: string): (string | { at: string })[] {
  const parts: (string | { at: string })[] = [];
  let end = 0;
  for (const match of text.matchAll(INSTANT)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ at: match[0] });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
