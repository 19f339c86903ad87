// when.ts - the rows of the timeline: states, the eight heaviest threads, what never ran, what was not allowed.
import { el } from '../common/dom';
import { type Box as Area, looks, type Pen, STATE_SIGNS, STATE_TOKENS, STATE_WORDS, stateHatch } from '../common/looks';
import { counted, duration, NBSP, pm } from '../common/numbers';
import { sampledShare } from '../common/stats';
import { tok } from '../common/theme';
import type { HeatRow } from '../common/timeline';
import type { Range, Run, States } from './run';
import type { Weighed } from './tree';

const STEPS = 7;
const FIRST_THREADS = 8;

/** "to 1.9 CPUs", of the strongest slot. */
function upTo(weight: number, spanNs: number): string {
	const cpus = spanNs > 0 ? weight / spanNs : 0;
	return cpus < 0.995 ? `to ${Math.max(1, Math.round(cpus * 100))}${NBSP}%` : `to ${cpus.toFixed(1)}${NBSP}CPUs`;
}

function columnOf(run: Run, state: number): number[] {
	const s = run.data.slots;
	return [s.running, s.waiting, s.runnable][state];
}

/** The mean of a column over slots that are no holes; -1: all are. */
function mean(run: Run, column: ArrayLike<number>, from: number, to: number): number {
	let all = 0;
	let count = 0;
	for (let i = from; i <= to; i++) {
		if (run.isHole(i)) continue;
		all += column[i] || 0;
		count++;
	}
	return count > 0 ? all / count : -1;
}

function stateRow(run: Run, state: number): HeatRow {
	const name = `${STATE_SIGNS[state]} ${STATE_WORDS[state]}`;
	const column = columnOf(run, state);
	const most = column.reduce((a, b) => Math.max(a, b || 0), 0);
	return {
		name: most > 0 ? `${name}, ${upTo(most, run.data.slot_ns)}` : name,
		draw(c, from, to, box) {
			const v = mean(run, column, from, to);
			if (v < 0) return;
			if (v === 0) {
				looks.zero(c, box);
				return;
			}
			c.fillStyle = tok(STATE_TOKENS[state]);
			c.globalAlpha = 0.1 + 0.9 * Math.ceil(v / most * STEPS) / STEPS;
			c.fillRect(box.x, box.y, box.w, box.h);
			c.globalAlpha = 1;
		},
	};
}

/** What threads have in each batch, as a share of the batch: their mix is known so finely, the sum of all slot by slot. */
export interface ThreadTime {
	place: string;
	shares: Float64Array;
	states: States;
}

export function threadTimes(threads: Weighed[], whole: ArrayLike<number>): ThreadTime[] {
	return threads.map(t => ({
		place: t.place.name,
		shares: Float64Array.from(t.parts, (part, i) => (whole[i] > 0 ? part / whole[i] : 0)),
		states: t.states,
	}));
}

function stack(c: Pen, states: States, height: number, box: Area): void {
	const all = states[0] + states[1] + states[2] || 1;
	let bottom = box.y + box.h;
	for (const state of [0, 2, 1]) {
		const h = height * states[state] / all;
		if (h <= 0) continue;
		const area = { x: box.x, y: bottom - h, w: box.w, h };
		c.fillStyle = tok(STATE_TOKENS[state]);
		c.globalAlpha = state === 1 ? 0.32 : 1;
		c.fillRect(area.x, area.y, area.w, area.h);
		stateHatch(c, state, area, 0.35);
		c.globalAlpha = 1;
		bottom -= h;
	}
}

function threadRow(run: Run, t: ThreadTime, gap: number): HeatRow {
	const column = Float64Array.from({ length: run.count }, (_, i) => run.slotWeight(i) * (t.shares[run.batchOf(i)] || 0));
	const most = column.reduce((a, b) => Math.max(a, b), 0);
	const full = Math.max(most, run.data.slot_ns);
	return {
		name: t.place, gap, height: 20,
		draw(c, from, to, box) {
			const v = mean(run, column, from, to);
			if (v < 0) return;
			if (v === 0) looks.idle(c, box);
			else stack(c, t.states, Math.max(1, v / full * box.h), box);
		},
	};
}

function rest(times: ThreadTime[]): ThreadTime {
	const sum: ThreadTime = { place: `${times.length} more`, shares: new Float64Array(times[0].shares.length), states: [0, 0, 0] };
	for (const t of times) {
		t.shares.forEach((s, i) => { sum.shares[i] += s; });
		t.states.forEach((s, i) => { sum.states[i] += s; });
	}
	return sum;
}

/** All rows, in the order of the page. */
export function rowsOf(run: Run, threads: ThreadTime[]): HeatRow[] {
	const out = (run.data.has_waiting ? [0, 1, 2] : [0]).map(state => stateRow(run, state));
	if (!run.data.has_waiting)
		out.push({ name: `${STATE_SIGNS[1]} ${STATE_SIGNS[2]} not measured`, draw: () => undefined, over: looks.unmeasured });
	const first = threads.length > FIRST_THREADS + 1 ? threads.slice(0, FIRST_THREADS) : threads;
	first.forEach((t, i) => out.push(threadRow(run, t, i === 0 ? 10 : 0)));
	if (first.length < threads.length) out.push(threadRow(run, rest(threads.slice(FIRST_THREADS)), 0));
	const never = run.data.threads_seen - run.data.threads.length;
	if (never > 0) out.push({ name: `${never} more never ran`, height: 18, draw: (c, _from, _to, box) => looks.idle(c, box) });
	const why = run.data.kernel;
	if (why) {
		const isDenied = why.startsWith('not allowed');
		out.push({
			name: isDenied ? 'kernel ⊘ not allowed' : 'kernel — not measured', height: 18, draw: () => undefined,
			over: isDenied ? looks.denied : looks.unmeasured,
		});
	}
	return out;
}

/** The states of a range in words and numbers: shares where waiting is measured, CPU time where it is not. */
export function stateWords(run: Run, range: Range): (Node | string)[] {
	const sums = [0, 1, 2].map(state => run.slotSum(columnOf(run, state), range[0], range[1]));
	const span = (range[1] - range[0] + 1) * run.data.slot_ns;
	const kept = run.slotSum(run.data.slots.kept, range[0], range[1]);
	if (!run.data.has_waiting)
		return [el('span', {}, `${STATE_SIGNS[0]} running ${sums[0] > 0 ? duration(sums[0]) : '0'} of ${duration(span)}`),
			el('span', { class: 'none', title: 'the clock is CPU time' }, '— waiting not measured')];
	const parts = (column: number[]) => Float64Array.from({ length: range[1] - range[0] + 1 }, (_, i) => column[range[0] + i] || 0);
	const whole = Float64Array.from({ length: range[1] - range[0] + 1 }, (_, i) => run.slotWeight(range[0] + i));
	const samples = parts(run.data.slots.kept);
	return sums.map((_, state) => el('span', {}, `${STATE_SIGNS[state]} ${STATE_WORDS[state]} `,
		...pm(sampledShare(parts(columnOf(run, state)), whole, samples), kept)));
}

/** What was lost in a range, in words; nothing where nothing was. */
export function lostWords(run: Run, range: Range): string {
	const lost = run.slotSum(run.data.slots.lost, range[0], range[1]);
	let holes = 0;
	for (let i = range[0]; i <= range[1]; i++) if (run.isHole(i)) holes++;
	if (lost === 0) return '';
	return `lost ${counted(lost, 'sample')}` + (holes > 0 ? `, a hole of ${duration(holes * run.data.slot_ns)}` : '');
}

