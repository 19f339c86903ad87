// The page of a fleet: sums and shares of ranges, plans as trees, and what differs between two.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Fleet } from '../src/collect/model';
import { difference, harmless, harmlessPlan, planTree } from '../src/collect/plantree';
import { change, coveredOn, covered, coverOf, others, series, share, sum, thirds } from '../src/collect/shares';
import { exactShare, shareText } from '../src/common/numbers';

const fleet = (more: Partial<Fleet>): Fleet => ({
	from: 0, slot: 60000, slots: 4, visit: 60000, now: 240000, cover: [[60000, 60000, 1, 1], [60000, 60000, 1, 1], [60000, 0, 1, 0], [60000, 60000, 1, 1]],
	all: { cells: [], unknown: [] }, lines: [], statements: 0, functions: 0, servers: [], serversLeftOut: 0, holesLeftOut: false, plans: [], plansLeftOut: 0,
	turns: null, cost: [], runs: [], runsLeftOut: 0, waits: [], waitsLeftOut: 0, ...more,
});

test('cells are slots since the last one, calls and time', () => {
	const s = series({ cells: [1, 10, 500, 2, 4, 100, 9, 1, 1], unknown: [2, 3, 1] }, 4);
	assert.deepEqual([...s.calls], [0, 10, 0, 4]);
	assert.deepEqual(sum(s, [1, 3]), { calls: 14, us: 600, unknown: 3, hidden: 1 });
	assert.deepEqual(sum(s, [0, 0]), { calls: 0, us: 0, unknown: 0, hidden: 0 });
});

test('what is not covered is the error of a share, and of a whole range nothing is', () => {
	const f = fleet({}), all = series({ cells: [0, 1, 100, 1, 1, 100, 2, 1, 100], unknown: [] }, 4);
	const half = series({ cells: [0, 1, 50, 1, 1, 50, 2, 1, 50], unknown: [] }, 4);
	assert.equal(covered(f, [0, 3]), 0.75);
	const whole = share(f, [0, 3], sum(half, [0, 3]), sum(all, [0, 3]), 1);
	assert.ok(Math.abs(whole.value - 0.5) < 1e-12 && Math.abs(whole.error - 0.125) < 1e-12);
	assert.equal(share(f, [0, 1], sum(half, [0, 1]), sum(all, [0, 1]), 1).error, 0);
	assert.equal(share(f, [2, 2], sum(half, [2, 2]), sum(all, [2, 2]), 1).error, 1);
});

test('a hole of its own server weighs more than the fleet’s', () => {
	const f = fleet({ servers: [{ holes: [1, 500, 2, 0] }] as unknown as Fleet['servers'] });
	assert.equal(coveredOn(coverOf(f, 0), [0, 3]), 0.625);
	assert.equal(coveredOn(coverOf(f, 7), [0, 3]), 1);
	const late = fleet({ servers: [{ holes: [0, -1, 1, 500] }] as unknown as Fleet['servers'] });
	assert.equal(coveredOn(coverOf(late, 0), [0, 2]), 0.75, 'what was before first sight is not uncovered');
});

test('all other is what no line has', () => {
	const all = series({ cells: [0, 10, 100, 1, 10, 100], unknown: [] }, 2), one = series({ cells: [0, 4, 30], unknown: [] }, 2);
	assert.deepEqual([...others(all, [one], 2).us], [70, 100]);
	assert.deepEqual([...others(all, [one], 2).calls], [6, 10]);
});

test('a change is told only when it is larger than the spread between slots', () => {
	const steady = series({ cells: [0, 10, 100, 1, 10, 104, 1, 10, 96, 1, 10, 1000, 1, 10, 1010, 1, 10, 990], unknown: [] }, 6);
	const wild = series({ cells: [0, 10, 100, 1, 10, 900, 1, 10, 20, 1, 10, 1000, 1, 10, 10, 1, 10, 400], unknown: [] }, 6);
	assert.equal(change(steady, [0, 2], [3, 5])?.sure, true);
	assert.equal(Math.round(change(steady, [0, 2], [3, 5])?.times ?? 0), 10);
	assert.equal(change(wild, [0, 2], [3, 5])?.sure, false);
	assert.equal(change(steady, [0, 1], [3, 5])?.sure, false, 'two slots tell nothing');
	assert.equal(change(series({ cells: [0, 1, 1], unknown: [] }, 6), [0, 2], [3, 5]), null);
	assert.equal(thirds([0, 7]), null);
	assert.deepEqual(thirds([0, 8]), [[0, 2], [6, 8]]);
});

