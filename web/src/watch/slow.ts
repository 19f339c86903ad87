// slow.ts - what slow frames of a range are made of: core/watch_slow.c again. The ten worst stand for themselves; each other
// one that was kept stands for as many slow frames as there are to one of them.
import type { FunctionData, Row, SlowFrame, WatchData } from './decode';
import type { Estimate } from './estimate';
import { t95, together } from './student';

const Z95 = 1.959963984540054;
const ROUNDING = 1e-12;

/** Slow frames of a range. */
export interface Slow {
	kept: SlowFrame[];
	count: Estimate; // all of the range; exact when all were kept
	standsFor: number; // what a frame counts for that is not among the worst
	shares: Estimate[]; // of their time, by function
	largest: number[]; // by function: of how many frames it is the largest part
	unnamed: Estimate; // in no watched function
	isEstimate: boolean; // not every call in them was timed
	isAtLeast: boolean; // parts of some were scaled down
}

interface PartSums {
	wp: number;
	wwpp: number;
	wwpd: number;
	hidden: number; // the most that it can be where it was not named: less this
}

interface FrameSums {
	parts: PartSums[]; // by function; the last one is what is not watched
	wd: number;
	wwdd: number;
	rest: number;
	hidden: number;
	kept: number;
}

function shareOf(sums: FrameSums, part: PartSums, wasCalled: boolean): Estimate {
	const e: Estimate = { value: 0, error: 0, isKnown: sums.wd > 0, hasError: sums.kept >= 2 };

	if (!e.isKnown)
		return { ...e, hasError: false };
	e.value = Math.min(part.wp / sums.wd, 1);
	if (!e.hasError)
		return e;
	let squares = part.wwpp - 2 * e.value * part.wwpd + e.value * e.value * sums.wwdd;

	if (squares < ROUNDING * part.wwpp)
		squares = 0; // all frames have the same share
	e.error = (t95(sums.kept - 1) * Math.sqrt((squares * sums.kept) / (sums.kept - 1))) / sums.wd;
	if (e.value <= 0 && wasCalled)
		e.error = 3 / sums.kept; // none seen in so many
	e.error = Math.min(e.error + Math.max(sums.hidden - part.hidden, 0) / sums.wd, 1);
	return e;
}

/** How many calls stood beside one that was timed when the frame began. */
function callsATimedOne(rows: readonly Row[], at: number): number {
	let row: Row | undefined;

	for (const r of rows)
		if (r.at <= at)
			row = r;
	const timed = row ? row.firsts + row.others : 0;

	return row && timed > 0 ? Math.max(row.calls / timed, 1) : 1;
}

function standsFor(data: WatchData, all: readonly SlowFrame[]): number {
	const worst = all.filter((frame) => frame.isWorst).length, others = all.length - worst;

	return others > 0 && data.slow > all.length ? (data.slow - worst) / others : 1;
}

function countOf(data: WatchData, all: readonly SlowFrame[], kept: readonly SlowFrame[], each: number, isWhole: boolean): Estimate {
	const worst = kept.filter((frame) => frame.isWorst).length, others = kept.length - worst;
	const allOthers = all.filter((frame) => !frame.isWorst).length;
	const e: Estimate = { value: worst + others * each, error: 0, isKnown: true, hasError: true };

	if (isWhole) {
		e.value = Math.max(data.slow, all.length);
	} else if (each > 1 && allOthers > 0) {
		const part = others / allOthers;

		e.error = Z95 * allOthers * each * Math.sqrt(((part * (1 - part)) / allOthers) * (1 - 1 / each));
	}
	return e;
}

/** Kept slow frames that began in [fromNs, toNs); the whole run: all of them. */
export function slowOf(
	data: WatchData, functions: readonly { data: FunctionData; rows: readonly Row[]; wasCalled: boolean }[],
	all: readonly SlowFrame[], range: { fromNs: number; toNs: number; isWhole: boolean },
): Slow {
	const kept = range.isWhole ? [...all] : all.filter((f) => f.startNs >= range.fromNs && f.startNs < range.toNs);
	const each = standsFor(data, all), none = functions.length;
	const sums: FrameSums = {
		parts: [...functions, null].map(() => ({ wp: 0, wwpp: 0, wwpd: 0, hidden: 0 })),
		wd: 0, wwdd: 0, rest: 0, hidden: 0, kept: kept.length,
	};
	const largest = functions.map(() => 0);
	let isEstimate = false;
	const add = (place: number, w: number, d: number, p: number, hidden: number): void => {
		const part = sums.parts[place]!;

		part.wp += w * p;
		part.wwpp += w * w * p * p;
		part.wwpd += w * w * p * d;
		part.hidden += w * hidden;
	};

	for (const frame of kept) {
		const w = frame.isWorst ? 1 : each, d = frame.durationNs;
		const hidden = Math.min(frame.restNs, ...frame.parts.map((part) => part.ownNs));

		frame.parts.forEach(({ place, ownNs }, i) => {
			const f = functions[place];

			if (f === undefined)
				return;
			const calls = callsATimedOne(f.rows, Math.floor(frame.startNs / data.rowNs));

			isEstimate ||= calls > 1;
			add(place, w, d, ownNs * (f.data.kind === 'probe' ? 1 : calls), hidden);
			if (i === 0)
				largest[place]!++;
		});
		add(none, w, d, frame.otherNs, hidden);
		sums.hidden += w * hidden;
		sums.rest += w * frame.restNs;
		sums.wd += w * d;
		sums.wwdd += w * w * d * d;
	}
	const shares = functions.map((f, i) => shareOf(sums, sums.parts[i]!, f.wasCalled));
	let unnamed = shareOf(sums, sums.parts[none]!, true);

	if (isEstimate && unnamed.isKnown)
		unnamed = leftOf(unnamed, sums, functions, shares);
	return {
		kept, standsFor: each, shares, largest, unnamed, isEstimate, isAtLeast: kept.some((f) => f.isScaled),
		count: countOf(data, all, kept, each, range.isWhole),
	};
}

/** Of what is not watched a part is calls that were not timed: what all functions leave of it is in none. */
function leftOf(
	unnamed: Estimate, sums: FrameSums, functions: readonly { data: FunctionData }[], shares: readonly Estimate[],
): Estimate {
	const left = { ...unnamed, value: 1 - sums.rest / sums.wd, error: 0 };

	functions.forEach((f, i) => {
		if (f.data.kind !== 'probe' && f.data.kind !== 'scope')
			return;
		left.value -= shares[i]!.value;
		left.error = together(left.error, shares[i]!.error);
	});
	return { ...left, value: Math.max(left.value, 0), error: Math.min(left.error, 1) };
}
