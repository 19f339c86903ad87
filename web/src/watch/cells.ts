// cells.ts - numbers of a watch as they stand in tables, charts and lines: words of core's report, and what is not there says why.
import { el } from '../common/dom';
import { deny, none } from '../common/looks';
import { measuredDuration, measuredShare, wordNodes, type Words } from '../common/measured';
import { exact, NBSP } from '../common/numbers';
import { threeDigitsOf, many, NO_ERROR } from '../common/measured';
import type { Answer, Estimate, FlooredPercentile } from './estimate';
import type { Watched } from './model';

/** What is shown, and what it is sorted by. */
export interface Shown {
	v: number;
	n: (Node | string)[];
}

const LEAST_SHARE = 0.00005; // less is "under" something already
const LARGEST_EXACT = 99999999999;

function soft(words: string, why: string): HTMLSpanElement {
	return el('span', { class: 'coarse', title: why }, words);
}

function floorWhy(f: Watched): string {
	return `Under the timing floor of ${measuredDuration(f.data.floorNs).number}: what an empty function reads as.`;
}

export function belowFloor(f: Watched): HTMLSpanElement {
	return soft(`below${NBSP}floor`, floorWhy(f));
}

export const notMeasured = (why = 'Called, but no call was timed.'): HTMLSpanElement => none('not measured', why);
export const cannotKnow = (why: string): HTMLSpanElement => none('cannot know', why);

/** Half width of its interval, at least the nanosecond that clocks tell; none when it is open. */
export function percentileError(p: FlooredPercentile): number {
	return p.isOpen || !p.isKnown ? NO_ERROR : Math.max((p.highNs - p.lowNs) / 2, 1);
}

export function percentileWords(p: FlooredPercentile): Words {
	if (!p.isOpen) return measuredDuration(p.ns, percentileError(p));
	const words = measuredDuration(p.lowNs, NO_ERROR);
	return { number: `over${NBSP}${words.number}`, error: '' };
}

export function percentile(f: Watched, p: FlooredPercentile, isCoarse = false): Shown {
	if (!p.isKnown) return { v: -1, n: [notMeasured()] };
	if (p.isBelowFloor) return { v: 0, n: [belowFloor(f)] };
	if (p.isOpen && p.lowNs === 0) return { v: -1, n: [cannotKnow('Too few calls were timed.')] };
	return { v: p.isOpen ? p.lowNs : p.ns, n: coarsely(isCoarse, wordNodes(percentileWords(p))) };
}

/** Fewer than 100 timed calls: the number stays, in italics. */
function coarsely(isCoarse: boolean, nodes: (Node | string)[]): (Node | string)[] {
	return isCoarse ? [el('span', { class: 'coarse', title: 'Coarse: fewer than 100 timed calls.' }, ...nodes)] : nodes;
}

/** In slices, and in none of them: what it did is not known, which is no 0. */
export function isUnseen(a: Answer): boolean {
	return !a.count.isKnown;
}

const unseen = (): Shown => ({ v: -1, n: [notMeasured('It was watched in slices, and in none of them here.')] });

/** A call count: exact, or of slices with its error. */
export function calls(a: Answer): Shown {
	if (isUnseen(a)) return unseen();
	const { value, error, hasError } = a.count;
	if (a.covered >= 1 && value <= LARGEST_EXACT) return { v: value, n: [exact(value)] };
	const about = value < 999500 ? threeDigitsOf(value < 99.5 ? Math.ceil(value) : value) : many(value);
	const words = error < 999500 ? threeDigitsOf(error) : many(error);
	return {
		v: value,
		n: [el('span', { title: `In slices: ${(a.covered * 100).toFixed(1)}${NBSP}% of the time is covered.` }, about,
			hasError && error > 0 ? el('span', { class: 'pm' }, `${NBSP}±${NBSP}${words}`) : '')],
	};
}

/** "1 in 8", "1 in 26…84" */
export function interval(a: Answer): Shown {
	if (a.timed === 0) return { v: 0, n: [] };
	const { intervalLeast: least, intervalLargest: largest } = a;
	return { v: largest, n: [el('span', { class: 'pm' }, `1 in ${least === largest ? largest : `${least}…${largest}`}`)] };
}

export function total(f: Watched, a: Answer): Shown {
	if (isUnseen(a)) return unseen();
	if (a.count.value <= 0) return { v: 0, n: ['0'] };
	if (a.timed === 0) return { v: -1, n: [notMeasured()] };
	if (!a.total.isKnown) return { v: -1, n: [cannotKnow('Only first calls were timed: they are often dear.')] };
	if (a.isBelowFloor) {
		const words = measuredDuration(a.readTotalNs, NO_ERROR).number;
		return { v: a.readTotalNs, n: [soft(`at${NBSP}most${NBSP}${words}`, floorWhy(f))] };
	}
	const error = a.total.hasError ? a.total.error : NO_ERROR;
	return { v: a.total.value, n: coarsely(a.isCoarse, wordNodes(measuredDuration(a.total.value, error))) };
}

/** Own time's share of a whole; `atMost`: what it would be with the floor left in. */
export function share(f: Watched, a: Answer, e: Estimate, atMost: number): Shown {
	if (isUnseen(a)) return unseen();
	if (a.count.value <= 0) return { v: 0, n: ['0'] };
	if (a.timed === 0) return { v: -1, n: [notMeasured()] };
	if (!e.isKnown) return { v: -1, n: [cannotKnow('Its total is not known.')] };
	if (a.isBelowFloor) {
		const words = measuredShare(atMost, 0, true).number;
		return { v: atMost, n: [soft((atMost < LEAST_SHARE ? '' : `at${NBSP}most${NBSP}`) + words, floorWhy(f))] };
	}
	return { v: e.value, n: coarsely(a.isCoarse, wordNodes(measuredShare(e.value, e.error, e.hasError))) };
}

/** The longest timed call. */
export function longest(f: Watched, a: Answer): Shown {
	if (a.timed === 0) return { v: -1, n: [notMeasured()] };
	if (a.maxNs < f.data.floorNs) return { v: 0, n: [belowFloor(f)] };
	return { v: a.maxNs, n: [measuredDuration(a.maxNs, NO_ERROR).number] };
}

/** Why a row has no numbers at all. */
export function absent(f: Watched): HTMLSpanElement {
	return f.data.isDenied ? deny(f.data.why) : none('not watched', f.data.why);
}
