// moments.ts - instants and ranges of the run in words, as the report of the terminal says them.
import type { Tick } from '../common/timeline';
import { clockTicks } from '../common/timeline';
import { day, timeOfDay } from '../common/numbers';
import type { Model, Range } from './model';

/** An instant with its second, and its day where the run is longer than one. */
export function second(m: Model, ns: number): string {
	return instant(m, m.data.startedMs + ns / 1e6, true);
}

function instant(m: Model, ms: number, hasSeconds: boolean): string {
	return (m.data.hasDate ? `${day(ms)}, ` : '') + timeOfDay(ms, hasSeconds);
}

/** Rows shorter than a minute need seconds to be told apart. */
function isFine(m: Model): boolean {
	return m.data.rowNs < 60e9 || m.data.rows < 3;
}

/** "17:00 to 18:30" */
export function rangeWords(m: Model, range: Range): string {
	const [from, to] = range ?? [0, m.data.rows - 1];
	return `${instant(m, m.at(from), isFine(m))} to ${instant(m, m.at(to + 1), isFine(m))}`;
}

/** Where row `at` begins. */
export function rowWords(m: Model, at: number): string {
	return instant(m, m.at(at), isFine(m));
}

export function ticks(m: Model): Tick[] {
	const lengthMs = (m.data.rows * m.data.rowNs) / 1e6;
	const hasSeconds = lengthMs < 600e3;
	return clockTicks(m.data.startedMs, lengthMs, ms => instant(m, ms, hasSeconds));
}

/** About twenty spans of rows, for the table beside a chart. */
export function spans(rows: number): Range[] {
	const each = Math.max(1, Math.ceil(rows / 20));
	const out: Range[] = [];
	for (let from = 0; from < rows; from += each) out.push([from, Math.min(from + each, rows) - 1]);
	return out;
}
