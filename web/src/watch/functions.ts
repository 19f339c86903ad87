// functions.ts - the functions of a watch as a table, for the range that is chosen; with two ranges, what changed between them.
import { el, svg } from '../common/dom';
import { none } from '../common/looks';
import { measuredShare, price, wordNodes } from '../common/measured';
import { exact, NBSP, signed } from '../common/numbers';
import { type Column, type Row, SortedTable } from '../common/table';
import { absent, belowFloor, calls, interval, isUnseen, percentile, share, total } from './cells';
import type { Answer, Estimate } from './estimate';
import { bucketLow } from './histogram';
import type { Looked, Model, Watched } from './model';
import { decades, makeScale, type Scale } from './scale';
import { change } from './change';
import { together } from './student';

const MOST_ROWS = 16;
const MOST_MATCHED = 60;
const SHARE = 8; // its column
const STRIP = { width: 148, height: 18 };

/** What a share is of: all frames where there are any. */
function shareOf(m: Model, a: Answer): Estimate {
	return m.frame ? a.ofFrames : a.ofRun;
}

function atMost(m: Model, looked: Looked, a: Answer): number {
	return a.readOwnNs / (m.frame && looked.framesNs > 0 ? looked.framesNs : looked.rangeNs);
}

/** A function that did not run takes a measured 0. */
function shareOrZero(m: Model, a: Answer): Estimate {
	return a.count.value > 0 || isUnseen(a) ? shareOf(m, a) : { value: 0, error: 0, isKnown: true, hasError: true };
}

function changed(m: Model, f: Watched, before: Answer, now: Answer): { v: number; n: (Node | string)[] } {
	if (before.count.value <= 0 && now.count.value <= 0 && !isUnseen(before) && !isUnseen(now)) return { v: 0, n: ['0'] };
	if (before.isBelowFloor || now.isBelowFloor) return { v: 0, n: [belowFloor(f)] };
	const c = change(shareOrZero(m, before), shareOrZero(m, now));
	if (!c) return { v: -1, n: [none('cannot know', 'In one of the ranges its time is not known.')] };
	if (!c.isSure) return { v: 0, n: [el('span', { class: 'pm' }, 'not distinguishable')] };
	const words = measuredShare(Math.abs(c.value), c.error, true);
	const sign = c.value > 0 ? '▲ ' : '▼ ';
	return {
		v: Math.abs(c.value),
		n: [el('span', { class: c.value > 0 ? 'more' : 'less' }, sign + signed(100 * c.value, 100 * c.error) + NBSP + words.error)],
	};
}

/** All rows on one axis: the timed calls, and their percentiles with their intervals. */
function drawStrip(f: Watched, a: Answer, scale: Scale): SVGSVGElement {
	const { width: w, height: h } = STRIP;
	const x = (ns: number): number => 1 + scale.at(ns) * (w - 2);
	const g = svg('svg', { width: w, height: h, viewBox: `0 0 ${w} ${h}`, 'aria-hidden': 'true' });
	if (f.data.floorNs > scale.lowNs)
		g.append(svg('rect', { x: 0, y: 0, width: x(f.data.floorNs), height: h, fill: 'var(--well)' }));
	for (const ns of decades(scale)) g.append(svg('line', { x1: x(ns), x2: x(ns), y1: 0, y2: h, stroke: 'var(--line)' }));
	drawShape(g, f, a, scale, x);
	for (const [p, top, bottom, weight] of [[a.p50, 1, h - 1, 2], [a.p90, 4, h - 5, 1.25], [a.p99, 4, h - 5, 1.25]] as const) {
		if (!p.isKnown || p.isBelowFloor || (p.isOpen && p.lowNs === 0)) continue;
		const line = { stroke: 'var(--ink)', 'stroke-width': 1.25, ...(a.isCoarse ? { 'stroke-dasharray': '2 2' } : {}) };
		g.append(svg('line', { ...line, x1: x(p.lowNs), x2: Math.max(x(p.lowNs) + 1, x(p.highNs)), y1: h / 2, y2: h / 2 }));
		if (!p.isOpen) g.append(svg('line', { stroke: 'var(--ink)', 'stroke-width': weight, x1: x(p.ns), x2: x(p.ns), y1: top, y2: bottom }));
	}
	return g;
}

