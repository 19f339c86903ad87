// histogram.ts - the steps of core/bucket.h and the percentiles of core/histogram.c, number for number.

const STEPS = 48, EXACT = 64, FIRST = 6, END = 36;

export const BUCKETS = EXACT + (END - FIRST) * STEPS;

const Z95 = 1.959963984540054;
const ONE_SIDE = 0.025;

/** The shortest duration of a step, in ns. */
export function bucketLow(at: number): number {
	if (at < EXACT)
		return at;
	if (at >= BUCKETS)
		return 2 ** END;
	const octave = Math.floor((at - EXACT) / STEPS) + FIRST, step = (at - EXACT) % STEPS;

	return 2 ** octave + Math.floor((step * 2 ** octave + STEPS - 1) / STEPS);
}

/** The step of a duration. */
export function bucketOf(ns: number): number {
	if (ns < EXACT)
		return Math.max(0, Math.floor(ns));
	if (ns >= 2 ** END)
		return BUCKETS - 1;
	const octave = Math.floor(Math.log2(ns)), low = 2 ** octave;

	return EXACT + (octave - FIRST) * STEPS + Math.floor(((ns - low) * STEPS) / low);
}

/** Weights over steps, all of them; 2^coarse neighbours are one, which stands at the first of them. */
export class Histogram {
	readonly weights = new Float64Array(BUCKETS);
	weight = 0;
	coarse = 0;
	private low = BUCKETS; // [low, high) holds all there is
	private high = 0;

	add(at: number, weight: number): void {
		if (!(at >= 0 && at < BUCKETS && weight > 0))
			return;
		at -= at % 2 ** this.coarse;
		this.weights[at]! += weight;
		this.weight += weight;
		this.low = Math.min(this.low, at);
		this.high = Math.max(this.high, at + 1);
	}

	/** Makes it as coarse as what comes next. */
	coarsen(coarse: number): void {
		if (coarse <= this.coarse)
			return;
		this.coarse = Math.min(coarse, 11);
		for (let at = this.low; at < this.high; at++) {
			const weight = this.weights[at]!;

			if (weight === 0)
				continue;
			this.weights[at] = 0;
			this.weights[at - (at % 2 ** this.coarse)]! += weight;
		}
		if (this.weight > 0)
			this.low -= this.low % 2 ** this.coarse;
	}

	highNs(at: number): number {
		return bucketLow(Math.min(at + 2 ** this.coarse - 1, BUCKETS - 1) + 1) - 1;
	}

	/** Calls with each step that holds something. */
	each(visit: (at: number, weight: number) => void): void {
		for (let at = this.low; at < this.high; at++)
			if (this.weights[at]! > 0)
				visit(at, this.weights[at]!);
	}

	/** The step in which rank `part` of the weight lies, and how far into it. */
	private rank(part: number): { at: number; into: number } {
		const rank = part * this.weight;
		let below = 0, at = this.low, last = this.low;

		for (let i = this.low; i < this.high; i++)
			if (this.weights[i]! > 0)
				last = i;
		for (; at < last; at++) {
			if (below + this.weights[at]! >= rank && this.weights[at]! > 0)
				break;
			below += this.weights[at]!;
		}
		return { at, into: Math.min(Math.max((rank - below) / this.weights[at]!, 0), 1) };
	}

	quantileNs(part: number): number {
		if (this.weight === 0)
			return 0;
		const { at, into } = this.rank(part), low = bucketLow(at);

		return low + Math.floor(into * (this.highNs(at) - low) + 0.5);
	}

	/** See histogram_percentile(): `timed` independent calls, none longer than `maxNs`. */
	percentile(part: number, timed: number, maxNs: number): Percentile {
		if (this.weight === 0 || timed <= 0)
			return { ns: 0, lowNs: 0, highNs: 0, isKnown: false, isOpen: false };
		const z2 = Z95 * Z95, middle = (part + z2 / (2 * timed)) / (1 + z2 / timed);
		const half = (Z95 / (1 + z2 / timed)) *
			Math.sqrt((part * (1 - part)) / timed + z2 / (4 * timed * timed)) + 0.5 / timed;
		const low = this.rank(middle - half).at, high = this.rank(middle + half).at;
		const isOpen = part ** timed > ONE_SIDE, isLast = high + 2 ** this.coarse >= BUCKETS;
		const highNs = isOpen || isLast || this.highNs(high) > maxNs ? maxNs : this.highNs(high);
		const ns = Math.min(this.quantileNs(part), highNs);

		return {
			ns, highNs, isOpen, isKnown: true,
			lowNs: Math.min((1 - part) ** timed > ONE_SIDE ? 0 : bucketLow(low), ns),
		};
	}
}

/** A percentile with its 95 % interval. */
export interface Percentile {
	ns: number;
	lowNs: number;
	highNs: number;
	isKnown: boolean; // false: nothing was timed
	isOpen: boolean; // too few were timed for an upper end
}
