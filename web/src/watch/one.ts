// one.ts - one function over time: its histogram window by window, percentiles with their intervals, calls, interval in force,
// and its part of the price.
import { el, fill, spaced } from '../common/dom';
import { type Box, looks, none, type Pen } from '../common/looks';
import { measuredDuration, measuredShare, NO_ERROR, price, wordNodes } from '../common/measured';
import { exact } from '../common/numbers';
import { sheet, twin } from '../common/page';
import { SortedTable } from '../common/table';
import { tok } from '../common/theme';
import { Heat, type HeatRow } from '../common/timeline';
import { absent, calls, interval, isUnseen, longest, percentile, share, total } from './cells';
import { answer, chargePs, percentileOf, pool, type Answer } from './estimate';
import type { FlooredPercentile } from './estimate';
import { memo } from './memo';
import type { Looked, Model, Range, Watched } from './model';
import { rangeWords, rowWords, spans, ticks } from './moments';
import { makeScale, overScale, type Scale } from './scale';
import { absentRow, bars, drawAbsent, drawDecades } from './when';

const STEPS = 44;
const STEP_PX = 5;
const SHADES = 7;

function scaleOf(f: Watched): Scale {
	const floor = f.data.floorNs;
	let low = Infinity, high = 0;
	for (const row of f.rows) {
		if (row.firsts + row.others === 0) continue;
		const sum = pool([row]);
		low = Math.min(low, percentileOf(sum, 0.02, floor).ns);
		high = Math.max(high, row.maxNs - floor);
	}
	if (!(low < Infinity)) return makeScale(100, 1e8);
	return makeScale(Math.max(low * 0.7, floor / 4, high / 1e7, 1), Math.max(high, 10) * 1.2);
}

interface Column {
	rows: ReturnType<Model['between']>;
	cells: Float64Array;
	peak: number;
	p50: FlooredPercentile;
	p99: FlooredPercentile;
}

function histogramRow(m: Model, f: Watched): HeatRow {
	const scale = scaleOf(f);
	const column = memo((from, to): Column => {
		const rows = m.between(f, from, to);
		const sum = pool(rows);
		const cells = overScale(sum.histogram, f.data.floorNs, scale, STEPS);
		return {
			rows, cells, peak: Math.max(...cells),
			p50: percentileOf(sum, 0.5, f.data.floorNs), p99: percentileOf(sum, 0.99, f.data.floorNs),
		};
	});

	return {
		name: 'call time, log', height: STEPS * STEP_PX + 2,
		draw(c, from, to, box) {
			const at = column(from, to);
			if (drawAbsent(c, at.rows, box)) return;
			drawCells(c, at, box);
			drawPercentile(c, at.p50, box, scale, 2);
			drawPercentile(c, at.p99, box, scale, 1.25);
		},
		over(c, box) {
			drawDecades(c, scale, box);
			drawFloor(c, f, scale, box);
		},
	};
}

/** Stronger: more of the window's timed calls. */
function drawCells(c: Pen, at: Column, box: Box): void {
	const h = box.h / STEPS;
	c.fillStyle = tok('run');
	at.cells.forEach((weight, i) => {
		if (weight < 0.5) return;
		const part = Math.log(1 + weight) / Math.log(1 + at.peak);
		c.globalAlpha = 0.08 + 0.9 * (Math.ceil(Math.min(1, part) * SHADES) / SHADES);
		c.fillRect(box.x, box.y + box.h - (i + 1) * h, box.w, h);
	});
	c.globalAlpha = 1;
}

/** A line on the percentile, and a band over its interval. */
function drawPercentile(c: Pen, p: FlooredPercentile, box: Box, scale: Scale, weight: number): void {
	const y = (ns: number): number => box.y + box.h - scale.at(ns) * box.h;
	if (!p.isKnown) return;
	const top = y(p.highNs), bottom = y(p.lowNs);
	c.fillStyle = tok('ink');
	c.globalAlpha = 0.22;
	c.fillRect(box.x, top, box.w, Math.max(1, bottom - top));
	c.globalAlpha = 1;
	if (!p.isOpen || p.lowNs > 0) c.fillRect(box.x, y(p.ns) - weight / 2, box.w, weight);
}

/** The part of the axis that is under the timing floor. */
function drawFloor(c: Pen, f: Watched, scale: Scale, box: Box): void {
	const top = box.y + box.h - scale.at(f.data.floorNs) * box.h;
	if (f.data.floorNs === 0 || top >= box.y + box.h - 1) return;
	c.fillStyle = tok('well');
	c.globalAlpha = 0.7;
	c.fillRect(box.x, top, box.w, box.y + box.h - top);
	c.globalAlpha = 1;
	c.fillStyle = tok('soft');
	c.font = `11px ${tok('sans')}`;
	c.textBaseline = 'bottom';
	c.textAlign = 'left';
	c.fillText('below floor', box.x + 4, box.y + box.h - 1);
}

