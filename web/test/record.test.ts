// The page of samples says what the terminal says: its rows, weighed by the script from the page's own data, are held against the
// JSON report of the same recording.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { shareText } from '../src/common/numbers';
import { sum } from '../src/common/stats';
import { type RecordData, Run } from '../src/record/run';
import { Places, rows, threads } from '../src/record/tree';

const tare = process.env.TARE;
const make = process.env.MAKE_RECORDING;
const options = tare && make ? {} : { skip: 'TARE and MAKE_RECORDING name no programs' };

interface Weighed { share: { words: string }; weight_ns: number; kept: number }
interface Report {
	functions: { name: string; own: Weighed; with_callees: Weighed }[];
	threads: { name: string; pid: number; tid: number; all: Weighed }[];
	totals: { sampled_ns: number };
}

/** The page's data and the JSON report of a recording made by hand. */
function read(kind: string): { data: RecordData; report: Report } {
	const place = mkdtempSync(join(tmpdir(), 'tare-web-'));
	try {
		const file = join(place, 'made.tare');
		const page = join(place, 'made.html');
		execFileSync(make ?? '', [kind, file]);
		execFileSync(tare ?? '', ['report', '--html', page, file], { stdio: 'ignore' });
		const block = /<script type="application\/json" id="data">([^<]*)<\/script>/.exec(readFileSync(page, 'utf8'));
		assert.ok(block, 'the page has a block of data');
		const report = execFileSync(tare ?? '', ['report', '--json', file], { encoding: 'utf8', maxBuffer: 1 << 26 });
		return { data: JSON.parse(block[1]), report: JSON.parse(report) };
	} finally {
		rmSync(place, { recursive: true });
	}
}

for (const kind of ['parser', 'coarse', 'unfinished', 'hostile', 'quiet'])
	test(`each function of '${kind}' has the terminal's shares`, options, () => {
		const { data, report } = read(kind);
		const run = new Run(data);
		const weights = run.weigh(null);
		const made = rows(weights, new Places(run), 'function');
		assert.equal(weights.isRun, true);
		assert.equal(sum(weights.whole), report.totals.sampled_ns);
		let compared = 0;
		for (const f of report.functions) {
			if (f.with_callees.weight_ns === 0) continue;
			const mine = [...made.values()].filter(w => w.total === f.with_callees.weight_ns && w.own === f.own.weight_ns);
			const words = mine.map(w => [shareText(w.ownShare(), weights.samples), shareText(w.share(), weights.samples), w.kept].join(' | '));
			assert.ok(words.includes([f.own.share.words, f.with_callees.share.words, f.with_callees.kept].join(' | ')),
				`${f.name}: ${f.own.share.words} | ${f.with_callees.share.words}; the page: ${words.join('; ')}`);
			compared++;
		}
		assert.equal(made.size, compared, 'no row more than the terminal has');
	});

test('each thread has the terminal’s share', options, () => {
	const { data, report } = read('parser');
	const run = new Run(data);
	const weights = run.weigh(null);
	const made = [...threads(weights, new Places(run)).values()].sort((a, b) => b.total - a.total);
	assert.deepEqual(made.map(w => shareText(w.share(), weights.samples)), report.threads.map(t => t.all.share.words));
});

test('a range of whole batches has their sums, and what is left of a batch what its slots show', options, () => {
	const { data } = read('parser');
	const run = new Run(data);
	const half = run.weigh([0, 15]);
	assert.equal(half.isRun, false);
	assert.equal(half.whole.length, 16);
	const both = sum(half.whole) + sum(run.weigh([16, run.count - 1]).whole);
	assert.equal(both, sum(run.weigh(null).whole), 'two halves are the run');
	const wide = new Run({ ...data, batches: 8 });
	const part = wide.weigh([0, 1]);
	assert.equal(part.whole.length, 1);
	assert.equal(sum(part.whole), wide.slotWeight(0), 'slot 1 shows nothing: it was lost');
	assert.ok(part.leaves.every(l => Number.isNaN(l.kept)), 'how many samples each has is not known');
});

test('names in the page’s data are harmless, and end no element', options, () => {
	const { data } = read('hostile');
	const text = JSON.stringify(data);
	assert.ok(data.functions.length > 2);
	assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029\u200b-\u200f]/);
});
