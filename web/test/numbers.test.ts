// Numbers of a chosen range read as the terminal's do: held against what the C code prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { counted, duration, exactShare, shareText, size } from '../src/common/numbers';
import { sampledShare } from '../src/common/stats';

const program = process.env.NUMBERS_TABLE;
const rows = program
	? execFileSync(program, { encoding: 'utf8', maxBuffer: 1 << 24 }).trimEnd().split('\n').map(line => line.split('\t'))
	: [];

function each(kind: string, least: number, check: (fields: string[]) => void): void {
	const mine = rows.filter(row => row[0] === kind);
	assert.ok(mine.length >= least, `the table has only ${mine.length} rows of '${kind}'`);
	mine.forEach(row => check(row.slice(1)));
}

const list = (text: string) => text.split(',').map(Number);

function near(got: number, want: number, what: string): void {
	assert.ok(Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want)), `${what}: ${got}, the C code says ${want}`);
}

const options = program ? {} : { skip: 'NUMBERS_TABLE names no program' };

test('a share reads as in the terminal', options, () => {
	each('share', 600, ([value, error, kept, words]) => {
		const share = { value: Number(value), error: Number(error), coarse: false };
		assert.equal(shareText(share, Number(kept)), words, `${value} ± ${error} of ${kept}`);
	});
});

test('a share of a range has the error that the C code gives it', options, () => {
	each('sampled', 100, ([part, whole, kept, value, error, coarse]) => {
		const share = sampledShare(list(part), list(whole), list(kept));
		near(share.value, Number(value), 'value');
		near(share.error, Number(error), 'error');
		assert.equal(share.coarse, coarse === '1');
	});
});

test('durations, sizes, counts and exact shares read as in the terminal', options, () => {
	each('duration', 40, ([ns, words]) => assert.equal(duration(Number(ns)), words, ns));
	each('size', 40, ([bytes, words]) => assert.equal(size(Number(bytes)), words, bytes));
	each('count', 40, ([count, words]) => assert.equal(counted(Number(count), 'gap'), words, count));
	each('exact', 40, ([part, whole, words]) => assert.equal(exactShare(Number(part), Number(whole)), words, `${part} of ${whole}`));
});
