// timeline.ts - the run over time as rows of a heat map, with two ranges: drag sets A, Shift and drag sets B. What is chosen is
// told to the page and kept in the fragment.
import { el } from './dom';
import { get, keep, range as parseRange } from './fragment';
import { type Box, looks, type Pen, pen } from './looks';
import { onRedraw, tok } from './theme';

/** Slots from the first to the last, both in it. */
export type Range = readonly [number, number];

export interface HeatRow {
	name: string;
	/** 20 unless said otherwise. */
	height?: number;
	/** Above it. */
	gap?: number;
	/** Draws slots from..to (both in it) into the box: under a pixel a slot, neighbours are drawn as one and have to be summed. */
	draw(c: Pen, from: number, to: number, box: Box): void;
	/** Draws over the whole row once; for what is missing from all of it. */
	over?(c: Pen, box: Box): void;
}

export interface Tick { words: string; at: number }

export interface HeatLook {
	rows: HeatRow[];
	/** How many slots. */
	count: number;
	/** Marks of the axis; `at` is a share of the run. */
	ticks: Tick[];
	/** For screen readers: what this is. */
	words: string;
	/** The id of the line that says the ranges in words. */
	describedBy: string;
	/** A hole through every row. */
	isLost?(slot: number): boolean;
	/** Slots where a range is best begun, in order, and the end: a drag that ends near one ends there. Keys go slot by slot. */
	edges?: number[];
	/** Marks through every row, such as a changed plan: slots. */
	marks?: { slot: number; sign: string; token: string }[];
	onRange(a: Range | null, b: Range | null): void;
	onHover?(slot: number, row: HeatRow | null): void;
}

/** Pixels. */
const NEAR_EDGE = 8;
const TOP = 14;
const AXIS = 20;
const ROW = 20;
const TICK_GAP = 8;

export class Heat {
	readonly element: HTMLElement;
	a: Range | null = null;
	b: Range | null = null;
	/** Drags set B without Shift. */
	setsB = false;
	private canvas: HTMLCanvasElement;
	private readonly rows = document.createElement('canvas');
	private labels: HTMLUListElement;
	private look: HeatLook;
	private current: 'a' | 'b' = 'a';
	private hover = -1;
	private start = -1;
	private width = 0;
	private tops: number[] = [];

	constructor(look: HeatLook) {
		this.look = look;
		this.labels = el('ul', { 'aria-hidden': 'true' });
		this.canvas = el('canvas', {
			tabIndex: 0, role: 'application', 'aria-roledescription': 'timeline', 'aria-describedby': look.describedBy,
			'aria-label': `${look.words} Arrows move the range, Shift and arrows widen it, B takes the other range, Escape shows the whole run.`,
		});
		this.element = el('div', { class: 'heat' }, this.labels, el('div', { class: 'plot' }, this.canvas));
		this.readFragment();
		this.nameRows();
		this.listen();
		onRedraw(() => this.draw());
	}

	/** Other rows, the same time. */
	setRows(rows: HeatRow[]): void {
		this.look.rows = rows;
		this.nameRows();
		this.draw();
	}

	clear(): void {
		this.a = this.b = null;
		this.current = 'a';
		this.tell();
	}

	set(a: Range | null, b: Range | null): void {
		this.a = a;
		this.b = b;
		this.tell();
	}

	readFragment(): void {
		this.a = parseRange(get('a'), this.look.count);
		this.b = this.a ? parseRange(get('b'), this.look.count) : null;
	}

	private nameRows(): void {
		this.labels.style.paddingTop = `${TOP}px`;
		this.labels.replaceChildren(...this.look.rows.map(r => {
			const li = el('li', { title: r.name }, r.name);
			const height = r.height ?? ROW;
			li.style.height = li.style.lineHeight = `${height}px`;
			li.style.marginTop = `${r.gap ?? 0}px`;
			return li;
		}));
	}

	private height(): number {
		return this.look.rows.reduce((sum, r) => sum + (r.height ?? ROW) + (r.gap ?? 0), 0) + AXIS + TOP;
	}

	/** Left edge of a slot. */
	private x(slot: number): number {
		return slot / this.look.count * this.width;
	}

	/** Columns of at least a pixel: [from, to, left, width]. */
	private columns(): [number, number, number, number][] {
		const n = this.look.count;
		const out: [number, number, number, number][] = [];
		for (let from = 0; from < n;) {
			const left = Math.round(this.x(from));
			let to = from;
			while (to + 1 < n && Math.round(this.x(to + 1)) <= left) to++;
			out.push([from, to, left, Math.max(1, Math.round(this.x(to + 1)) - left)]);
			from = to + 1;
		}
		return out;
	}

	draw(): void {
		this.width = this.canvas.parentElement?.clientWidth ?? 0;
		this.drawRows();
		this.drawOver();
	}

