// model.ts - the recording in the page, and what is asked of it: a range of rows, and the answer for each function.
import { decodeSlow, decodeWindows, type FunctionData, type Row, type SlowFrame, type WatchData } from './decode';
import { answer, partOf, type Answer } from './estimate';
import { slowOf, type Slow } from './slow';

/** Rows [first, last], both in it; null: the whole run. */
export type Range = readonly [number, number] | null;

export interface Watched {
	data: FunctionData;
	rows: Row[];
	byAt: (Row | undefined)[];
	isFunction: boolean; // not a task, not the frame
	wasCalled: boolean;
}

/** One range, answered. */
export interface Looked {
	range: Range;
	fromNs: number;
	toNs: number;
	rangeNs: number;
	answers: Answer[]; // by function
	frames: number;
	framesNs: number;
	frame: Answer | null;
	slow: Slow;
}

const MOST_KNOWN = 32;

export class Model {
	readonly functions: Watched[];
	readonly slow: SlowFrame[];
	readonly frame: Watched | null;
	private known = new Map<string, Looked>(); // of the ranges last asked for: they are asked for again and again

	constructor(readonly data: WatchData) {
		this.functions = data.functions.map((f) => watchedOf(f, data.rows));
		this.slow = decodeSlow(data.slowFrames);
		this.frame = this.functions[data.frame] ?? null;
	}

	private edges(range: Range): { fromNs: number; toNs: number; isWhole: boolean } {
		if (range === null)
			return { fromNs: 0, toNs: this.data.endNs, isWhole: true };
		const fromNs = range[0] * this.data.rowNs, toNs = Math.min((range[1] + 1) * this.data.rowNs, this.data.endNs);

		return { fromNs, toNs, isWhole: fromNs <= 0 && toNs >= this.data.endNs };
	}

	/** What a range says. */
	look(range: Range): Looked {
		const key = range === null ? '' : range.join('-'), known = this.known.get(key);
		if (known) return known;
		const looked = this.lookAt(range);
		if (this.known.size >= MOST_KNOWN) this.known.clear();
		this.known.set(key, looked);
		return looked;
	}

	private lookAt(range: Range): Looked {
		const edges = this.edges(range);
		const rows = this.functions.map((f) => edges.isWhole ? f.rows : f.rows.filter((row) => isIn(row, f, range)));
		const rangeNs = Math.max(edges.toNs - edges.fromNs, ...rows.map((list) => sumOf(list, 'spanNs')));
		const answers = this.functions.map((f, i) => answer(f.data, f.rows, rows[i]!, rangeNs));
		const frame = this.frame ? answers[this.data.frame]! : null, framesNs = frame?.total.value ?? 0;
		const called = this.functions.map((f, i) => ({
			data: f.data, rows: f.rows, wasCalled: answers[i]!.count.value > 0,
		}));
		const slow = slowOf(this.data, called, this.slow, edges);
		const counted = Math.round(frame?.count.value ?? 0);
		const looked: Looked = {
			range, fromNs: edges.fromNs, toNs: edges.toNs, rangeNs, answers, frame, framesNs, slow,
			frames: edges.isWhole && this.frame ? Math.max(counted, this.data.frames) : counted,
		};

		this.functions.forEach((f, i) => {
			if (f.isFunction && this.frame)
				answers[i]!.ofFrames = partOf(answers[i]!.own, framesNs);
		});
		return looked;
	}

	/** The rows of a function in [from, to], both in it. */
	between(f: Watched, from: number, to: number): Row[] {
		const rows: Row[] = [];
		for (let at = from; at <= to; at++) {
			const row = f.byAt[at];
			if (row) rows.push(row);
		}
		return rows;
	}

	/** Where row `at` begins, in ms of the wall clock. */
	at(row: number): number {
		return this.data.startedMs + Math.min(row * this.data.rowNs, this.data.endNs) / 1e6;
	}
}

function isIn(row: Row, f: Watched, range: Range): boolean {
	return range === null || (!f.data.isPooled && row.at >= range[0] && row.at <= range[1]);
}

function watchedOf(data: FunctionData, count: number): Watched {
	const rows = decodeWindows(data.windows);
	const byAt = new Array<Row | undefined>(count).fill(undefined);

	for (const row of rows)
		if (!data.isPooled && row.at < count)
			byAt[row.at] = row;
	return {
		data, rows, byAt, isFunction: data.kind === 'probe' || data.kind === 'scope',
		wasCalled: rows.some((row) => row.calls + row.neverTimed > 0),
	};
}

function sumOf(rows: readonly Row[], key: 'spanNs'): number {
	return rows.reduce((sum, row) => sum + row[key], 0);
}
