// when.ts - the timeline of a fleet: the ten dearest statements, all others, all together, and the servers that were visited.
import { el, fill } from '../common/dom';
import { type Box, hatch, keySample, looks, type Pen } from '../common/looks';
import { duration, exact, exactShare, fixed, NBSP, pm, timeOfDay } from '../common/numbers';
import { flip, section, sheet, twin } from '../common/page';
import { table } from '../common/table';
import { tok } from '../common/theme';
import { clockTicks, Heat, type HeatRow } from '../common/timeline';
import { covered, type Range, type Series, slotOf, sum, whole } from './shares';
import { moment, rangeWords, spent, type View } from './view';

const DEAREST = 10;
const STEPS = 8; // of strength
const MARKS_MOST = 12;
const TWIN_ROWS = 18;
const NO_VISIT = 0.05; // of a slot that is covered

function busiest(v: View, rows: Series[]): number {
	let most = 1;
	for (const s of rows) for (let i = 0; i < v.fleet.slots; i++) most = Math.max(most, s.us[i]);
	return most;
}

/** Stronger is more, by the root: little is still seen beside much. */
function drawBusy(c: Pen, us: number, most: number, box: Box): void {
	const strength = Math.ceil(Math.sqrt(Math.min(1, us / most)) * STEPS) / STEPS;
	c.fillStyle = tok('run');
	c.globalAlpha = 0.06 + 0.94 * strength;
	c.fillRect(box.x, box.y, box.w, box.h);
	c.globalAlpha = 1;
}

/** In front of first sight, or behind the last. */
function isAbsent(cover: Float64Array, from: number, to: number): boolean {
	for (let i = from; i <= to; i++) if (!Number.isNaN(cover[i])) return false;
	return true;
}

/** Slots in a row in which the server was not visited, as one hole each. */
function unvisited(s: Series, cover: Float64Array): Range[] {
	const out: Range[] = [];
	for (let i = 0; i < cover.length; i++) {
		if (Number.isNaN(cover[i]) || cover[i] >= NO_VISIT || s.us[i] > 0 || s.unknown[i] > 0) continue;
		const last = out[out.length - 1];
		if (last && last[1] === i - 1) last[1] = i;
		else out.push([i, i]);
	}
	return out;
}

function statementRow(v: View, i: number, most: number): HeatRow {
	const line = v.fleet.lines[i], s = v.lines[i], cover = v.cover(line.server), holes = unvisited(s, cover);
	return {
		name: line.name,
		draw(c, from, to, box) {
			const at = sum(s, [from, to]);
			if (at.us > 0) drawBusy(c, at.us / (to - from + 1), most, box);
			else if (at.unknown > 0 || isAbsent(cover, from, to)) looks.unmeasured(c, box);
			else looks.zero(c, box);
		},
		over(c, box) {
			for (const [from, to] of holes) {
				const x = Math.round(box.x + from / cover.length * box.w);
				looks.lost(c, { ...box, x, w: Math.max(3, Math.round(box.x + (to + 1) / cover.length * box.w) - x) });
			}
			if (line.kind === 'hidden') looks.denied(c, box);
		},
	};
}

/** All time; solid is the first statement's part of it. */
function allRow(v: View): HeatRow {
	const most = busiest(v, [v.all]), first = v.lines[0];
	return {
		name: 'all; solid is the first',
		height: 44,
		gap: 10,
		draw(c, from, to, box) {
			const n = to - from + 1;
			const all = sum(v.all, [from, to]).us / n / most * box.h;
			const part = first ? sum(first, [from, to]).us / n / most * box.h : 0;
			c.fillStyle = tok('edge');
			c.globalAlpha = 0.4;
			c.fillRect(box.x, box.y + box.h - all, box.w, Math.max(0, all - part));
			c.globalAlpha = 1;
			c.fillStyle = tok('run');
			c.fillRect(box.x, box.y + box.h - part, box.w, part);
		},
	};
}

function visitedRow(v: View): HeatRow {
	const most = Math.max(1, ...v.fleet.cover.map(c => c[2]));
	return {
		name: `servers visited of ${most}`,
		height: 22,
		gap: 6,
		draw(c, from, to, box) {
			let here = 0, seen = 0;
			for (let i = from; i <= to; i++) {
				here += v.fleet.cover[i][2];
				seen += v.fleet.cover[i][3];
			}
			if (here === 0) return;
			const part = seen / here * box.h;
			c.fillStyle = tok('edge');
			c.globalAlpha = 0.4;
			c.fillRect(box.x, box.y + box.h - part, box.w, part);
			c.globalAlpha = 1;
			if (seen === here) return;
			c.fillStyle = hatch(c, tok('stop'), 'x');
			c.fillRect(box.x, box.y, box.w, box.h - part);
		},
	};
}

