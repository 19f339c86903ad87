// when.ts - the run over time: how long frames are and which were slow; without frames, what each function takes of each window.
import { tok } from '../common/theme';
import { type Box, looks, type Pen } from '../common/looks';
import type { HeatRow } from '../common/timeline';
import { percentileOf, pool, sums } from './estimate';
import { memo } from './memo';
import { makeScale, decades, decadeWords, type Scale } from './scale';
import type { Row } from './decode';
import type { Model, Watched } from './model';
import { duration } from '../common/numbers';

const STRIP = 132;
const ROWS_BY_NAME = 8;
const ABSENT_ROWS = 3;
const STEPS = 7; // of strength

function ranAndWasTimed(rows: readonly Row[]): boolean {
	return rows.some(row => row.firsts + row.others > 0);
}

/** What stands for windows without a number. True: one was drawn. */
export function drawAbsent(c: Pen, rows: readonly Row[], box: Box): boolean {
	if (ranAndWasTimed(rows)) return false;
	if (rows.some(row => row.calls + row.neverTimed > 0 || row.coveredNs < row.spanNs)) looks.unmeasured(c, box);
	else looks.idle(c, box);
	return true;
}

/* ---- frames ---- */

/** The lengths that the strip must hold. */
function frameScale(m: Model, f: Watched): Scale {
	let low = Infinity, high = m.data.slowNs;
	for (const row of f.rows) {
		if (row.firsts + row.others === 0) continue;
		low = Math.min(low, percentileOf(pool([row]), 0.5, f.data.floorNs).ns);
		high = Math.max(high, row.maxNs);
	}
	for (const slow of m.slow) high = Math.max(high, slow.durationNs);
	if (!(low < Infinity)) low = high / 10;
	return makeScale(Math.max(low * 0.75, high / 1e5), high * 1.15);
}

function strip(m: Model, f: Watched): HeatRow {
	const scale = frameScale(m, f);
	const y = (box: Box, ns: number): number => box.y + box.h - scale.at(ns) * box.h;

	const read = memo((from, to) => {
		const rows = m.between(f, from, to);
		const sum = pool(rows);
		return {
			rows, sum, p50: percentileOf(sum, 0.5, f.data.floorNs), p99: percentileOf(sum, 0.99, f.data.floorNs),
		};
	});

	function draw(c: Pen, from: number, to: number, box: Box): void {
		const { rows, sum, p50, p99 } = read(from, to);
		if (drawAbsent(c, rows, box)) return;
		const top = y(box, p99.isOpen ? p99.highNs : p99.ns), middle = y(box, p50.ns);
		c.globalAlpha = 0.3;
		c.fillStyle = tok('edge');
		c.fillRect(box.x, top, box.w, Math.max(0, middle - top));
		c.globalAlpha = 1;
		c.fillStyle = tok('ink');
		c.fillRect(box.x, middle - 1, box.w, 2);
		c.fillRect(box.x, top, box.w, 1);
		const longest = sum.maxNs - f.data.floorNs;
		if (m.data.slowNs === 0 || longest < m.data.slowNs)
			c.fillRect(box.x + box.w / 2 - 1, y(box, longest) - 1, 2, 2);
	}

	function over(c: Pen, box: Box): void {
		const run = m.data.rows * m.data.rowNs;
		c.fillStyle = tok('more');
		for (const slow of m.slow) drawDiamond(c, box.x + (slow.startNs / run) * box.w, y(box, slow.durationNs));
		drawDecades(c, scale, box);
		if (m.data.slowNs > 0) drawLimit(c, box, y(box, m.data.slowNs), `slow: ${duration(m.data.slowNs)}`);
	}

	return { name: 'frame time, log', height: STRIP, draw, over };
}

function drawDiamond(c: Pen, x: number, y: number): void {
	c.beginPath();
	c.moveTo(x, y - 4);
	c.lineTo(x + 4, y);
	c.lineTo(x, y + 4);
	c.lineTo(x - 4, y);
	c.fill();
}

function drawWords(c: Pen, words: string, x: number, y: number, colour: string): void {
	c.font = `11px ${tok('sans')}`;
	c.textBaseline = 'middle';
	c.textAlign = 'left';
	c.fillStyle = tok('sheet');
	c.globalAlpha = 0.8;
	c.fillRect(x - 2, y - 7, c.measureText(words).width + 5, 14);
	c.globalAlpha = 1;
	c.fillStyle = tok(colour);
	c.fillText(words, x, y);
}

export function drawDecades(c: Pen, scale: Scale, box: Box): void {
	for (const ns of decades(scale)) {
		const y = Math.round(box.y + box.h - scale.at(ns) * box.h);
		if (y < box.y + 8 || y > box.y + box.h - 8) continue;
		c.fillStyle = tok('edge');
		c.globalAlpha = 0.35;
		c.fillRect(box.x, y, box.w, 1);
		c.globalAlpha = 1;
		drawWords(c, decadeWords(ns), box.x + box.w - 46, y, 'soft');
	}
}

function drawLimit(c: Pen, box: Box, y: number, words: string): void {
	c.strokeStyle = tok('stop');
	c.lineWidth = 1;
	c.setLineDash([4, 3]);
	c.beginPath();
	c.moveTo(box.x, y);
	c.lineTo(box.x + box.w, y);
	c.stroke();
	c.setLineDash([]);
	drawWords(c, words, box.x + 3, y, 'stop');
}

