// estimate.ts - what a range of windows says of one function: core/calls.c and core/watch_row.c again, number for number, so
// that a range that was dragged has the same errors as a report. tests/web holds the two together.
import type { FunctionData, Row } from './decode';
import { Histogram, type Percentile } from './histogram';
import { t95, together } from './student';

const COARSE_BELOW = 100; // independent timed calls
const SPREAD_WINDOWS = 6; // fewer do not tell how much own time differs between them

/** A number with the half width of its 95 % interval. */
export interface Estimate {
	value: number;
	error: number;
	isKnown: boolean;
	hasError: boolean;
}

const UNKNOWN: Estimate = { value: 0, error: 0, isKnown: false, hasError: false };

/** Rows of a range, added up. */
export interface Pool extends Omit<Row, 'at' | 'coarse' | 'steps' | 'weights'> {
	rows: readonly Row[];
	histogram: Histogram;
}

/** One function in one range. */
export interface Answer {
	pool: Pool;
	timed: number;
	independent: number;
	count: Estimate; // calls, those never timed too
	covered: number;
	total: Estimate;
	own: Estimate;
	mean: Estimate;
	readTotalNs: number; // with the floor left in: the most that calls under it take
	readOwnNs: number;
	maxNs: number;
	isCoarse: boolean;
	isBelowFloor: boolean;
	p50: FlooredPercentile;
	p90: FlooredPercentile;
	p99: FlooredPercentile;
	intervalLeast: number;
	intervalLargest: number;
	ofRun: Estimate;
	ofRunWithCallees: Estimate;
	ofFrames: Estimate;
	chargedNs: number; // what its calls cost in the range
}

export interface FlooredPercentile extends Percentile {
	isBelowFloor: boolean;
}

export function pool(rows: readonly Row[]): Pool {
	const sum: Pool = {
		rows, histogram: new Histogram(), calls: 0, neverTimed: 0, spanNs: 0, coveredNs: 0, firsts: 0, firstNs: 0,
		firstOwnNs: 0, others: 0, weight: 0, weightSquared: 0, weightedNs: 0, weightedOwnNs: 0, probeNs: 0, maxNs: 0,
		interval: 0, variance0: 0, variance1: 0, variance2: 0,
	};

	for (const row of rows) {
		for (const key of ADDED)
			sum[key] += row[key];
		sum.maxNs = Math.max(sum.maxNs, row.maxNs);
		sum.interval = Math.max(sum.interval, row.interval);
		sum.histogram.coarsen(row.coarse);
	}
	for (const row of rows)
		row.steps.forEach((at, i) => sum.histogram.add(at, row.weights[i]!));
	return sum;
}

const ADDED = [
	'calls', 'neverTimed', 'spanNs', 'coveredNs', 'firsts', 'firstNs', 'firstOwnNs', 'others', 'weight', 'weightSquared',
	'weightedNs', 'weightedOwnNs', 'probeNs', 'variance0',
] as const;

/** The sum of interval x (interval - 1) x (time - mean)^2, from sums that are around each row's own mean. */
function squaresAround(rows: readonly Row[], meanNs: number): number {
	let sum = 0;

	for (const row of rows) {
		const off = row.weight > 0 ? row.weightedNs / row.weight - meanNs : 0;

		sum += row.variance2 + off * (2 * row.variance1 + off * row.variance0);
	}
	return Math.max(sum, 0);
}

function meanError(sum: Pool, meanNs: number, independent: number): number {
	const degrees = independent < 2 ? 1 : Math.floor(independent - 1 + 1e-6);

	return (t95(degrees) * Math.sqrt((squaresAround(sum.rows, meanNs) * independent) / (independent - 1))) / sum.weight;
}

interface Sums {
	hasTotal: boolean;
	hasError: boolean;
	isCoarse: boolean;
	totalNs: number;
	totalErrorNs: number;
	ownNs: number;
	meanNs: number;
	covered: number;
	independent: number;
}

