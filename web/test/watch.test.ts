// What a range of a watch says is what core says of it: recordings that the C code makes, answered by both.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { change } from '../src/watch/change';
import { many, measuredDuration, measuredShare, threeDigitsOf, wordText } from '../src/common/measured';
import { decodeSlow, Letters, type WatchData } from '../src/watch/decode';
import { type Answer, type Estimate, type FlooredPercentile, pool } from '../src/watch/estimate';
import { bucketLow, bucketOf, BUCKETS, Histogram } from '../src/watch/histogram';
import { Model, type Range } from '../src/watch/model';
import { makeScale, overScale } from '../src/watch/scale';

type Quad = [number, number, boolean, boolean];
type Six = [number, number, number, boolean, boolean, boolean];
interface Said {
	timed: number; covered: number; maxNs: number; isCoarse: boolean; isBelowFloor: boolean; intervalLeast: number;
	intervalLargest: number; largest: number; count: Quad; total: Quad; mean: Quad; own: Quad; ofRun: Quad; ofRunWithCallees: Quad;
	ofFrames: Quad; ofSlow: Quad; p50: Six; p90: Six; p99: Six;
}
interface Recording {
	name: string;
	page: WatchData;
	halved: WatchData[];
	answers: {
		range: Range; rangeNs: number; frames: number; framesNs: number; slow: Quad; unnamed: Quad; isAtLeast: boolean; functions: Said[];
	}[];
}
interface Table {
	recordings: Recording[];
	durations: [number, number, string][];
	shares: [number, number, string][];
	counts: [number, string, string][];
}

const program = process.env.WATCH_ANSWERS;
const options = program ? {} : { skip: 'WATCH_ANSWERS names no program' };
const table: Table = program
	? JSON.parse(execFileSync(program, { encoding: 'utf8', maxBuffer: 1 << 26 })) as Table
	: { recordings: [], durations: [], shares: [], counts: [] };

/** Sums of 64 bits become doubles, and variances six digits: both agree that far. */
function near(got: number, want: number, what: string, digits = 1e-9): void {
	assert.ok(Math.abs(got - want) <= digits * Math.max(Math.abs(want), 1e-9), `${what}: ${got}, core says ${want}`);
}

function sameEstimate(got: Estimate, [value, error, isKnown, hasError]: Quad, what: string): void {
	assert.equal(got.isKnown, isKnown, `${what} is known`);
	if (!isKnown) return;
	near(got.value, value, what);
	assert.equal(got.hasError, hasError, `${what} has an error`);
	if (hasError) assert.ok(Math.abs(got.error - error) <= 2e-6 * Math.abs(error) + 1e-9 * Math.abs(value), `error of ${what}: ${got.error}, core says ${error}`);
}

/** A percentile inside a step is rounded to a ns. */
function samePercentile(got: FlooredPercentile, [ns, low, high, isKnown, isOpen, isBelow]: Six, what: string): void {
	assert.equal(got.isKnown, isKnown, what);
	if (!isKnown) return;
	assert.deepEqual([got.lowNs, got.highNs, got.isOpen, got.isBelowFloor], [low, high, isOpen, isBelow], what);
	assert.ok(Math.abs(got.ns - ns) <= 1, `${what}: ${got.ns}, core says ${ns}`);
}

function sameAnswer(got: Answer, want: Said, what: string): void {
	for (const key of ['timed', 'maxNs', 'isCoarse', 'isBelowFloor', 'intervalLeast', 'intervalLargest'] as const)
		assert.equal(got[key], want[key], `${what}: ${key}`);
	near(got.covered, want.covered, `${what}: covered`);
	for (const key of ['count', 'total', 'mean', 'own', 'ofRun', 'ofRunWithCallees', 'ofFrames'] as const)
		sameEstimate(got[key], want[key], `${what}: ${key}`);
	for (const key of ['p50', 'p90', 'p99'] as const) samePercentile(got[key], want[key], `${what}: ${key}`);
}

function each(check: (m: Model, said: Recording['answers'][number], what: string) => void): void {
	assert.ok(table.recordings.length >= 6);
	for (const r of table.recordings) {
		const m = new Model(r.page);
		assert.ok(r.answers.length > 0, r.name);
		for (const said of r.answers) check(m, said, `${r.name}, ${said.range ? said.range.join('-') : 'whole run'}`);
	}
}

test('a range says of each function what core says, with the same errors', options, () => {
	let timed = 0;
	each((m, said, what) => {
		const looked = m.look(said.range);
		near(looked.rangeNs, said.rangeNs, `${what}: its time`);
		assert.equal(said.functions.length, m.functions.length);
		m.functions.forEach((f, i) => {
			sameAnswer(looked.answers[i], said.functions[i], `${what}: ${f.data.name}`);
			timed += said.functions[i].timed > 0 ? 1 : 0;
		});
	});
	assert.ok(timed > 80, `only ${timed} answers had times`);
});

