// Trees, their layout, names that have to fit, ranges in the address: the parts of the page that need no page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Zoom, layout, LEAST_WIDTH, resolve, THIN } from '../src/record/layout';
import { fitName, lastPart, withoutArguments, withoutTemplates } from '../src/record/names';
import { type RecordData, Run } from '../src/record/run';
import { change, matched, neighbours, pair, Places, rows, tree } from '../src/record/tree';

/** main calls a and b, a calls a again, b is in another module; two threads; two batches of two slots. */
function made(weights: [number[], number[]][]): Run {
	const functions = ['main', 'a', 'b', 'c'].map((name, i) => [name, i < 2 ? 'app' : 'lib.so', i < 2 ? 'src/app.c' : '', 10 + i, 1]);
	const markers = ['[no stack]', '[left out]'].map(name => [name, '', '', 0, 3]);
	/* 0 thread, 1 main, 2 a, 3 a, 4 b, 5 thread, 6 main, 7 c */
	const data = {
		started_ms: 0, elapsed_ns: 4e9, slot_ns: 1e9, slot_count: 4, batches: 2, has_waiting: true, kernel: '', threads_seen: 2,
		unsampled_ns: 0, clock_ns: 0, paths_left_out: 0, functions: [...functions, ...markers],
		threads: [['job', 1, 1], ['job', 1, 2]],
		parents: [-1, 0, 1, 2, 1, -1, 5, 6], whats: [-2, 0, 1, 1, 2, -3, 0, 3],
		slots: {
			running: [100, 100, 100, 100], waiting: [0, 0, 0, 0], runnable: [0, 0, 0, 0], kept: [50, 50, 50, 50], lost: [0, 0, 0, 0],
			shown: [3, 4, 4, 7],
		},
		contexts: [3, 4, 7].map((node, i) => {
			const [first, second] = [weights[0][0][i], weights[0][1][i]];
			return [node, 10, 0, first + second, 0, 0, ...(first ? [0, first] : []), ...(second ? [1, second] : [])];
		}),
	};
	return new Run(data as unknown as RecordData);
}
const run = made([[[100, 100, 0], [0, 50, 150]]]);
const places = new Places(run);

test('a function that calls itself is one row, counted once a path', () => {
	const r = rows(run.weigh(null), places, 'function');
	assert.equal(r.get('f1')?.total, 100);
	assert.equal(r.get('f1')?.own, 100);
	assert.equal(r.get('f0')?.total, 400);
	assert.equal(r.get('f0')?.own, 0);
	assert.equal(r.get('f0')?.kept, 30);
});

test('the tree has the same function of two threads once, and by thread twice', () => {
	const w = run.weigh(null);
	assert.deepEqual(tree(w, places, 'function', false, 'run').children.map(c => c.total), [400]);
	const byThread = tree(w, places, 'thread', false, 'run');
	assert.deepEqual(byThread.children.map(c => [c.place.name, c.total]), [['job 1', 250], ['job 1/2', 150]]);
});

test('inverted, what runs is above and has all its own time', () => {
	const root = tree(run.weigh(null), places, 'function', true, 'run');
	assert.deepEqual(root.children.map(c => [c.place.name, c.total, c.own]), [['b', 150, 150], ['c', 150, 150], ['a', 100, 100]]);
});

test('by module, neighbours of one module are one box', () => {
	const root = tree(run.weigh(null), places, 'module', false, 'run');
	assert.deepEqual(root.children.map(c => [c.place.name, c.total, c.own]), [['app', 400, 100]]);
	assert.deepEqual(root.children[0].children.map(c => [c.place.name, c.total]), [['lib.so', 300]]);
	const byFile = rows(run.weigh(null), places, 'file');
	assert.deepEqual([...byFile.values()].map(w => [w.place.name, w.total]).sort(), [['(no file)', 300], ['src/app.c', 400]]);
});

test('a range of one batch has that batch only; part of one has the paths of its slots', () => {
	assert.equal(rows(run.weigh([0, 1]), places, 'function').get('f2')?.total, 100);
	assert.equal(rows(run.weigh([2, 3]), places, 'function').get('f3')?.total, 150);
	const w = run.weigh([1, 1]);
	assert.deepEqual([...rows(w, places, 'function').keys()].sort(), ['f0', 'f2']);
	assert.equal(w.samples, 1);
	const across = run.weigh([1, 3]);
	assert.deepEqual([...across.whole], [100, 200]);
	assert.deepEqual([...across.kept], [1, 100]);
});

test('slots of unequal weight are worth fewer samples', () => {
	const data = { ...run.data, batches: 1, slots: { ...run.data.slots, running: [300, 100, 100, 100] } };
	assert.equal(new Run(data).weigh([0, 1]).samples, 400 * 400 / (300 * 300 + 100 * 100));
});

test('callers and callees count each path once', () => {
	const n = neighbours(run.weigh(null), places, 'function', 'f1');
	assert.deepEqual(n.callers.map(w => [w.place.name, w.total]), [['main', 100], ['a', 100]]);
	assert.deepEqual(n.callees.map(w => [w.place.name, w.total]), [['a', 100], ['(own)', 100]]);
});

test('a match counts each stack once', () => {
	const w = run.weigh(null);
	const root = tree(w, places, 'function', false, 'run');
	assert.equal(matched(root, name => /^(main|a)$/.test(name), w).share.value, 1);
	assert.equal(matched(root, name => name === 'a', w).share.value, 0.25);
	assert.equal(matched(root, name => name === 'a', w).places, 1);
	assert.equal(matched(root, name => name === 'zzz', w).places, 0);
});