/** Total and own time, as calls_estimate(). */
export function sums(sum: Pool, floorNs: number): Sums {
	const rest = sum.calls - sum.firsts;
	const independent = sum.weightSquared > 0 ? (sum.weight * sum.weight) / sum.weightSquared : 0;
	const out: Sums = {
		independent, hasTotal: sum.others > 0 || (rest <= 0 && sum.firsts > 0), hasError: false, isCoarse: false,
		totalNs: 0, totalErrorNs: 0, ownNs: 0, meanNs: 0, covered: 1,
	};

	if (out.hasTotal) {
		const mean = sum.others > 0 ? sum.weightedNs / sum.weight : 0;
		const own = sum.others > 0 ? sum.weightedOwnNs / sum.weight : 0;

		out.totalNs = Math.max(sum.firstNs + rest * mean - sum.calls * floorNs, 0);
		out.ownNs = Math.max(sum.firstOwnNs + rest * own - sum.calls * floorNs, 0);
		out.meanNs = out.totalNs / sum.calls;
		out.hasError = rest <= 0 || independent >= 2 || (sum.others > 0 && sum.variance0 <= 0);
		if (rest > 0 && out.hasError && sum.variance0 > 0)
			out.totalErrorNs = rest * meanError(sum, mean, independent);
		out.isCoarse = rest > 0 && sum.variance0 > 0 && independent < COARSE_BELOW;
	}
	if (sum.coveredNs < sum.spanNs) {
		const grow = sum.coveredNs > 0 ? sum.spanNs / sum.coveredNs : 0;

		out.covered = sum.coveredNs / sum.spanNs;
		out.totalNs *= grow;
		out.totalErrorNs *= grow;
		out.ownNs *= grow;
	}
	return out;
}

function sound(e: Estimate): Estimate {
	if (!e.isKnown || !Number.isFinite(e.value))
		return UNKNOWN;
	const hasError = e.hasError && Number.isFinite(e.error);

	return { ...e, hasError, error: hasError ? e.error : 0 };
}

export function partOf(e: Estimate, whole: number): Estimate {
	if (!e.isKnown || whole <= 0)
		return UNKNOWN;
	return sound({ ...e, value: e.value / whole, error: e.error / whole });
}

/** Calls, also of the time that slices left out. */
function countOf(sum: Pool): Estimate {
	const calls = sum.calls + sum.neverTimed, covered = sum.coveredNs, all = sum.spanNs;
	let squares = 0, seen = 0;

	if (covered >= all)
		return { value: calls, error: 0, isKnown: true, hasError: true };
	for (const row of sum.rows) {
		const residual = row.calls + row.neverTimed - (calls / covered) * row.coveredNs;

		squares += residual * residual;
		seen += row.coveredNs > 0 ? 1 : 0;
	}
	const error = seen < 2 ? 0 :
		(t95(seen - 1) * Math.sqrt((squares * seen) / (seen - 1)) * Math.sqrt((all - covered) * all)) / covered;

	return sound({ value: (calls * all) / covered, error, isKnown: true, hasError: seen >= 2 });
}

/** Half width of the mean own time, from how neighbouring windows differ. 0: too few. */
function ownSpread(sum: Pool): number {
	const mean = sum.weightedOwnNs / sum.weight;
	let squares = 0, before = 0, count = 0;

	for (const row of sum.rows) {
		const residual = row.weightedOwnNs - mean * row.weight;

		if (row.weight === 0)
			continue;
		if (count > 0)
			squares += (residual - before) ** 2;
		before = residual;
		count++;
	}
	if (count < SPREAD_WINDOWS)
		return 0;
	return (t95(count - 1) * Math.sqrt(((squares / 2) * count) / (count - 1))) / sum.weight;
}

function ownOf(sum: Pool, s: Sums): Estimate {
	const e: Estimate = { value: s.ownNs, error: s.totalErrorNs, isKnown: s.hasTotal, hasError: s.hasError };

	if (!e.isKnown)
		return UNKNOWN;
	if (e.hasError && sum.weight > 0 && s.ownNs < s.totalNs) {
		const spread = (ownSpread(sum) * (sum.calls - sum.firsts)) / Math.max(s.covered, 1e-9);

		if (spread > 0)
			e.error = Math.max(spread, (e.error * s.ownNs) / s.totalNs);
	}
	return sound(e);
}