	/** All that stays the same while the pointer moves. */
	private drawRows(): void {
		const [c, w] = pen(this.rows, this.height(), this.width);
		const columns = this.columns();
		let y = TOP;
		this.tops = [];
		for (const row of this.look.rows) {
			y += row.gap ?? 0;
			const h = (row.height ?? ROW) - 2;
			this.tops.push(y);
			c.fillStyle = tok('well');
			c.fillRect(0, y, w, h);
			for (const [from, to, left, width] of columns) row.draw(c, from, to, { x: left, y, w: width, h });
			row.over?.(c, { x: 0, y, w, h });
			y += h + 2;
		}
		this.drawLost(c, y - 2);
		this.drawMarks(c, y - 2);
		this.drawAxis(c, y);
	}

	/** The rows, and over them the ranges and the line under the pointer. */
	private drawOver(): void {
		const height = this.height();
		const [c, w] = pen(this.canvas, height, this.width);
		if (w > 0) c.drawImage(this.rows, 0, 0, w, height);
		this.drawRanges(c, height - AXIS);
	}

	private drawLost(c: Pen, bottom: number): void {
		const isLost = this.look.isLost;
		if (!isLost) return;
		for (let i = 0; i < this.look.count; i++) {
			if (!isLost(i)) continue;
			let last = i;
			while (last + 1 < this.look.count && isLost(last + 1)) last++;
			looks.lost(c, { x: Math.round(this.x(i)), y: TOP, w: Math.max(3, Math.round(this.x(last + 1) - this.x(i))), h: bottom - TOP });
			i = last;
		}
	}

	private drawMarks(c: Pen, bottom: number): void {
		c.font = `11px ${tok('sans')}`;
		c.textAlign = 'center';
		c.textBaseline = 'top';
		for (const mark of this.look.marks ?? []) {
			const x = Math.round(this.x(mark.slot + 0.5));
			c.fillStyle = tok(mark.token);
			c.fillRect(x, TOP, 1, bottom - TOP);
			c.fillText(mark.sign, x, 1);
		}
	}

	private drawAxis(c: Pen, y: number): void {
		const w = this.width;
		c.fillStyle = tok('soft');
		c.font = `11px ${tok('sans')}`;
		c.textBaseline = 'top';
		const all = this.look.ticks;
		const last = all.length > 1 && all[all.length - 1].at > 0.97 ? w - c.measureText(all[all.length - 1].words).width : w;
		let free = 0; // where the next words may begin; those of the two ends always stand
		all.forEach(({ words, at }, i) => {
			const x = Math.min(at * w, w - 1);
			const long = c.measureText(words).width;
			const left = at < 0.03 ? x : at > 0.97 ? x - long : x - long / 2;
			c.fillRect(x, y + 1, 1, 4);
			if (i > 0 && i < all.length - 1 && (left < free || left + long + TICK_GAP > last)) return;
			c.textAlign = 'left';
			c.fillText(words, left, y + 6);
			free = left + long + TICK_GAP;
		});
	}

	private drawRanges(c: Pen, bottom: number): void {
		const h = bottom - TOP;
		const chosen = [this.a, this.b].filter((r): r is Range => r !== null).sort((p, q) => p[0] - q[0]);
		let at = 0;
		c.fillStyle = tok('sheet');
		c.globalAlpha = 0.62;
		for (const [from, to] of chosen) {
			if (this.x(from) > at) c.fillRect(at, TOP, this.x(from) - at, h);
			at = Math.max(at, this.x(to + 1));
		}
		if (chosen.length > 0 && at < this.width) c.fillRect(at, TOP, this.width - at, h);
		c.globalAlpha = 1;
		if (this.a) this.drawFrame(c, this.a, 'A', h);
		if (this.b) this.drawFrame(c, this.b, 'B', h);
		if (this.hover < 0) return;
		c.fillStyle = tok('ink');
		c.globalAlpha = 0.5;
		c.fillRect(this.x(this.hover + 0.5), TOP, 1, h);
		c.globalAlpha = 1;
	}

	private drawFrame(c: Pen, range: Range, name: string, h: number): void {
		const x = this.x(range[0]);
		const w = Math.max(3, this.x(range[1] + 1) - x);
		c.strokeStyle = tok('ink');
		c.lineWidth = 1.5;
		c.setLineDash(name === 'B' ? [4, 3] : []);
		c.strokeRect(x + 0.75, TOP - 0.5, w - 1.5, h);
		c.setLineDash([]);
		const tab = Math.min(x, this.width - 18);
		c.fillStyle = tok('ink');
		c.fillRect(tab, 0, 18, 13);
		c.fillStyle = tok('sheet');
		c.textAlign = 'left';
		c.textBaseline = 'top';
		c.font = `600 11px ${tok('sans')}`;
		c.fillText(name, tab + 5, 1);
	}