/** A bar with a line on it, of a number a window. */
function numberRow(m: Model, f: Watched, name: string, value: (at: number) => number | null): HeatRow {
	const values = Array.from({ length: m.data.rows }, (_, at) => value(at));
	const most = Math.max(1e-9, ...values.map(v => v ?? 0));
	return {
		name, height: 30, gap: 6,
		draw(c, from, to, box) {
			const seen = values.slice(from, to + 1).filter((v): v is number => v !== null);
			if (seen.length === 0) {
				drawAbsent(c, m.between(f, from, to), box);
				return;
			}
			const part = Math.max(...seen) / most;
			bars(c, box, part, 'edge', 0.4);
			c.fillStyle = tok('ink');
			c.fillRect(box.x, box.y + box.h - part * box.h, box.w, 1.2);
		},
	};
}

/** How much of each window it was watched; what is left is hatched. */
function coveredRow(m: Model, f: Watched): HeatRow {
	return {
		name: 'covered', height: 20, gap: 6,
		draw(c, from, to, box) {
			const rows = m.between(f, from, to);
			const span = rows.reduce((sum, row) => sum + row.spanNs, 0);
			const covered = rows.reduce((sum, row) => sum + row.coveredNs, 0);
			const part = span > 0 ? covered / span : 1; // no row: it did not run while it was watched
			bars(c, box, part, 'edge', 0.4);
			if (part < 1) looks.unmeasured(c, { ...box, h: box.h * (1 - part) });
		},
	};
}

function rowsOf(m: Model, f: Watched): HeatRow[] {
	if (!f.data.isWatched) return [absentRow(f)];
	const isSliced = f.rows.some(row => row.coveredNs < row.spanNs);
	const of = (read: (at: number) => number) => (at: number): number | null => f.byAt[at] ? read(at) : null;
	const row = (at: number) => f.byAt[at]!;
	return [
		histogramRow(m, f),
		numberRow(m, f, 'calls a window', of(at => row(at).calls + row(at).neverTimed)),
		numberRow(m, f, 'one in N, log', at => row(at)?.interval > 0 ? Math.log2(row(at).interval + 1) : null),
		numberRow(m, f, 'price', of(at => chargePs(f.data, [row(at)]))),
		...(isSliced ? [coveredRow(m, f)] : []),
	];
}

/** What the section says under its title. */
function describe(f: Watched, whole: Answer): string {
	if (!f.data.isWatched) return '';
	if (f.data.isPooled) return 'Only its sums over the whole run are in this page.';
	if (whole.count.value <= 0) return 'It did not run. That is a measured 0.';
	if (whole.timed === 0) return `Called ${exact(whole.count.value)} times and never timed. No time is known.`;
	return 'Stronger: more of a window’s timed calls. Lines: p50 and p99; bands: their 95 % intervals.';
}

export class OneView {
	readonly section: HTMLElement;
	readonly heat: Heat;
	private title = el('code', { id: 'fn' });
	private words = el('p', { id: 'fp' });
	private numbers = el('div', { class: 'read', id: 'gs' });
	private line = el('div', { class: 'read fix', id: 'gr', 'aria-live': 'polite' });
	private table = new SortedTable({ caption: 'The chosen function over time', hidden: true, most: 20 });
	private twin = twin('This function as a table', this.table.element);
	private f: Watched | null = null;
	private cache = new Map<Watched, HeatRow[]>();

	constructor(private m: Model, section: HTMLElement, onRange: (a: Range, b: Range) => void) {
		this.section = section;
		this.heat = new Heat({
			rows: [], count: m.data.rows, ticks: ticks(m), words: 'Call times of the chosen function over time.',
			describedBy: 'gr', onRange, onHover: at => this.hover(at),
		});
		const canvas = this.heat.element.querySelector('canvas');
		if (canvas) canvas.id = 'gm';
		fill(section,
			el('header', {}, el('h2', {}, this.title, ' over time'), this.words),
			sheet('', this.numbers, this.heat.element, this.line, this.twin));
	}

	/** Shows a function; `looked`: the range that its numbers are of. */
	show(f: Watched, looked: Looked): void {
		const place = this.m.functions.indexOf(f);
		if (f !== this.f) {
			this.f = f;
			fill(this.title, f.data.name);
			fill(this.words, describe(f, this.m.look(null).answers[place]), f.data.notes ? ` ${f.data.notes}.` : '');
			this.heat.setRows(this.rows(f));
			this.fillTable(f);
			this.hover(-1);
		}
		fill(this.numbers, spaced(this.say(f, looked, looked.answers[place])));
	}

	private rows(f: Watched): HeatRow[] {
		let rows = this.cache.get(f);
		if (!rows) this.cache.set(f, rows = rowsOf(this.m, f));
		return rows;
	}

