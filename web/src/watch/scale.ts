// scale.ts - a logarithmic axis for durations, and where its decades are.
import { bucketLow, type Histogram } from './histogram';

/** Maps durations to 0 … 1. */
export interface Scale {
	lowNs: number;
	highNs: number;
	at(ns: number): number;
}

export function makeScale(lowNs: number, highNs: number): Scale {
	const low = Math.max(lowNs, 0.5);
	const high = Math.max(highNs, low * 2);
	const span = Math.log(high / low);
	return { lowNs: low, highNs: high, at: ns => Math.min(1, Math.max(0, Math.log(Math.max(ns, low) / low) / span)) };
}

const UNITS: readonly [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

/** "1 µs", "100 ms" */
export function decadeWords(ns: number): string {
	const [of, unit] = UNITS.find(([size]) => ns >= size) ?? UNITS[3];
	return `${Math.round(ns / of)}\u00a0${unit}`;
}

/** Powers of ten inside the scale; where that is under two of them, twice and five times those too. */
export function decades(scale: Scale): number[] {
	const of = (factors: number[]): number[] => {
		const out: number[] = [];
		for (let ns = 10 ** Math.floor(Math.log10(scale.lowNs)); ns <= scale.highNs; ns *= 10)
			out.push(...factors.map(f => f * ns).filter(at => at >= scale.lowNs && at <= scale.highNs));
		return out;
	};
	const powers = of([1]);
	return powers.length >= 2 ? powers : of([1, 2, 5]);
}

/** A histogram, its floor taken off, as weights over `count` equal steps of the scale; a bucket that spans several is parted. */
export function overScale(h: Histogram, floorNs: number, scale: Scale, count: number): Float64Array {
	const out = new Float64Array(count);
	h.each((at, weight) => {
		const from = scale.at(bucketLow(at) - floorNs) * count;
		const to = Math.max(scale.at(h.highNs(at) + 1 - floorNs) * count, from + 1e-9);
		for (let i = Math.floor(from); i < Math.min(Math.ceil(to), count); i++)
			out[i] += weight * (Math.min(to, i + 1) - Math.max(from, i)) / (to - from);
		if (from >= count) out[count - 1] += weight;
	});
	return out;
}