	/** Shows and keeps the ranges, and tells the page. */
	tell(): void {
		this.drawOver();
		keep('a', this.a ? this.a.join('-') : '');
		keep('b', this.b ? this.b.join('-') : '');
		this.look.onRange(this.a, this.b);
	}

	private slotAt(e: PointerEvent): number {
		const left = this.canvas.getBoundingClientRect().left;
		return Math.max(0, Math.min(this.look.count - 1, Math.floor((e.clientX - left) / (this.width || 1) * this.look.count)));
	}

	/** The nearest edge to a boundary between slots, where there is one near; else the boundary. */
	private snapped(boundary: number): number {
		const near = NEAR_EDGE / (this.width || 1) * this.look.count;
		const edge = (this.look.edges ?? []).reduce((best, e) => (Math.abs(e - boundary) < Math.abs(best - boundary) ? e : best), Infinity);
		return Math.abs(edge - boundary) <= near ? edge : boundary;
	}

	private dragged(start: number, end: number): Range {
		const [low, high] = [Math.min(start, end), Math.max(start, end)];
		const [from, to] = [this.snapped(low), this.snapped(high + 1) - 1];
		return from <= to ? [from, to] : [low, high];
	}

	private rowAt(e: PointerEvent): HeatRow | null {
		const y = e.clientY - this.canvas.getBoundingClientRect().top;
		const i = this.tops.findIndex((top, k) => y >= top && y < top + (this.look.rows[k].height ?? ROW));
		return i < 0 ? null : this.look.rows[i];
	}

	private put(which: 'a' | 'b', range: Range | null): void {
		if (which === 'a') this.a = range;
		else this.b = range;
		if (which === 'a' && range === null) this.b = null;
		if (which === 'b' && range !== null && this.a === null) this.a = [0, this.look.count - 1];
	}

	private listen(): void {
		const cv = this.canvas;
		cv.onpointerdown = e => {
			this.start = this.slotAt(e);
			this.current = e.shiftKey || this.setsB ? 'b' : 'a';
			cv.setPointerCapture(e.pointerId);
			cv.focus({ preventScroll: true });
		};
		cv.onpointermove = e => {
			this.hover = this.slotAt(e);
			if (this.start >= 0) this.put(this.current, this.dragged(this.start, this.hover));
			this.drawOver();
			this.look.onHover?.(this.hover, this.rowAt(e));
		};
		cv.onpointerup = e => {
			if (this.start < 0) return;
			if (this.slotAt(e) === this.start) this.put(this.current, null);
			this.start = -1;
			this.tell();
		};
		cv.onpointercancel = () => { this.start = -1; };
		cv.onpointerleave = () => {
			this.hover = -1;
			this.drawOver();
			this.look.onHover?.(-1, null);
		};
		cv.onkeydown = e => {
			if (e.ctrlKey || e.metaKey || e.altKey) return;
			if (this.press(e.key, e.shiftKey)) e.preventDefault();
		};
	}

	/** Answers a key; false: it is none of these. */
	private press(key: string, isWide: boolean): boolean {
		if (key === 'Escape') {
			this.clear();
			return true;
		}
		if (key === 'b' || key === 'B') {
			this.current = this.current === 'a' ? 'b' : 'a';
			if (this.current === 'b' && this.a !== null && this.b === null) this.b = this.a;
			this.tell();
			return true;
		}
		const step = key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0;
		if (step === 0) return false;
		this.put(this.current, this.moved(step, isWide));
		this.tell();
		return true;
	}

	private moved(step: number, isWide: boolean): Range {
		const last = this.look.count - 1;
		const now = this.current === 'a' ? this.a : this.b;
		if (now === null) return [0, Math.max(0, Math.floor(last / 12))];
		if (isWide) return [now[0], Math.max(now[0], Math.min(last, now[1] + step))];
		if (now[0] + step < 0 || now[1] + step > last) return now;
		return [now[0] + step, now[1] + step];
	}
}

/** At most eight marks of clock time, the first and the last at the ends of the run; `words` says an instant. */
export function clockTicks(startMs: number, lengthMs: number, words: (ms: number) => string): Tick[] {
	if (!(lengthMs > 0)) return [{ words: words(startMs), at: 0 }];
	const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800]
		.map(s => s * 1000);
	let step = steps.find(s => lengthMs / s <= 6) ?? Math.ceil(lengthMs / 6 / 604800000) * 604800000;
	if (lengthMs < 2000) step = lengthMs / 4;
	const out: Tick[] = [{ words: words(startMs), at: 0 }];
	for (let at = Math.ceil((startMs + 1) / step) * step; at < startMs + lengthMs; at += step) {
		const part = (at - startMs) / lengthMs;
		if (part > 0.06 && part < 0.94) out.push({ words: words(at), at: part });
	}
	out.push({ words: words(startMs + lengthMs), at: 1 });
	return out;
}