function rows(v: View): HeatRow[] {
	const shown = Math.min(DEAREST, v.statements);
	const most = busiest(v, [...v.lines.slice(0, shown), v.rest]);
	const rest: Series = { ...v.rest, us: Float64Array.from(v.rest.us), calls: v.rest.calls };
	for (let i = shown; i < v.statements; i++) for (let k = 0; k < v.fleet.slots; k++) rest.us[k] += v.lines[i].us[k];
	const out = v.lines.slice(0, shown).map((_, i) => statementRow(v, i, most));
	if (v.fleet.statements > shown) out.push({
		name: `all other, ${exact(v.fleet.statements - shown)}`,
		draw(c, from, to, box) {
			const us = sum(rest, [from, to]).us / (to - from + 1);
			if (us > 0) drawBusy(c, us, Math.max(most, us), box);
			else looks.zero(c, box);
		},
	});
	return [...out, allRow(v), visitedRow(v)];
}

/** Changes of plans, the dearest statements' first. */
function marks(v: View): { slot: number; sign: string; token: string }[] {
	const slots = new Set<number>();
	for (const line of v.fleet.lines)
		if (line.changed != null && slots.size < MARKS_MOST) slots.add(slotOf(v.fleet, line.changed));
	return [...slots].map(slot => ({ slot, sign: '▼', token: 'ink' }));
}

function say(v: View, name: string, r: Range): HTMLElement[] {
	const us = sum(v.all, r).us, lengthUs = (r[1] - r[0] + 1) * v.fleet.slot * 1000, is = covered(v.fleet, r);
	return [
		el('b', {}, name),
		el('span', {}, `${spent(us)} of statement time`),
		el('span', {}, `${fixed(us / lengthUs, 2)} busy on average`),
		el('span', {}, is === null ? 'nobody was to be visited' : `covered ${exactShare(Math.round(is * 1e6), 1e6)}`),
	];
}

function twinTable(v: View): HTMLElement {
	const step = Math.max(1, Math.ceil(v.fleet.slots / TWIN_ROWS)), f = v.fleet;
	const out = [];
	for (let from = 0; from < f.slots; from += step) {
		const r: Range = [from, Math.min(f.slots - 1, from + step - 1)], us = sum(v.all, r).us;
		const seen = f.cover.slice(r[0], r[1] + 1).map(c => c[3]), is = covered(f, r);
		const least = Math.min(...seen), most = Math.max(...seen);
		out.push({ cells: [
			{ v: from, n: rangeWords(f, r) },
			{ v: us, n: spent(us) },
			v.statements > 0 && us > 0 ? { v: v.share(0, r).value, n: pm({ ...v.share(0, r), coarse: false }, 1e9) } : '',
			{ v: least, n: least === most ? exact(most) : `${least} to ${most}` },
			{ v: is ?? -1, n: is === null ? '' : exactShare(Math.round(is * 1e6), 1e6) },
		] });
	}
	return table([{ title: 'time', left: true }, { title: 'statement time' }, { title: 'the first statement' },
		{ title: 'servers visited' }, { title: 'covered' }], out, { caption: 'Statement time over time', hidden: true, most: 40 });
}

/** Makes the section; answers with what takes ranges from the fragment again. */
export function when(v: View): Heat | null {
	const f = v.fleet;
	if (f.slots === 0) {
		section('when', 'When', 'Statement time over time.', sheet('', el('p', { class: 'read' },
			'No visit is in this store yet. That is nothing measured, not a measured 0.')));
		return null;
	}
	const read = el('div', { class: 'read', id: 'ranges', 'aria-live': 'polite' });
	const start = f.from ?? 0, length = f.slots * f.slot;
	const heat = new Heat({
		rows: rows(v), count: f.slots,
		ticks: clockTicks(start, length, ms => length > 36 * 3600e3 ? moment(ms) : timeOfDay(ms, length < 900e3)),
		words: `Statement time by statement, ${f.slots} slots of ${duration(f.slot * 1e6)}.`,
		describedBy: 'ranges', marks: marks(v),
		onRange(a, b) {
			v.a = a as Range | null;
			v.b = b as Range | null;
			v.tell();
		},
	});
	v.a = heat.a as Range | null;
	v.b = heat.b as Range | null;
	v.onChange(() => fill(read, ...(v.a
		? [...say(v, `A${NBSP} ${rangeWords(f, v.a)}`, v.a), ...(v.b ? say(v, `B${NBSP} ${rangeWords(f, v.b)}`, v.b) : [])]
		: say(v, 'Whole run', whole(f.slots)))));
	section('when', 'When', 'Statement time by statement. Drag for range A, Shift-drag for range B: the table shows the difference.',
		sheet('', el('div', { class: 'tools' },
			el('span', { class: 'key s' }, keySample('run', 'busy: stronger is more'), keySample('zero', '0, truly idle'),
				keySample('unmeasured', 'cannot know'), keySample('denied', 'not allowed'), keySample('lost', 'no visit'),
				el('span', {}, '▼ plan changed')),
			el('span', { class: 'grow' }),
			flip('Drag sets B', 'sets-b', on => { heat.setsB = on; }),
			el('button', { type: 'button', id: 'whole', onclick: () => heat.clear() }, 'Whole run')),
		heat.element, read, twin('The timeline as a table', twinTable(v))));
	return heat;
}
