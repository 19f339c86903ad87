// shares.ts - sums and shares of a range of slots, with what is not covered as their error. The same estimator as
// src/core/fleet_time_cover.c; tests hold one against the other. Pure.

import type { Cells, Fleet, Line } from './model';

/** Slots from the first to the last, both inside. */
export type Range = [number, number];

export interface Sum {
	calls: number;
	us: number;
	unknown: number;
	hidden: number;
}

/** A line over all slots. */
export interface Series {
	calls: Float64Array;
	us: Float64Array;
	unknown: Float64Array;
	hidden: Float64Array;
}

export function nothing(slots: number): Series {
	const none = () => new Float64Array(slots);
	return { calls: none(), us: none(), unknown: none(), hidden: none() };
}

export function series(c: Cells, slots: number): Series {
	const out = nothing(slots);
	let at = 0;

	for (let i = 0; i + 2 < c.cells.length; i += 3) {
		at += c.cells[i];
		if (at >= slots)
			break;
		out.calls[at] = c.cells[i + 1];
		out.us[at] = c.cells[i + 2];
	}
	for (let i = 0; i + 2 < c.unknown.length; i += 3) {
		if (c.unknown[i] >= slots)
			break;
		out.unknown[c.unknown[i]] = c.unknown[i + 1];
		out.hidden[c.unknown[i]] = c.unknown[i + 2];
	}
	return out;
}

export function whole(slots: number): Range {
	return [0, slots - 1];
}

export function sum(s: Series, [from, to]: Range): Sum {
	const out = { calls: 0, us: 0, unknown: 0, hidden: 0 };

	for (let i = from; i <= to; i++) {
		out.calls += s.calls[i];
		out.us += s.us[i];
		out.unknown += s.unknown[i];
		out.hidden += s.hidden[i];
	}
	return out;
}

/** What is covered of all servers that were reached, 0 to 1; null: nobody was to be visited. */
export function covered(f: Fleet, [from, to]: Range): number | null {
	let present = 0, is = 0;

	for (let i = from; i <= to; i++) {
		present += f.cover[i][0];
		is += f.cover[i][1];
	}
	return present > 0 ? is / present : null;
}

/** Part of a slot that is covered on one server; NaN: it was not there to be visited. */
export function coverOf(f: Fleet, server: number): Float64Array {
	const out = new Float64Array(f.slots).fill(1), holes = f.servers[server]?.holes ?? [];

	for (let i = 0; i + 1 < holes.length; i += 2)
		if (holes[i] < f.slots)
			out[holes[i]] = holes[i + 1] < 0 ? NaN : holes[i + 1] / 1000;
	return out;
}

export function coveredOn(cover: Float64Array, [from, to]: Range): number {
	let is = 0, here = 0;

	for (let i = from; i <= to; i++)
		if (!Number.isNaN(cover[i])) {
			is += cover[i];
			here++;
		}
	return here > 0 ? is / here : 0;
}

export interface Share {
	value: number;
	error: number; // 1: cannot know
}

/** The share of `part` in `all`: in what is not covered it may have run not at all, or twice as much as elsewhere. */
export function share(f: Fleet, r: Range, part: Sum, all: Sum, own: number): Share {
	const fleet = covered(f, r) ?? 0, is = Math.min(fleet, own);
	const hidden = (part.hidden * f.visit) / ((r[1] - r[0] + 1) * f.slot);
	const value = all.us > 0 ? part.us / all.us : 0;

	return { value, error: is <= 0 || hidden >= 1 ? 1 : value * (1 - is * (1 - hidden)) };
}

/** What of `all` is in none of the lines. */
export function others(all: Series, lines: Series[], slots: number): Series {
	const out = { ...nothing(slots), calls: Float64Array.from(all.calls), us: Float64Array.from(all.us) };

	for (const line of lines)
		for (let i = 0; i < slots; i++) {
			out.calls[i] = Math.max(0, out.calls[i] - line.calls[i]);
			out.us[i] = Math.max(0, out.us[i] - line.us[i]);
		}
	return out;
}

/** A mean call with its variance between slots (the ratio estimator; Cochran, 6.4). */
interface Mean {
	us: number;
	variance: number;
	slots: number;
}

function mean(s: Series, [from, to]: Range): Mean | null {
	const t = sum(s, [from, to]);
	let n = 0, squares = 0;

	if (t.calls <= 0)
		return null;
	for (let i = from; i <= to; i++)
		if (s.calls[i] > 0) {
			const rest = s.us[i] - (t.us / t.calls) * s.calls[i];

			n++;
			squares += rest * rest;
		}
	return { us: t.us / t.calls, variance: n > 1 ? ((n / (n - 1)) * squares) / (t.calls * t.calls) : 0, slots: n };
}

const LEAST_SLOTS = 3; // with a call, on each side
const LEAST_CHANGE = 0.05;

/** How many times longer a call takes in `b` than in `a`. sure: false is 'not distinguishable'. */
export interface Change {
	times: number;
	sure: boolean;
}

/** null: no calls on one side, cannot know. */
export function change(s: Series, a: Range, b: Range): Change | null {
	const x = mean(s, a), y = mean(s, b);

	if (!x || !y || x.us <= 0)
		return null;
	const difference = Math.abs(y.us - x.us), times = y.us / x.us;
	const sure =
		x.slots >= LEAST_SLOTS && y.slots >= LEAST_SLOTS && Math.abs(times - 1) >= LEAST_CHANGE &&
		difference > 1.96 * Math.sqrt(x.variance + y.variance);

	return { times, sure };
}

/** The first and the last third of a range; null: it is too short to be cut. */
export function thirds([from, to]: Range): [Range, Range] | null {
	const n = Math.floor((to - from + 1) / 3);

	return n < LEAST_SLOTS ? null : [[from, from + n - 1], [to - n + 1, to]];
}

/** The slot of a moment. */
export function slotOf(f: Fleet, at: number): number {
	return Math.max(0, Math.min(f.slots - 1, Math.ceil((at - (f.from ?? 0)) / f.slot) - 1));
}

/** A line's own place in the list is the name it keeps: kind, server, database and id or name. */
export function keyOf(f: Fleet, l: Line): string {
	return [l.kind[0], f.servers[l.server]?.server ?? '', l.database, l.user ?? '', l.id ?? l.name].join('/');
}