test('a difference is told path by path, and only when it is surer than its error', () => {
	const a = run.weigh([0, 1]);
	const b = run.weigh([2, 3]);
	const root = tree(b, places, 'function', false, 'B');
	pair(root, tree(a, places, 'function', false, 'A'));
	const main = root.children[0];
	const c = main.children.find(x => x.place.name === 'c');
	assert.equal(main.other?.total, 200);
	assert.equal(c?.other, null);
	const grown = change(c?.share() ?? null, null, b.samples, a.samples);
	assert.ok(grown.isSure && grown.percent === 75);
	assert.equal(change(main.share(), main.other?.share() ?? null, b.samples, a.samples).isSure, false);
	assert.equal(change({ value: 0.1, error: 0.01, coarse: false }, { value: 0.099, error: 0.00001, coarse: false }, 1e4, 1e4).isSure, false);
});

/** A root with children of these weights. */
function wide(children: number[]): Run {
	const n = children.length;
	const data = {
		started_ms: 0, elapsed_ns: 1e9, slot_ns: 1e9, slot_count: 1, batches: 1, has_waiting: true, kernel: '', threads_seen: 1,
		unsampled_ns: 0, clock_ns: 0, paths_left_out: 0,
		functions: [...children.map((_, i) => [`f${i}`, '', '', 0, 1]), ['[no stack]', '', '', 0, 3], ['[left out]', '', '', 0, 3]],
		threads: [['job', 1, 1]], parents: [-1, ...children.map(() => 0)], whats: [-2, ...children.map((_, i) => i)],
		slots: { running: [1], waiting: [0], runnable: [0], kept: [n], lost: [0], shown: [1] },
		contexts: children.map((w, i) => [i + 1, 1, 0, w, 0, 0, 0, w]),
	};
	return new Run(data as unknown as RecordData);
}

test('thin siblings become one box with their sum, and nothing is dropped', () => {
	const r = wide([500, 490, 2, 2, 2, 2, 2]);
	const root = tree(r.weigh(null), new Places(r), 'function', false, 'run');
	const { boxes, rows: count } = layout({ box: root, thin: null }, 1000);
	assert.equal(count, 2);
	const thin = boxes.find(b => b.thin);
	assert.equal(thin?.thin?.length, 5);
	assert.equal(thin?.total, 10);
	assert.equal(boxes.filter(b => b.row === 1).reduce((n, b) => n + b.total, 0), root.total);
	assert.ok(boxes.every(b => b.width >= LEAST_WIDTH));
});

test('a box of thin siblings can be opened, and all of them are seen in the end', () => {
	const r = wide([100000, ...Array.from({ length: 30 }, (_, i) => 30 - i)]);
	const root = tree(r.weigh(null), new Places(r), 'function', false, 'run');
	const zoom: Zoom = resolve(root, [THIN], 1000);
	assert.equal(zoom.thin?.length, 30);
	const { boxes } = layout(zoom, 1000);
	assert.equal(boxes[0].isAncestor, true);
	assert.ok(boxes.filter(b => !b.thin && !b.isAncestor).length >= 28);
	const same = wide(Array.from({ length: 2000 }, () => 1));
	const many = tree(same.weigh(null), new Places(same), 'function', false, 'run');
	const opened = resolve(many, [THIN, THIN], 900);
	assert.ok((opened.thin?.length ?? 0) > 0);
	assert.ok(layout(opened, 900).boxes.some(b => !b.thin && !b.isAncestor), 'opened twice, equal ones are seen');
});

test('a zoom stops where the path ends', () => {
	const root = tree(run.weigh(null), places, 'function', false, 'run');
	assert.equal(resolve(root, ['f0', 'f2'], 900).box.place.name, 'b');
	assert.equal(resolve(root, ['f0', 'gone', 'f2'], 900).box.place.name, 'main');
	const { boxes } = layout(resolve(root, ['f0', 'f2'], 900), 900);
	assert.deepEqual(boxes.map(b => [b.box.place.name, b.isAncestor, b.width]), [['run', true, 900], ['main', true, 900], ['b', false, 900]]);
});

test('a name loses its arguments, its template arguments, then what stands before the last ::', () => {
	assert.equal(withoutArguments('Parser::parse(char const*, unsigned long) const'), 'Parser::parse');
	assert.equal(withoutArguments('(anonymous namespace)::run(int)'), '(anonymous namespace)::run');
	assert.equal(withoutArguments('A::operator()(int) const'), 'A::operator()');
	assert.equal(withoutTemplates('std::map<std::string, std::vector<int>>::find'), 'std::map<…>::find');
	assert.equal(withoutTemplates('operator<<'), 'operator<<');
	assert.equal(lastPart('std::map<a::b>::find'), 'find');
	assert.equal(lastPart('App\\Http\\Kernel'), 'Kernel');
	assert.equal(lastPart('main'), 'main');
	const upTo = (n: number) => (text: string) => text.length <= n;
	assert.equal(fitName('Parser::parse(char const*)', upTo(40)), 'Parser::parse(char const*)');
	assert.equal(fitName('Parser::parse(char const*)', upTo(14)), 'Parser::parse');
	assert.equal(fitName('Parser::parse(char const*)', upTo(6)), 'parse');
	assert.equal(fitName('Parser::parse(char const*)', upTo(4)), 'par…');
	assert.equal(fitName('Parser::parse(char const*)', upTo(3)), '');
});
