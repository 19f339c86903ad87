// run.ts - the recording as the page has it, turned so that any range of it can be weighed. Pure.
import type { Sums } from '../common/stats';
import { sum } from '../common/stats';

/** What the program puts into the page: src/cli/report_page_record_data.c. */
export interface RecordData {
	started_ms: number;
	elapsed_ns: number;
	slot_ns: number;
	/** Slots that the run would have when full; batches divide these. */
	slot_count: number;
	batches: number;
	/** How many of the recording's slots each of the page's is. */
	slots_merged: number;
	/** False: the clock is CPU time. */
	has_waiting: boolean;
	/** Why kernel stacks are not in; empty: they are. */
	kernel: string;
	threads_seen: number;
	unsampled_ns: number;
	clock_ns: number;
	paths_left_out: number;
	/** name, module, file, line, kind */
	functions: [string, string, string, number, number][];
	/** name, pid, tid */
	threads: [string, number, number][];
	parents: number[];
	/** Of a node: its function; of a thread: -2 less its number; -1: a thread that was never sampled. */
	whats: number[];
	slots: { running: number[]; waiting: number[]; runnable: number[]; kept: number[]; lost: number[]; shown: number[] };
	/** node, kept, uncertain, running, waiting, runnable, then pairs of batch and weight */
	contexts: number[][];
}

export type Range = readonly [number, number];
/** Running, waiting, runnable. */
export type States = [number, number, number];

export const MARKER = 3;

export interface Fn {
	id: number;
	name: string;
	module: string;
	file: string;
	line: number;
	isMarker: boolean;
}

/** The weight of one path in a range: by stratum, which is a batch of the run, or what the range has of one. */
export interface Leaf {
	/** The path, root first: its thread, then functions. -1: no thread is known. */
	thread: number;
	path: Int32Array;
	parts: Float64Array;
	states: States;
	/** Samples; NaN where the range has only a share of them. */
	kept: number;
}

/** A range, weighed. */
export interface Weights {
	leaves: Leaf[];
	/** Weight and samples of each stratum, for sampledShare(). */
	whole: Float64Array;
	kept: Float64Array;
	/** Samples that the shares rest on. */
	samples: number;
	/** Samples that were kept in it; more than `samples` where a slot's one path stands for several. */
	keptInSlots: number;
	/** Of the whole run: the shares are those of the terminal's report. */
	isRun: boolean;
}

interface Stratum { batch: number; from: number; to: number; isWhole: boolean }

export class Run {
	readonly data: RecordData;
	/** Slots that the run has reached. */
	readonly count: number;
	readonly functions: Fn[];
	private readonly paths = new Map<number, { thread: number; path: Int32Array }>();
	/** Of a node's contexts: weight by state, and samples. */
	private readonly mix = new Map<number, States>();
	private readonly keptOf = new Map<number, number>();

	constructor(data: RecordData) {
		this.data = data;
		this.count = Math.max(1, data.slots.running.length);
		this.functions = data.functions.map(([name, module, file, line, kind], id) =>
			({ id, name, module, file, line, isMarker: kind === MARKER }));
		for (const c of data.contexts) {
			const mix = this.mix.get(c[0]) ?? [0, 0, 0];
			this.mix.set(c[0], [mix[0] + c[3], mix[1] + c[4], mix[2] + c[5]]);
			this.keptOf.set(c[0], (this.keptOf.get(c[0]) ?? 0) + c[1]);
		}
	}

	slotWeight(i: number): number {
		const s = this.data.slots;
		return (s.running[i] || 0) + (s.waiting[i] || 0) + (s.runnable[i] || 0);
	}

	/** Lost samples and kept none: nothing is known of it. */
	isHole(i: number): boolean {
		return this.data.slots.lost[i] > 0 && this.data.slots.kept[i] === 0;
	}

	/** The batch that a slot is in. */
	batchOf(slot: number): number {
		return this.data.slot_count > 0 ? Math.floor(slot * this.data.batches / this.data.slot_count) : 0;
	}

	/** Slots where batches begin, and the end of the run: a range between two of them is known best. */
	edges(): number[] {
		const out: number[] = [];
		for (let i = 0; i < this.count; i++) if (i === 0 || this.batchOf(i) !== this.batchOf(i - 1)) out.push(i);
		return [...out, this.count];
	}

	/** Root first. A path that is only a thread ends in "[no stack]", whose row is the last but one. */
	private pathOf(node: number): { thread: number; path: Int32Array } {
		const known = this.paths.get(node);
		if (known) return known;
		const path: number[] = [];
		let thread = -1;
		for (let at = node, steps = 0; at >= 0 && steps <= this.data.parents.length; at = this.data.parents[at], steps++) {
			const what = this.data.whats[at];
			if (what >= 0) path.push(what);
			else if (what < -1) thread = -2 - what;
		}
		if (path.length === 0) path.push(this.functions.length - 2);
		const made = { thread, path: Int32Array.from(path.reverse()) };
		this.paths.set(node, made);
		return made;
	}