/** The histogram as an outline; heights by root, so that a tail is seen. */
function drawShape(g: SVGElement, f: Watched, a: Answer, scale: Scale, x: (ns: number) => number): void {
	const h = STRIP.height, count = 56;
	const heights = new Float64Array(count);
	a.pool.histogram.each((at, weight) => {
		const middle = (bucketLow(at) + a.pool.histogram.highNs(at)) / 2 - f.data.floorNs;
		heights[Math.min(count - 1, Math.floor(scale.at(middle) * count))] += weight;
	});
	const most = Math.max(...heights);
	if (!(most > 0)) return;
	let d = `M1 ${h - 1}`;
	heights.forEach((weight, i) => {
		const ns = scale.lowNs * (scale.highNs / scale.lowNs) ** ((i + 0.5) / count);
		d += `L${x(ns).toFixed(1)} ${(h - 1 - Math.sqrt(weight / most) * (h - 4)).toFixed(1)}`;
	});
	g.append(svg('path', { d: `${d}L${STRIP.width - 1} ${h - 1}Z`, fill: 'var(--edge)', opacity: 0.35 }));
}

function tableScale(m: Model): Scale {
	let low = Infinity, high = 0;
	m.look(null).answers.forEach((a, i) => {
		if (a.timed === 0 || m.functions[i] === m.frame) return;
		low = Math.min(low, Math.max(a.p50.lowNs, m.functions[i].data.floorNs / 4, 1));
		high = Math.max(high, a.maxNs);
	});
	return low < Infinity ? makeScale(10 ** Math.floor(Math.log10(low)), high) : makeScale(100, 1e8);
}

/** What must be known beside a row's numbers, in a word; the section of the function says more. */
function tagsOf(f: Watched): string[] {
	const d = f.data;
	return [
		d.kind === 'task' ? 'task' : '',
		f.rows.some(row => row.coveredNs < row.spanNs) ? 'in slices' : '',
		d.isWatched && d.why ? (d.isDenied === undefined ? 'counted only' : 'watched no more') : '',
		d.cannotRank ? 'cannot rank' : '',
	].filter(words => words !== '');
}

export class FunctionsView {
	readonly table = new SortedTable({
		caption: 'Watched functions', hidden: true, by: SHARE, most: MOST_ROWS,
		empty: 'No function matches. The search looks at names only.',
	});
	private scale: Scale;

	constructor(private m: Model, private choose: (f: Watched) => void) {
		this.scale = tableScale(m);
		this.table.element.id = 'tb';
	}

	/** `before`: range A where there are two, and `looked` is B then. */
	show(looked: Looked, before: Looked | null, chosen: Watched | null, matches: (f: Watched) => boolean, isSearched: boolean): void {
		const focused = (document.activeElement as HTMLElement | null)?.dataset?.['place'];
		const rows = this.m.functions.filter(f => f !== this.m.frame && matches(f));
		this.table.show(this.columns(before !== null), rows.map(f => this.row(f, looked, before, f === chosen)),
			isSearched ? MOST_MATCHED : MOST_ROWS);
		if (focused !== undefined) this.table.element.querySelector<HTMLElement>(`[data-place="${focused}"]`)?.focus();
	}

	/** The function that stands `step` rows below the chosen one in the table as it is sorted. */
	neighbour(chosen: Watched | null, step: number): Watched | null {
		const places = [...this.table.element.querySelectorAll<HTMLElement>('[data-place]')].map(e => Number(e.dataset['place']));
		if (places.length === 0) return null;
		const at = chosen ? places.indexOf(this.m.functions.indexOf(chosen)) : -1;
		const next = at < 0 ? (step > 0 ? 0 : places.length - 1) : (at + step + places.length) % places.length;
		return this.m.functions[places[next]];
	}

