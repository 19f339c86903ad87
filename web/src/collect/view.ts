// view.ts - what the sections of a fleet's page share: the data with its lines over time, the ranges, what is chosen and looked for.
import { day, duration, exact, NBSP, timeOfDay } from '../common/numbers';
import type { Fleet, Line } from './model';
import { type Change, coverOf, coveredOn, others, type Range, type Series, series, type Share, share, sum, whole } from './shares';

export interface Chosen {
	a: Range | null;
	b: Range | null;
}

export class View {
	readonly lines: Series[];
	readonly all: Series;
	/** All statements that have no line of their own. */
	readonly rest: Series;
	/** Of the first `statements` lines; functions follow. */
	readonly statements: number;
	a: Range | null = null;
	b: Range | null = null;
	expression: RegExp | null = null;
	/** The line whose plans are shown. */
	line = 0;
	private covers = new Map<number, Float64Array>();
	private tells: (() => void)[] = [];

	constructor(readonly fleet: Fleet) {
		this.lines = fleet.lines.map(l => series(l, fleet.slots));
		this.all = series(fleet.all, fleet.slots);
		this.statements = fleet.lines.filter(l => l.kind !== 'function').length;
		this.rest = others(this.all, this.lines.slice(0, this.statements), fleet.slots);
	}

	/** Called whenever a range, the search or the chosen line is another. */
	onChange(tell: () => void): void {
		this.tells.push(tell);
	}

	tell(): void {
		this.tells.forEach(tell => tell());
	}

	/** What the tables below the timeline show: B where there are two ranges, A where there is one, else the whole run. */
	range(): Range {
		return this.b ?? this.a ?? whole(this.fleet.slots);
	}

	cover(server: number): Float64Array {
		let found = this.covers.get(server);
		if (!found) this.covers.set(server, found = coverOf(this.fleet, server));
		return found;
	}

	share(i: number, r: Range): Share {
		const own = coveredOn(this.cover(this.fleet.lines[i].server), r);
		return share(this.fleet, r, sum(this.lines[i], r), sum(this.all, r), own);
	}

	/** Of what has no line, and of all that match. */
	shareOf(s: Series, r: Range): Share {
		return share(this.fleet, r, sum(s, r), sum(this.all, r), 1);
	}

	server(line: Line): string {
		return this.fleet.servers[line.server]?.server ?? line.where ?? '';
	}

	matches(line: Line): boolean {
		const e = this.expression;
		return !e || e.test(line.name) || e.test(line.database) || e.test(this.server(line));
	}
}

/** "28 Nov, 22:10", with seconds where slots are short. */
export function moment(ms: number | null | undefined, hasSeconds = false): string {
	return ms == null ? '' : `${day(ms)}, ${timeOfDay(ms, hasSeconds)}`;
}

/** From slot to slot in words. */
export function rangeWords(f: Fleet, [from, to]: Range): string {
	const start = (f.from ?? 0) + from * f.slot, end = (f.from ?? 0) + (to + 1) * f.slot, isShort = f.slot < 60000;
	return day(start) === day(end)
		? `${day(start)}, ${timeOfDay(start, isShort)} to ${timeOfDay(end, isShort)}`
		: `${moment(start, isShort)} to ${moment(end, isShort)}`;
}

/** Microseconds in words. */
export function spent(us: number): string {
	return us === 0 ? '0' : duration(us * 1000);
}

/** Of a call. */
export function each(us: number, calls: number): string {
	return calls > 0 ? duration(us / calls * 1000) : '';
}

export function ago(ms: number): string {
	return `${duration(Math.max(0, ms) * 1e6)} ago`;
}

/** "▲ × 13" */
export function timesWords(c: Change): string {
	return `${c.times > 1 ? '▲' : '▼'} ×${NBSP}${c.times.toFixed(c.times >= 10 ? 0 : c.times > 3 ? 1 : 2)}`;
}

export function largeCount(n: number): string {
	return n < 1e7 ? exact(n) : `${(n / 1e6).toFixed(1)}${NBSP}million`;
}