	/** The range cut where batches end. The last slot that was reached ends its batch. */
	private strata(range: Range): Stratum[] {
		const out: Stratum[] = [];
		for (let from = range[0]; from <= range[1];) {
			const batch = this.batchOf(from);
			let to = from;
			while (to < range[1] && this.batchOf(to + 1) === batch) to++;
			const isBegun = from === 0 || this.batchOf(from - 1) !== batch;
			const isEnded = to === this.count - 1 || this.batchOf(to + 1) !== batch;
			out.push({ batch, from, to, isWhole: isBegun && isEnded });
			from = to + 1;
		}
		/* What a recorder kept behind the last slot that it saved belongs to the end. */
		for (let batch = out[out.length - 1].batch + 1; range[1] === this.count - 1 && batch < this.data.batches; batch++)
			out.push({ batch, from: this.count, to: this.count - 1, isWhole: true });
		return out;
	}

	/** Sums of a column of the slots. */
	slotSum(column: Sums, from: number, to: number): number {
		let all = 0;
		for (let i = from; i <= to; i++) all += column[i] || 0;
		return all;
	}

	/** Whole batches have every path's own sum. What is left of a batch at an end of the range is known by its slots: each shows one
	 * path, drawn in proportion, for its whole weight. So it has as many samples as that many unequal weights are worth. */
	weigh(range: Range | null): Weights {
		const [from, to] = range ?? [0, this.count - 1];
		const strata = this.strata([from, to]);
		const byLeaf = new Map<number, Leaf>();
		const leaf = (node: number): Leaf => {
			let l = byLeaf.get(node);
			if (!l) {
				l = { ...this.pathOf(node), parts: new Float64Array(strata.length), states: [0, 0, 0], kept: 0 };
				byLeaf.set(node, l);
			}
			return l;
		};
		const isRun = from === 0 && to === this.count - 1;
		this.weighBatches(strata, leaf);
		this.weighSlots(strata, leaf);
		return this.finish([...byLeaf.entries()], strata, isRun);
	}

	private weighBatches(strata: Stratum[], leaf: (node: number) => Leaf): void {
		const at = new Map<number, number>();
		strata.forEach((s, i) => { if (s.isWhole) at.set(s.batch, i); });
		for (const c of this.data.contexts)
			for (let k = 6; k + 1 < c.length; k += 2) {
				const stratum = at.get(c[k]);
				if (stratum !== undefined) leaf(c[0]).parts[stratum] += c[k + 1];
			}
	}

	private weighSlots(strata: Stratum[], leaf: (node: number) => Leaf): void {
		strata.forEach((s, i) => {
			for (let slot = s.from; !s.isWhole && slot <= s.to; slot++) {
				const shown = this.data.slots.shown[slot];
				if (shown >= 0) leaf(shown).parts[i] += this.slotWeight(slot);
			}
		});
	}

	private finish(entries: [number, Leaf][], strata: Stratum[], isRun: boolean): Weights {
		const whole = new Float64Array(strata.length);
		for (const [node, l] of entries) {
			const total = sum(l.parts);
			l.parts.forEach((part, i) => { whole[i] += part; });
			l.states = share(this.mix.get(node) ?? [1, 0, 0], total);
			l.kept = isRun ? this.keptOf.get(node) ?? 0 : NaN;
		}
		const leaves = entries.map(([, l]) => l).filter(l => sum(l.parts) > 0);
		const kept = Float64Array.from(strata, s => this.samplesOf(s));
		if (isRun && sum(kept) === 0) this.spreadKept(kept, whole, leaves);
		const slots = this.data.slots.kept;
		return {
			leaves, whole, kept, samples: sum(kept), isRun,
			keptInSlots: strata.reduce((all, s) => all + this.slotSum(slots, s.from, s.to), 0),
		};
	}

	private samplesOf(s: Stratum): number {
		if (s.isWhole) return this.slotSum(this.data.slots.kept, s.from, s.to);
		let all = 0;
		let squares = 0;
		for (let slot = s.from; slot <= s.to; slot++) {
			const w = this.data.slots.shown[slot] >= 0 ? this.slotWeight(slot) : 0;
			all += w;
			squares += w * w;
		}
		return squares > 0 ? all * all / squares : 0;
	}

	/** Where no slot has any samples, they are spread as the weight is. */
	private spreadKept(kept: Float64Array, whole: Float64Array, leaves: Leaf[]): void {
		const all = leaves.reduce((n, l) => n + l.kept, 0);
		const weight = sum(whole);
		let before = 0;
		let spread = 0;
		for (let i = 0; i < kept.length && weight > 0; i++) {
			before += whole[i];
			kept[i] = Math.floor(all * Math.min(before / weight, 1)) - spread;
			spread += kept[i];
		}
	}
}

/** `total` parted as `mix` is. */
function share(mix: States, total: number): States {
	const all = mix[0] + mix[1] + mix[2];
	if (!(all > 0)) return [total, 0, 0];
	return [total * mix[0] / all, total * mix[1] / all, total * mix[2] / all];
}