const plan = (node: object) => JSON.stringify([{ Plan: node }]);
const index = plan({ 'Node Type': 'Index Scan', 'Index Name': 'by_customer', 'Relation Name': 'orders', 'Plan Rows': 3, 'Total Cost': 37, 'Index Cond': '(customer = $1)' });
const seq = plan({ 'Node Type': 'Sort', 'Plan Rows': 18400, 'Total Cost': 41207, Plans: [
	{ 'Node Type': 'Seq Scan', 'Relation Name': 'orders', 'Plan Rows': 18400, 'Total Cost': 39881, Filter: '(customer = $1)', Output: ['a', 'b'] }] });

test('a plan is a list of nodes with all their fields', () => {
	const tree = planTree(seq);
	assert.deepEqual(tree?.nodes.map(n => [n.depth, n.type, n.on]), [[0, 'Sort', ''], [1, 'Seq Scan', 'orders']]);
	assert.deepEqual(tree?.nodes[1].conditions, [['Filter', '(customer = $1)']]);
	assert.deepEqual(tree?.nodes[1].fields, [['Output', 'a, b']]);
});

test('what is no plan, damaged or too deep is none', () => {
	const deep = `${'[{"Plans":'.repeat(500)}1${'}]'.repeat(500)}`;
	for (const bad of ['', '{', '[]', '{"Plan": 7}', '[{"Plan": {"Node Type": 1}}]', deep]) assert.equal(planTree(bad), null, bad.slice(0, 20));
});

test('two plans are compared line by line, with a sign where they differ', () => {
	const a = planTree(index), b = planTree(seq);
	assert.ok(a && b);
	const d = difference(a, b);
	assert.equal(d.what, 'Index Scan became Seq Scan');
	assert.deepEqual(d.before.map(l => l.changed), [true, true]);
	assert.deepEqual(d.after.map(l => l.changed), [true, true, true]);
	const under = planTree(plan({ 'Node Type': 'Limit', Plans: [JSON.parse(index)[0].Plan] }));
	assert.ok(under);
	assert.deepEqual(difference(a, under).after.map(l => l.changed), [true, false, false], 'what only moved down is the same');
	assert.equal(difference(a, a).what, '');
});

test('what is hidden in a plan is shown, and its structure stays', () => {
	assert.equal(harmless('a\u202eb\nc\u0007'), 'a\\u{202e}b\\nc\\u{7}');
	const tree = planTree(harmlessPlan(plan({ 'Node Type': 'Seq\u001b Scan', 'Relation Name': '\u202et' })));
	assert.deepEqual([tree?.nodes[0].type, tree?.nodes[0].on], ['Seq\\u{1b} Scan', '\\u{202e}t']);
});

const tare = process.env.TARE, makeFleet = process.env.MAKE_FLEET;

test('shares of the whole run read as the C code has them', tare && makeFleet ? {} : { skip: 'TARE and MAKE_FLEET name no programs' }, () => {
	const place = mkdtempSync(join(tmpdir(), 'tare-fleet-'));
	try {
		execFileSync(makeFleet ?? '', ['holes', join(place, 'f.tare')]);
		execFileSync(tare ?? '', ['report', '--html', join(place, 'f.html'), join(place, 'f.tare')]);
		const json = /id="data">([^]*?)<\/script>/.exec(readFileSync(join(place, 'f.html'), 'utf8'))?.[1] ?? '';
		const f = JSON.parse(json) as Fleet, all = series(f.all, f.slots), r: [number, number] = [0, f.slots - 1];
		const lines = f.lines.filter(l => l.kind !== 'function');
		assert.ok(lines.length >= 8, 'the store has statements');
		let unsure = 0;
		for (const line of lines) {
			const got = share(f, r, sum(series(line, f.slots), r), sum(all, r), coveredOn(coverOf(f, line.server), r));
			const words = got.error < 0.00005 ? exactShare(Math.round(got.value * 1e9), 1e9) : shareText({ ...got, coarse: false }, 1e12);
			assert.equal(words, line.share, line.name);
			unsure += got.error > 0 && got.error < 1 ? 1 : 0;
		}
		assert.ok(unsure >= 4, 'some shares have an error');
	} finally {
		rmSync(place, { recursive: true });
	}
});
