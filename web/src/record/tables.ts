// tables.ts - the twin of the flame graph: functions with their errors, who calls them and whom they call; threads.
import { type Child, el, svg } from '../common/dom';
import { STATE_SIGNS, STATE_TOKENS, STATE_WORDS } from '../common/looks';
import { exact, exactShare, NBSP, pm, shareWords } from '../common/numbers';
import { COARSE_BELOW, type Share } from '../common/stats';
import { type AnyCell, type Column, type Row, table } from '../common/table';
import { axis, whisker } from '../common/whisker';
import { changeWords } from './flame';
import type { States, Weights } from './run';
import { change, type Change, type Weighed } from './tree';

const STRIP = 72;

/** The state that most of it was in. */
export function mainState(s: States): number {
	return s[1] >= s[0] && s[1] >= s[2] && s[1] > 0 ? 1 : s[2] > s[0] ? 2 : 0;
}

/** States as a strip: running filled, waiting hollow, runnable dashed. */
function strip(states: States, total: number): Child {
	if (!(total > 0)) return el('span', { class: 's' }, 'only in A');
	const words = states.map((w, i) => [w / total, i] as const).filter(([p]) => p > 0.005)
		.map(([p, i]) => `${Math.round(p * 100)}${NBSP}% ${STATE_WORDS[i]}`).join(', ');
	const g = svg('svg', { width: STRIP, height: 10, viewBox: `0 0 ${STRIP} 10`, role: 'img', 'aria-label': words });
	let x = 0;
	states.forEach((w, i) => {
		const width = w / total * STRIP;
		if (width < 0.3) return;
		g.append(svg('rect', {
			x: x + (i > 0 ? 0.5 : 0), y: i === 1 ? 3 : 0, width: Math.max(1, width - 1), height: i === 1 ? 4 : 10,
			fill: i === 1 ? 'none' : `var(--${STATE_TOKENS[i]})`, stroke: i === 0 ? 'none' : `var(--${STATE_TOKENS[i]})`,
			'stroke-dasharray': i === 2 ? '2 1' : 'none',
		}));
		x += width;
	});
	return g;
}

/** No sample was there: it is not 0, but under what so many could have missed. */
export function noneSeen(samples: number): HTMLElement {
	const words = shareWords({ value: 0, error: 1, coarse: samples < COARSE_BELOW }, samples);
	return el('span', { class: 'pm', title: 'none seen' }, words.number);
}

function shareCell(share: Share, total: number, samples: number): AnyCell {
	if (!(total > 0)) return { v: 0, n: noneSeen(samples) };
	const nodes = pm(share, samples);
	return { v: share.value, n: share.coarse ? el('i', { class: 'coarse' }, ...nodes) : nodes };
}

function drawn(share: Share, total: number, top: number, states: States): Child {
	if (!(total > 0) || share.error >= 1) return '';
	return whisker(share.value * 100, share.error * 100, top, { colour: STATE_TOKENS[mainState(states)], coarse: share.coarse });
}

/** Sure changes first, by size. */
function changeOrder(c: Change): number {
	return c.isSure ? Math.abs(c.percent) : 0;
}

function keptCell(w: Weighed, samples: number): AnyCell {
	if (!Number.isNaN(w.kept)) return { v: w.kept, n: exact(w.kept) };
	const about = w.share().value * samples;
	return { v: about, n: `≈${NBSP}${exact(about)}` };
}

export interface FunctionsLook {
	weights: Weights;
	before: Weights | null;
	/** Rows of the range, and of A where two are compared. */
	now: Map<string, Weighed>;
	was: Map<string, Weighed> | null;
	query: RegExp | null;
	selected: string;
	noun: string;
	choose(key: string): void;
	/** Exact, of the task's clock; 0: not known of this range. */
	unsampled: number;
	clock: number;
}