/** Bars of a number a window. */
export function bars(c: Pen, box: Box, part: number, colour: string, alpha: number): void {
	const h = Math.min(1, part) * box.h;
	c.fillStyle = tok(colour);
	c.globalAlpha = alpha;
	c.fillRect(box.x, box.y + box.h - h, Math.max(1, box.w - (box.w > 3 ? 1 : 0)), h);
	c.globalAlpha = 1;
}

/** Slow frames by row of windows: kept ones, each for as many as it stands for. */
export function slowByRow(m: Model): Float64Array {
	const out = new Float64Array(m.data.rows);
	const each = m.look(null).slow.standsFor;
	for (const slow of m.slow) {
		const at = Math.min(Math.floor(slow.startNs / m.data.rowNs), m.data.rows - 1);
		out[at] += slow.isWorst ? 1 : each;
	}
	return out;
}

function slowRow(m: Model): HeatRow {
	const counts = slowByRow(m);
	const most = Math.max(1, ...counts);
	const isEstimate = m.data.slow > m.slow.length;
	return {
		name: isEstimate ? 'slow, estimate' : 'slow frames', height: 28, gap: 6,
		draw(c, from, to, box) {
			let sum = 0;
			for (let at = from; at <= to; at++) sum += counts[at];
			if (sum === 0) looks.zero(c, box);
			else bars(c, box, sum / (to - from + 1) / most, 'more', 1);
		},
	};
}

function countRow(m: Model, f: Watched): HeatRow {
	const most = Math.max(1, ...f.rows.map(row => row.calls + row.neverTimed));
	return {
		name: 'frames a window', height: 20, gap: 6,
		draw(c, from, to, box) {
			const rows = m.between(f, from, to);
			const calls = rows.reduce((sum, row) => sum + row.calls + row.neverTimed, 0);
			if (calls === 0) looks.idle(c, box);
			else bars(c, box, calls / (to - from + 1) / most, 'edge', 0.45);
		},
	};
}

export function frameRows(m: Model, f: Watched): HeatRow[] {
	return [strip(m, f), ...(m.data.slowNs > 0 ? [slowRow(m)] : []), countRow(m, f)];
}

/* ---- functions ---- */

/** Own time of these rows as a share of their time; null: not known, or its error is larger than itself. */
export function ownShare(m: Model, f: Watched, from: number, to: number): number | null {
	const rows = m.between(f, from, to);
	if (!ranAndWasTimed(rows)) return null;
	const s = sums(pool(rows), f.data.floorNs);
	const end = Math.min((to + 1) * m.data.rowNs, Math.max(m.data.endNs, from * m.data.rowNs + 1));
	if (!s.hasTotal || !s.hasError || s.totalErrorNs > s.totalNs) return null;
	return s.ownNs / (end - from * m.data.rowNs);
}

/** Functions by their own time over the run, the largest first; those that never ran last. */
export function byOwnTime(m: Model): Watched[] {
	const whole = m.look(null).answers;
	const value = (f: Watched): number => {
		const a = whole[m.functions.indexOf(f)];
		return a.own.isKnown ? a.own.value : a.count.value > 0 ? 0 : -1;
	};
	return m.functions.filter(f => f.isFunction && f.data.isWatched).sort((a, b) => value(b) - value(a));
}

function strength(part: number): number {
	return 0.08 + 0.92 * (Math.ceil(Math.min(1, part) * STEPS) / STEPS);
}

function functionRow(m: Model, f: Watched, most: number): HeatRow {
	const share = memo((from, to) => ownShare(m, f, from, to));
	return {
		name: f.data.name,
		draw(c, from, to, box) {
			const rows = m.between(f, from, to);
			if (drawAbsent(c, rows, box)) return;
			const part = share(from, to);
			if (part === null) {
				looks.unmeasured(c, box);
				return;
			}
			c.fillStyle = tok('run');
			c.globalAlpha = strength(most > 0 ? Math.sqrt(part / most) : 0);
			c.fillRect(box.x, box.y, box.w, box.h);
			c.globalAlpha = 1;
		},
	};
}

/** A name that was asked for and is not watched: one look over the whole run. */
export function absentRow(f: Watched): HeatRow {
	return {
		name: f.data.name, draw: () => undefined,
		over: (c, box) => (f.data.isDenied ? looks.denied(c, box) : looks.unmeasured(c, box)),
	};
}

/** The largest share that any of them has in any window: what the darkest cell stands for. */
export function mostOfAWindow(m: Model, functions: readonly Watched[]): number {
	let most = 0;
	for (const f of functions)
		for (const row of f.rows)
			if (!f.data.isPooled) most = Math.max(most, ownShare(m, f, row.at, row.at) ?? 0);
	return most;
}

/** The heaviest by name, then how many more there are. */
export function functionRows(m: Model): { rows: HeatRow[]; shown: Watched[]; most: number; more: number; idle: number } {
	const all = byOwnTime(m);
	const ran = all.filter(f => f.wasCalled && !f.data.isPooled);
	const shown = ran.slice(0, ROWS_BY_NAME);
	const absent = m.functions.filter(f => !f.data.isWatched).slice(0, ABSENT_ROWS);
	const most = mostOfAWindow(m, shown);
	return {
		rows: [...shown.map(f => functionRow(m, f, most)), ...absent.map(absentRow)], shown, most,
		more: ran.length - shown.length, idle: all.filter(f => !f.wasCalled).length,
	};
}