test('a range says of frames and slow frames what core says', options, () => {
	let slow = 0;
	each((m, said, what) => {
		const looked = m.look(said.range);
		assert.equal(looked.frames, said.frames, `${what}: frames`);
		near(looked.framesNs, said.framesNs, `${what}: their time`);
		sameEstimate(looked.slow.count, said.slow, `${what}: slow frames`);
		sameEstimate(looked.slow.unnamed, said.unnamed, `${what}: in no watched function`);
		assert.equal(looked.slow.isAtLeast, said.isAtLeast, `${what}: at least`);
		m.functions.forEach((f, i) => {
			sameEstimate(looked.slow.shares[i], said.functions[i].ofSlow, `${what}: ${f.data.name} of slow frames`);
			assert.equal(looked.slow.largest[i], said.functions[i].largest, `${what}: ${f.data.name} is the largest part`);
		});
		slow += looked.slow.kept.length;
	});
	assert.ok(slow > 100, `only ${slow} slow frames were looked at`);
});

test('what calls cost in all windows together is what the recording was charged', options, () => {
	each((m, said, what) => {
		if (said.range !== null) return;
		m.look(null).answers.forEach((a, i) => near(a.chargedNs * 1000, m.functions[i].data.chargedPs * (a.count.value > 0 ? 1 : 0), what));
	});
});

test('a page that is too large loses detail and no sum, and says what it lost', options, () => {
	const large = table.recordings.filter(r => JSON.stringify(r.page).length > 50000);
	assert.ok(large.length >= 3);
	for (const r of large) {
		const whole = new Model(r.page).look(null);
		let before = JSON.stringify(r.page).length;
		r.halved.forEach((page, i) => {
			const m = new Model(page), looked = m.look(null), length = JSON.stringify(page).length, what = `${r.name}, halved ${i + 1} times`;
			assert.ok(length <= before, `${what}: ${length} bytes, ${before} before`);
			before = length;
			assert.ok(page.coarse > 0 && page.merged >= 1, what);
			assert.equal(page.pooled, page.functions.filter(f => f.isPooled).length);
			looked.answers.forEach((a, k) => {
				near(a.count.value, whole.answers[k].count.value, `${what}: calls`, a.covered < 1 ? 0.02 : 1e-9);
				near(a.total.value, whole.answers[k].total.value, `${what}: total`, 1e-9);
				const width = 2 ** page.coarse / 48 + 1e-9, p = a.p90, q = whole.answers[k].p90;
				assert.ok(Math.abs(p.ns - q.ns) <= width * (q.ns + m.functions[k].data.floorNs) + 1, `${what}: p90 ${p.ns}, was ${q.ns}`);
			});
			if (m.frame) assert.equal(m.frame.data.isPooled, false, `${what}: the frame keeps its windows`);
		});
		assert.ok(before < JSON.stringify(r.page).length / 4, `${r.name}: ${before} bytes are left`);
		assert.ok(r.halved.some(page => page.merged > 1) && r.halved.some(page => page.pooled > 0), r.name);
	}
});

test('durations, shares and counts of timed calls read as in the terminal', options, () => {
	assert.ok(table.durations.length > 200 && table.shares.length > 100 && table.counts.length > 20);
	for (const [ns, error, words] of table.durations) assert.equal(wordText(measuredDuration(ns, error)), words, `${ns} ± ${error}`);
	for (const [share, error, words] of table.shares) assert.equal(wordText(measuredShare(share, error, true)), words, `${share} ± ${error}`);
	for (const [count, words, number] of table.counts) {
		assert.equal(many(count), words);
		assert.equal(threeDigitsOf(count / 100), number);
	}
});

test('letters are numbers, of either sign, to the end of the text', () => {
	const letters = new Letters('Ag//+fBD');
	assert.deepEqual([letters.next(), letters.next(), letters.next()], [0, 0 + 31 * 32 + 31 * 1024 + 30 * 32 ** 3 + 31 * 32 ** 4, 1]);
	assert.equal(letters.nextSigned(), -2);
	assert.equal(letters.isAtEnd, true);
	assert.equal(letters.next(), 0);
	assert.deepEqual(decodeSlow(''), []);
});

test('each step of a histogram begins where the one before ends', () => {
	for (let at = 1; at < BUCKETS; at++) {
		assert.ok(bucketLow(at) > bucketLow(at - 1));
		assert.equal(bucketOf(bucketLow(at)), at);
		assert.equal(bucketOf(bucketLow(at) - 1), at - 1);
	}
});

test('weight is neither lost nor made where a histogram becomes coarse or is drawn', () => {
	const h = new Histogram();
	for (let at = 3; at < BUCKETS; at += 7) h.add(at, at % 5 + 1);
	const whole = h.weight;
	const drawn = overScale(h, 10, makeScale(20, 1e9), 44).reduce((sum, weight) => sum + weight, 0);
	near(drawn, whole, 'drawn');
	h.coarsen(3);
	let left = 0;
	h.each((at, weight) => {
		assert.equal(at % 8, 0);
		left += weight;
	});
	assert.equal(left, whole);
	assert.equal(pool([]).histogram.percentile(0.5, 10, 100).isKnown, false);
});

test('a change is sure only when it is more than both errors and 0.3 %', () => {
	const known = (value: number, error: number): Estimate => ({ value, error, isKnown: true, hasError: true });
	assert.equal(change(known(0.1, 0.01), known(0.2, 0.01))?.isSure, true);
	assert.equal(change(known(0.1, 0.08), known(0.2, 0.08))?.isSure, false);
	assert.equal(change(known(0.1, 0), known(0.1029, 0))?.isSure, false);
	assert.equal(change(known(0.1, 0), known(0.0969, 0))?.isSure, true);
	assert.equal(change(known(0.1, 0), { ...known(0.2, 0), hasError: false }), null);
});
