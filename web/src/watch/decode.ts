// decode.ts - reads what report_page_watch_data.c wrote: windows and slow frames as letters, in its order.

/** What the page of a watch gets. Times are ns as read: the floor is not taken off. */
export interface WatchData {
	startedMs: number;
	rowNs: number; // a row of windows
	rows: number; // of the whole run
	endNs: number; // where the last window ended
	rangeNs: number; // what shares of the whole run are of
	frames: number;
	slowNs: number; // 0: none is slow
	slow: number; // all, also those that were not kept
	hasDate: boolean;
	coarse: number;
	merged: number;
	pooled: number;
	missing: number;
	frame: number; // place in functions; -1: no frames
	functions: FunctionData[];
	slowFrames: string;
}

export interface FunctionData {
	name: string;
	module?: string;
	why?: string; // not watched, or counted only
	notes?: string;
	kind: 'probe' | 'scope' | 'task' | 'frame';
	isDenied?: boolean; // with a reason why it is not watched
	isWatched: boolean;
	floorNs: number;
	untimedPs: number;
	extraPs: number;
	chargedPs: number;
	interval: number;
	cannotRank: boolean;
	isPooled: boolean; // only the sum of the run is here
	windows: string;
}

/** One row of windows of one function: calls.h says what the members mean. */
export interface Row {
	at: number;
	calls: number;
	neverTimed: number;
	spanNs: number;
	coveredNs: number;
	firsts: number;
	firstNs: number;
	firstOwnNs: number;
	others: number;
	weight: number;
	weightSquared: number;
	weightedNs: number;
	weightedOwnNs: number;
	probeNs: number;
	maxNs: number;
	interval: number;
	variance0: number; // sums around the row's own mean
	variance1: number;
	variance2: number;
	coarse: number; // 2^coarse steps of the histogram are one
	steps: number[]; // rising
	weights: number[];
}

export interface SlowFrame {
	startNs: number;
	durationNs: number;
	restNs: number;
	otherNs: number;
	isWorst: boolean;
	isScaled: boolean;
	tid: number;
	number: number;
	parts: { place: number; ownNs: number }[]; // place in functions; -1: not in the page
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const VALUES = new Map([...LETTERS].map((letter, value) => [letter, value]));

/** Reads the numbers of a string one after another. What is no letter counts as 0, and so does what is behind the end. */
export class Letters {
	private at = 0;
	constructor(private readonly text: string) {}

	get isAtEnd(): boolean {
		return this.at >= this.text.length;
	}

	next(): number {
		let value = 0, place = 1;

		for (;;) {
			const letter = VALUES.get(this.text[this.at++] ?? 'A') ?? 0;

			value += (letter % 32) * place;
			if (letter < 32)
				return value;
			place *= 32;
		}
	}

	nextSigned(): number {
		const value = this.next();

		return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
	}
}

function rowOf(letters: Letters, before: number): Row {
	const at = before + letters.next();
	const calls = letters.next(), neverTimed = letters.next();
	const spanNs = letters.next(), coveredNs = spanNs - letters.next();
	const firsts = letters.next(), firstNs = letters.next(), firstOwnNs = firstNs - letters.nextSigned();
	const others = letters.next(), weight = letters.next(), weightSquared = letters.next();
	const weightedNs = letters.next(), weightedOwnNs = weightedNs - letters.nextSigned();

	return {
		at, calls, neverTimed, spanNs, coveredNs, firsts, firstNs, firstOwnNs, others, weight, weightSquared,
		weightedNs, weightedOwnNs, probeNs: letters.next(), maxNs: letters.next(), interval: letters.next(),
		variance0: 0, variance1: 0, variance2: 0, coarse: 0, steps: [], weights: [],
	};
}

function addHistogram(letters: Letters, row: Row): void {
	let at = 0;

	row.coarse = letters.next();
	for (let left = letters.next(); left > 0; left--) {
		at += letters.next();
		row.steps.push(at * 2 ** row.coarse);
		row.weights.push(letters.next());
	}
}

/** The rows of a function, in order. */
export function decodeWindows(text: string): Row[] {
	const [whole = '', doubles = '', histograms = ''] = text.split(' ');
	const letters = new Letters(whole), steps = new Letters(histograms);
	const variances = doubles.split(',').map(Number);
	const rows: Row[] = [];

	for (let left = letters.next(), at = 0; left > 0; left--) {
		const row = rowOf(letters, at), i = 3 * rows.length;

		row.variance0 = variances[i] ?? 0;
		row.variance1 = variances[i + 1] ?? 0;
		row.variance2 = variances[i + 2] ?? 0;
		addHistogram(steps, row);
		rows.push(row);
		at = row.at;
	}
	return rows;
}

/** Slow frames that were kept, as they began. */
export function decodeSlow(text: string): SlowFrame[] {
	const letters = new Letters(text);
	const frames: SlowFrame[] = [];

	while (!letters.isAtEnd) {
		const startNs = letters.next(), durationNs = letters.next(), restNs = letters.next(), otherNs = letters.next();
		const flags = letters.next(), tid = letters.next(), number = letters.next();
		const parts: SlowFrame['parts'] = [];

		for (let left = letters.next(); left > 0; left--)
			parts.push({ place: letters.next() - 1, ownNs: letters.next() });
		frames.push({
			startNs, durationNs, restNs, otherNs, isWorst: flags % 2 === 1, isScaled: flags >= 2, tid, number, parts,
		});
	}
	return frames.sort((a, b) => a.startNs - b.startNs);
}
