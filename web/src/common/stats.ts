// stats.ts - how sure a share of a chosen range is: the estimator of src/core/stats.c, which has the sources. A table that the
// C code prints is compared with it, number by number (tests/web).

const Z95 = 1.959963984540054;
const TOO_FEW_SAMPLES = 5;
const FEW_SAMPLES = 20;
const DRAWN_TO_WHOLE = 2;
export const COARSE_BELOW = 100;

export interface Share {
	value: number;
	/** Half width of the 95 % interval; 1: there is no way to know. */
	error: number;
	/** Fewer than 100 samples in the range. */
	coarse: boolean;
}

export type Sums = ArrayLike<number>;

function sampleError(value: number, kept: number): number {
	const middle = (value * kept + 2) / (kept + 4);
	const error = Z95 * Math.sqrt(middle * (1 - middle) / (kept + 4));
	return value <= 0 || value >= 1 ? Math.max(error, 3 / kept) : error;
}

interface Stratum { part: number; whole: number; kept: number }

function stratumVariance(s: Stratum, run: number, whole: number): number {
	const drawn = s.kept + DRAWN_TO_WHOLE;
	const weight = s.whole / whole;
	const own = s.whole > 0 ? Math.min(s.part / s.whole, 1) : run;
	const share = (own * s.kept + run * DRAWN_TO_WHOLE) / drawn;
	return weight * weight * share * (1 - share) / (s.kept * (1 - s.kept / (drawn * drawn)));
}

/** A stratum without a sample joins the next that has one; what follows the last joins that. */
function strataVariance(part: Sums, whole: Sums, kept: Sums, run: number, all: number): number {
	const open: Stratum = { part: 0, whole: 0, kept: 0 };
	let variance = 0;
	let last = 0;
	for (let i = 0; i < kept.length; i++) if (kept[i] > 0) last = i;
	for (let i = 0; i < kept.length; i++) {
		open.part += part[i];
		open.whole += whole[i];
		open.kept += kept[i];
		if (open.kept > 0 && (i < last || i + 1 === kept.length)) {
			variance += stratumVariance(open, run, all);
			open.part = open.whole = open.kept = 0;
		}
	}
	return variance;
}

export function sum(values: Sums): number {
	let all = 0;
	for (let i = 0; i < values.length; i++) all += values[i];
	return all;
}

/** The share of `part` in `whole`, which samples found: sums by stratum (a span of the range), and the samples in each. */
export function sampledShare(part: Sums, whole: Sums, kept: Sums): Share {
	const samples = sum(kept);
	const all = sum(whole);
	const share: Share = { value: 0, error: 1, coarse: samples < COARSE_BELOW };
	if (all <= 0) return share;
	share.value = Math.min(sum(part) / all, 1);
	if (samples < TOO_FEW_SAMPLES) return share;
	share.error = Z95 * Math.sqrt(strataVariance(part, whole, kept, share.value, all));
	const seen = share.value * samples;
	if (seen < FEW_SAMPLES || samples - seen < FEW_SAMPLES)
		share.error = Math.max(share.error, sampleError(share.value, samples));
	share.error = Math.min(share.error, 1);
	return share;
}