	private say(f: Watched, looked: Looked, a: Answer): (Node | string)[] {
		const when = el('b', {}, looked.range ? rangeWords(this.m, looked.range) : 'Whole run');
		if (!f.data.isWatched) return [when, absent(f), el('span', {}, f.data.why ?? '')];
		if (looked.range && f.data.isPooled) return [when, none('not in this page', 'The page would be too large.')];
		const count = el('span', {}, ...calls(a).n, ' calls');
		if (a.timed === 0) return [when, count, a.count.value > 0 || isUnseen(a) ? none('not measured') : 'it did not run'];
		const named = (name: string, nodes: (Node | string)[]): Node => el('span', {}, `${name} `, ...nodes);
		const of = (name: string, e: Answer['ofRun'], atMost: number): Node =>
			el('span', {}, ...share(f, a, e, atMost).n, ` ${name}`);
		return [
			when, count, named('timed', [exact(a.timed), ' ', ...interval(a).n]),
			named('p50', percentile(f, a.p50).n), named('p90', percentile(f, a.p90).n), named('p99', percentile(f, a.p99).n),
			named('longest', longest(f, a).n),
			...(a.mean.isKnown && !a.isBelowFloor ? [named('mean', this.mean(a))] : []),
			named('total', total(f, a).n),
			of('of the run', a.ofRun, a.readOwnNs / looked.rangeNs),
			...(a.ofFrames.isKnown && !a.isBelowFloor ? [of('of all frames', a.ofFrames, 0)] : []),
			...this.ofSlow(looked, this.m.functions.indexOf(f)),
			named('price', [price(a.chargedNs / looked.rangeNs)]),
		];
	}

	private mean(a: Answer): (Node | string)[] {
		return wordNodes(measuredDuration(a.mean.value, a.mean.hasError ? a.mean.error : NO_ERROR));
	}

	private ofSlow(looked: Looked, place: number): Node[] {
		const e = looked.slow.shares[place];
		if (!this.m.frame || looked.slow.kept.length === 0 || !e?.isKnown) return [];
		return [el('span', {}, ...wordNodes(measuredShare(e.value, e.error, e.hasError)), ' of slow frames')];
	}

	private fillTable(f: Watched): void {
		this.twin.hidden = !f.data.isWatched;
		this.table.show(
			[{ title: 'from', left: true, plain: true }, { title: 'calls' }, { title: 'timed' }, { title: 'one in' }, { title: 'p50' },
				{ title: 'p90' }, { title: 'p99' }, { title: 'longest' }],
			spans(this.m.data.rows).map(span => {
				const rows = span ? this.m.between(f, span[0], span[1]) : [];
				const a = answer(f.data, f.rows, rows, this.m.data.rowNs);
				const isTimed = a.timed > 0, cell = (p: FlooredPercentile) => isTimed ? percentile(f, p) : absentCell(a, rows);
				return {
					cells: [span ? rowWords(this.m, span[0]) : '', calls(a), { v: a.timed, n: exact(a.timed) },
						{ v: interval(a).v, n: isTimed ? String(a.intervalLargest) : '' }, cell(a.p50), cell(a.p90), cell(a.p99),
						isTimed ? longest(f, a) : absentCell(a, rows)],
				};
			}));
	}

	private hover(at: number): void {
		const f = this.f;
		if (!f || at < 0) {
			fill(this.line, el('span', { class: 'p' }, 'Point at a window.'));
			return;
		}
		if (!f.data.isWatched) {
			fill(this.line, absent(f), el('span', { class: 'p' }, f.data.why ?? ''));
			return;
		}
		const row = f.byAt[at];
		const when = el('b', {}, rowWords(this.m, at));
		if (!row) {
			fill(this.line, when, el('span', { class: 'p' }, f.data.isPooled ? 'not in this page' : 'it did not run'));
			return;
		}
		const sum = pool([row]), timed = row.firsts + row.others;
		const count = row.coveredNs === 0 && row.spanNs > 0 ? none('not watched', 'It was not attached in this window.')
			: el('span', {}, `${exact(row.calls + row.neverTimed)} calls, ${exact(timed)} timed, one in ${exact(row.interval)}`);
		fill(this.line, spaced([when, count, ...(timed > 0 ? [0.5, 0.9, 0.99].map(part =>
			el('span', {}, `p${part * 100} `, ...percentile(f, percentileOf(sum, part, f.data.floorNs)).n)) : [none('not measured')]),
			el('span', {}, `price ${price(chargePs(f.data, [row]) / 1000 / this.m.data.rowNs)}`)]));
	}
}

function absentCell(a: Answer, rows: ReturnType<Model['between']>): { v: number; n: Node | string } {
	const isAbsent = a.count.value > 0 || rows.some(row => row.coveredNs < row.spanNs);
	return { v: -1, n: isAbsent ? none('not measured') : '' };
}