	private columns(isTwo: boolean): Column[] {
		const of = this.m.frame ? 'of all frames' : 'of the run';
		return [
			{ title: 'function', left: true }, { title: 'calls' }, { title: 'interval', hint: 'One call in N is timed.', look: 'hide' },
			{ title: 'p50 p90 p99, log scale', left: true, plain: true, look: 'hide' }, { title: 'p50' }, { title: 'p90', look: 'hide' },
			{ title: 'p99' }, { title: 'total' },
			isTwo ? { title: 'B against A', hint: `Own time ${of}: the difference.` } : { title: of, hint: 'Own time: without watched callees.' },
			{ title: 'price', hint: 'What its calls cost, of one CPU.' },
		];
	}

	private name(f: Watched): { v: string; n: (Node | string)[] } {
		const button = el('button', { type: 'button', class: 'm', title: f.data.name, 'data-place': this.m.functions.indexOf(f) }, f.data.name);
		return { v: f.data.name, n: [button, ...tagsOf(f).flatMap(words => [' ', el('span', { class: 'tag', title: f.data.notes ?? null }, words)])] };
	}

	private row(f: Watched, looked: Looked, before: Looked | null, isChosen: boolean): Row {
		const place = this.m.functions.indexOf(f);
		const a = looked.answers[place];
		const base = { selected: isChosen, choose: () => this.choose(f) };
		const nothing = { v: -2, n: '' };
		if (!f.data.isWatched)
			return { ...base, cells: [this.name(f), { v: -2, n: absent(f) }, nothing, el('span', { class: 's why', title: f.data.why ?? null }, f.data.why ?? ''),
				nothing, nothing, nothing, nothing, nothing, nothing] };
		if (f.data.isPooled && (looked.range || before))
			return { ...base, cells: [this.name(f), { v: -2, n: none('not in this page', 'Only its whole run is: the page would be too large.') },
				nothing, '', nothing, nothing, nothing, nothing, nothing, nothing] };
		const last = !f.isFunction && this.m.frame ? nothing // tasks and frames have nothing to do with each other
			: before ? changed(this.m, f, before.answers[place], a) : share(f, a, shareOf(this.m, a), atMost(this.m, looked, a));
		const cost = { v: a.chargedNs, n: price(looked.rangeNs > 0 ? a.chargedNs / looked.rangeNs : 0) };
		return { ...base, cells: [this.name(f), calls(a), interval(a), this.drawn(f, a), ...this.percentiles(f, a), total(f, a), last, cost] };
	}

	private percentiles(f: Watched, a: Answer): { v: number; n: (Node | string)[] }[] {
		return [a.p50, a.p90, a.p99].map(p => a.timed > 0 ? percentile(f, p, a.isCoarse) : { v: -1, n: [] });
	}

	private drawn(f: Watched, a: Answer): Node | string {
		if (a.timed > 0) return drawStrip(f, a, this.scale);
		if (a.count.value <= 0) return '';
		return el('span', { class: 's' }, `(+${exact(a.pool.neverTimed)} calls never timed)`);
	}
}

/** Own time of all that match, together. */
export function matchedWords(m: Model, looked: Looked, matches: (f: Watched) => boolean): (Node | string)[] {
	let value = 0, error = 0, count = 0, hasError = true;
	m.functions.forEach((f, i) => {
		if (f === m.frame || !matches(f)) return;
		count++;
		const e = shareOf(m, looked.answers[i]);
		if (!f.isFunction || !e.isKnown) return;
		value += e.value;
		error = together(error, e.error);
		hasError &&= e.hasError;
	});
	const of = m.frame ? ' of all frames' : ' of the run';
	return ['matched ', ...wordNodes(measuredShare(value, error, hasError)), `${of} in ${exact(count)} function${count === 1 ? '' : 's'}`];
}

/** What had to go so that the page is not too large. */
export function cutWords(m: Model): string {
	const d = m.data;
	return [
		d.coarse > 0 ? `Histograms have ${48 / 2 ** d.coarse} steps a doubling here; the recording has 48.` : '',
		d.merged > 1 ? `${d.merged} rows of windows of the recording are one here.` : '',
		d.pooled > 0 ? `Of ${exact(d.pooled)} functions only the whole run is here.` : '',
		d.missing > 0 ? `${exact(d.missing)} more are not in this page: tare report --all.` : '',
	].filter(words => words !== '').join(' ');
}