export function functionColumns(noun: string, isCompared: boolean): Column[] {
	return [
		{ title: noun, left: true },
		{ title: 'own', hint: 'without callees' },
		{ title: '', plain: true, look: 'w l hide' },
		{ title: 'with callees', hint: 'each path counted once' },
		{ title: 'states', plain: true, left: true, look: 'hide' },
		{ title: isCompared ? 'B against A' : 'kept', hint: isCompared ? 'own and callees, sure changes first' : 'samples' },
		{ title: 'module', left: true, look: 'hide' },
	];
}

export function functionRows(look: FunctionsLook): { rows: Row[]; foot: Row[] } {
	const all = [...look.now.values()];
	if (look.was) for (const w of look.was.values()) if (!look.now.has(w.place.key)) all.push(w);
	const query = look.query;
	const shown = query ? all.filter(w => query.test(w.place.name)) : all;
	const samples = look.weights.samples;
	const top = axis(shown.map(w => (look.now.has(w.place.key) ? w.ownShare().value * 100 : 0)));
	const rows = shown.map((w): Row => {
		const isHere = look.now.get(w.place.key) === w;
		const total = isHere ? w.total : 0;
		const own = isHere ? w.own : 0;
		const diff = look.was && look.before
			? change(isHere ? w.share() : null, look.was.get(w.place.key)?.share() ?? null, samples, look.before.samples)
			: null;
		return {
			selected: w.place.key === look.selected,
			choose: () => look.choose(w.place.key),
			cells: [
				{ v: w.place.name, n: el('button', { type: 'button', class: 'm', title: w.place.name }, w.place.name) },
				shareCell(w.ownShare(), own, samples),
				drawn(w.ownShare(), own, top, w.ownStates),
				shareCell(w.share(), total, samples),
				strip(w.states, total),
				diff ? { v: changeOrder(diff), n: changeWords(diff) } : keptCell(w, samples),
				{ v: w.place.module, n: el('span', { title: w.place.source || null }, w.place.module) },
			],
		};
	});
	return { rows, foot: look.unsampled > 0 && !query ? [unsampledRow(look)] : [] };
}

function unsampledRow(look: FunctionsLook): Row {
	return {
		cells: [
			el('span', { class: 'm' }, '(unsampled)'), exactShare(look.unsampled, look.clock), '', '', '', '',
			el('span', { class: 's' }, 'of the clock; in no function'),
		],
	};
}

/** Callers or callees of the chosen place. */
export function neighbourTable(title: string, name: string, list: Weighed[], samples: number): HTMLElement {
	const top = axis(list.map(w => w.share().value * 100));
	const noun = title.split(' ')[0].toLowerCase();
	const t = table(
		[{ title: noun, left: true }, { title: 'share' }, { title: '', plain: true, look: 'w l' }],
		list.map(w => ({
			cells: [
				{ v: w.place.name, n: el('span', { class: 'm', title: w.place.name }, w.place.name) },
				shareCell(w.share(), w.total, samples), drawn(w.share(), w.total, top, w.states),
			],
		})),
		{ by: 1, most: 8, empty: 'None.' });
	t.prepend(el('caption', {}, title, el('code', {}, name)));
	return el('div', { class: 'sheet wide' }, t);
}

export const THREAD_COLUMNS: Column[] = [
	{ title: 'thread', left: true }, { title: 'share' }, { title: '', plain: true, look: 'w l hide' },
	{ title: 'state', left: true }, { title: 'kept' },
];

export function threadRows(threads: Weighed[], samples: number): Row[] {
	const top = axis(threads.map(w => w.share().value * 100));
	return threads.map(w => ({
		cells: [
			{ v: w.place.name, n: el('span', { class: 'm' }, w.place.name) },
			shareCell(w.share(), w.total, samples), drawn(w.share(), w.total, top, w.states),
			`${STATE_SIGNS[mainState(w.states)]} ${STATE_WORDS[mainState(w.states)]}`, keptCell(w, samples),
		],
	}));
}