export function percentileOf(sum: Pool, part: number, floorNs: number): FlooredPercentile {
	const weight = sum.firsts + sum.weight, squared = sum.firsts + sum.weightSquared;
	const p = sum.histogram.percentile(part, squared > 0 ? (weight * weight) / squared : 0, sum.maxNs);
	const net = (ns: number): number => Math.max(ns - floorNs, 0);
	const ns = net(p.ns);

	return { ...p, ns, lowNs: net(p.lowNs), highNs: net(p.highNs), isBelowFloor: p.isKnown && ns < floorNs };
}

/** What calls cost by the costs in force, in ps: pace_charge_ps(). */
export function chargePs(f: FunctionData, rows: readonly Row[]): number {
	let sum = 0;

	for (const row of rows)
		sum += (row.calls + row.neverTimed) * f.untimedPs + (row.firsts + row.others) * f.extraPs;
	return sum;
}

function withDoubtOfCount(e: Estimate, count: Estimate, isEstimate: boolean): Estimate {
	if (!isEstimate || !e.isKnown)
		return e;
	const part = count.value > 0 ? count.error / count.value : 0;

	return sound({ ...e, hasError: e.hasError && count.hasError, error: together(e.error, part * e.value) });
}

/** Everything that one function's rows of a range say; `rangeNs`: what shares of the run are of. Shares of frames: frames.ts. */
export function answer(f: FunctionData, all: readonly Row[], rows: readonly Row[], rangeNs: number): Answer {
	const sum = pool(rows), s = sums(sum, f.floorNs), read = sums(sum, 0), count = countOf(sum);
	const isEstimate = sum.coveredNs < sum.spanNs, timed = sum.firsts + sum.others;
	const hasError = s.hasError && Number.isFinite(s.totalErrorNs);
	const total = { value: s.totalNs, error: s.totalErrorNs, isKnown: s.hasTotal, hasError };
	const totalWithDoubt = s.hasTotal ? withDoubtOfCount(total, count, isEstimate) : UNKNOWN;
	const own = withDoubtOfCount(ownOf(sum, { ...s, hasError }), count, isEstimate);
	const watchedNs = Math.max(rangeNs - (sum.spanNs - sum.coveredNs), 0);
	const intervals = rows.map((row) => row.interval).filter((interval) => interval > 0);
	const wholePs = chargePs(f, all);

	return {
		pool: sum, timed, independent: s.independent, count, total: totalWithDoubt, own,
		covered: rangeNs > 0 ? watchedNs / rangeNs : 1,
		mean: {
			value: s.meanNs, error: s.totalErrorNs * s.covered / sum.calls, isKnown: s.hasTotal,
			hasError: hasError && (!isEstimate || count.hasError),
		},
		readTotalNs: read.totalNs, readOwnNs: read.ownNs, maxNs: timed > 0 ? Math.max(sum.maxNs - f.floorNs, 0) : 0,
		isCoarse: s.isCoarse, isBelowFloor: s.hasTotal && s.meanNs < f.floorNs,
		p50: percentileOf(sum, 0.5, f.floorNs), p90: percentileOf(sum, 0.9, f.floorNs),
		p99: percentileOf(sum, 0.99, f.floorNs),
		intervalLeast: intervals.length > 0 ? Math.min(...intervals) : f.interval,
		intervalLargest: intervals.length > 0 ? Math.max(...intervals) : f.interval,
		ofRun: partOf(own, rangeNs), ofRunWithCallees: partOf(totalWithDoubt, rangeNs), ofFrames: UNKNOWN,
		chargedNs: wholePs > 0 ? (f.chargedPs * (chargePs(f, rows) / wholePs)) / 1000 : 0,
	};
}
