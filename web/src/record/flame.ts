// flame.ts - the flame graph on a canvas: a box ends as softly as its share is unsure, and its foot shows its states.
import { el, fill } from '../common/dom';
import { NBSP, pm, signed } from '../common/numbers';
import { hatch, looks, type Pen, pen, STATE_SIGNS, STATE_TOKENS, STATE_WORDS, stateHatch } from '../common/looks';
import { type Share, sampledShare } from '../common/stats';
import { onRedraw, tok } from '../common/theme';
import { fitName } from './names';
import { type Laid, layout, LEAST_WIDTH, resolve, THIN, type Zoom } from './layout';
import { type Box, change, type Change } from './tree';
import type { Weights } from './run';

const ROW = 20;
const BOX = 19;
const FOOT = 4;
const PAD = 5;
const LEAST_LABEL = 30;
const MOST_SOFT = 0.45;
const NONE: Share = { value: 0, error: 1, coarse: false };

/** What the graph is drawn from; the page changes it and calls show(). */
export interface FlameView {
	root: Box;
	weights: Weights;
	/** The other range, when two are compared. */
	before: Weights | null;
	zoom: string[];
	isUp: boolean;
	byState: boolean;
	query: RegExp | null;
	/** The token of a module's colour, "t0" to "t7". */
	colour(module: string): string;
}

export interface FlameTells {
	zoomed(keys: string[]): void;
	/** A place was chosen, for its callers and callees. */
	chosen(box: Box, scrolls: boolean): void;
	/** A key of the page's own, such as "i". False: it is none. */
	pressed(key: string): boolean;
}

export class Flame {
	readonly canvas: HTMLCanvasElement;
	readonly line: HTMLElement;
	readonly crumbs: HTMLElement;
	private view: FlameView | null = null;
	private tells: FlameTells;
	private boxes: Laid[] = [];
	private zoom: Zoom | null = null;
	private current: Laid | null = null;
	private width = 0;
	private rows = 0;

	constructor(tells: FlameTells) {
		this.tells = tells;
		this.canvas = el('canvas', {
			tabIndex: 0, id: 'flame', role: 'application', 'aria-roledescription': 'flame graph', 'aria-describedby': 'box',
			'aria-label': 'Flame graph. The table of functions below has the same numbers. Arrows move, Enter zooms, Escape goes back.',
		});
		this.line = el('div', { class: 'read fix', id: 'box', 'aria-live': 'polite' });
		this.crumbs = el('div', { class: 'crumbs' });
		this.listen();
		onRedraw(() => this.draw());
	}

	/** `isZoomed`: the box that fills the width now is the one that keys go on from. */
	show(view: FlameView, isZoomed = false): void {
		this.view = view;
		this.draw();
		if (isZoomed) {
			this.current = view.zoom.length > 0 ? this.boxes.find(b => !b.isAncestor) ?? null : null;
			this.draw();
		}
		this.say();
	}

	/* ---- drawing ---- */

	private draw(): void {
		const v = this.view;
		if (!v) return;
		const width = this.canvas.parentElement?.clientWidth ?? 0;
		this.zoom = resolve(v.root, v.zoom, width);
		const laid = layout(this.zoom, width);
		this.boxes = laid.boxes;
		this.rows = laid.rows;
		const [c, w] = pen(this.canvas, this.rows * ROW + 2 * PAD);
		this.width = w;
		this.current = this.again(this.current);
		c.font = `12px ${tok('sans')}`;
		c.textBaseline = 'middle';
		c.textAlign = 'left';
		for (const b of this.boxes) this.drawBox(c, b, v);
		this.drawCrumbs(v);
	}

	/** The same box in the new layout. */
	private again(old: Laid | null): Laid | null {
		if (!old) return null;
		return this.boxes.find(b => b.box === old.box && (b.thin !== null) === (old.thin !== null)) ?? null;
	}

	private top(b: Laid): number {
		return this.view?.isUp ? PAD + (this.rows - 1 - b.row) * ROW : PAD + b.row * ROW;
	}

	private isHit(b: Laid, query: RegExp): boolean {
		return b.thin ? b.thin.some(x => query.test(x.place.name)) : query.test(b.box.place.name);
	}

	private drawBox(c: Pen, b: Laid, v: FlameView): void {
		const y = this.top(b);
		const w = Math.max(1, b.width - 1);
		const hit = v.query !== null && b.box.up !== null && this.isHit(b, v.query);
		const isPale = b.isAncestor || (v.query !== null && !hit);
		const diff = this.changeOf(b, v);
		c.globalAlpha = isPale ? 0.35 : 1;
		this.drawFill(c, b, y, w, v, diff);
		if (!b.thin && !v.before) this.drawStates(c, b.box, { x: b.left, y, w }, v.byState);
		this.drawSoftEnd(c, b, y, w);
		c.globalAlpha = 1;
		if (v.weights.samples < 100 && b.box.up) this.frame(c, b, y, w, 'edge', 1, [3, 2]);
		if (hit) this.frame(c, b, y, w, 'hit', 2);
		this.drawLabel(c, b, y, w, isPale, diff);
		if (b === this.current) this.frame(c, b, y, w, 'ink', 2);
	}

	private drawFill(c: Pen, b: Laid, y: number, w: number, v: FlameView, diff: Change | null): void {
		const box = { x: b.left, y, w, h: BOX };
		if (b.thin) {
			c.fillStyle = hatch(c, tok('edge'), '|', tok('well'));
			c.fillRect(box.x, box.y, box.w, box.h);
			return;
		}
		if (b.box.place.isMarker && b.box.up) {
			looks.torn(c, box);
			return;
		}
		c.fillStyle = tok(diff || v.byState ? 'well' : b.box.up ? v.colour(b.box.place.module) : 't7');
		c.fillRect(box.x, box.y, box.w, box.h);
		if (!diff?.isSure) return;
		const before = c.globalAlpha;
		c.fillStyle = tok(diff.percent > 0 ? 'more' : 'less');
		c.globalAlpha = before * Math.min(0.45, 0.14 + Math.abs(diff.percent) / 18);
		c.fillRect(box.x, box.y, box.w, box.h);
		c.globalAlpha = before;
	}

	private drawStates(c: Pen, box: Box, at: { x: number; y: number; w: number }, byState: boolean): void {
		const alpha = c.globalAlpha;
		let x = at.x;
		box.states.forEach((weight, state) => {
			const w = box.total > 0 ? weight / box.total * at.w : 0;
			if (w < 0.4) return;
			c.fillStyle = tok(STATE_TOKENS[state]);
			if (byState) {
				c.globalAlpha = alpha * 0.3;
				c.fillRect(x, at.y, w, BOX - FOOT);
				c.globalAlpha = alpha;
			}
			c.fillRect(x, at.y + BOX - FOOT, w, FOOT);
			stateHatch(c, state, { x, y: at.y + BOX - FOOT, w, h: FOOT });
			x += w;
		});
	}

	/** As wide as the half interval. */
	private drawSoftEnd(c: Pen, b: Laid, y: number, w: number): void {
		if (!b.box.up || b.isAncestor || !this.zoom) return;
		const error = this.shareOf(b).error;
		const zoomed = this.zoom.thin ? this.zoom.thin.reduce((n, x) => n + x.total, 0) : this.zoom.box.total;
		const run = this.view?.root.total ?? 0;
		const soft = Math.min(w * MOST_SOFT, zoomed > 0 ? error * this.width * run / zoomed : 0);
		if (soft <= 2) return;
		const sheet = tok('sheet');
		const ramp = c.createLinearGradient(b.left + w - soft, 0, b.left + w, 0);
		ramp.addColorStop(0, sheet + '00');
		ramp.addColorStop(1, sheet);
		c.fillStyle = ramp;
		c.fillRect(b.left + w - soft, y, soft + 0.5, BOX);
	}

	private frame(c: Pen, b: Laid, y: number, w: number, token: string, line: number, dash: number[] = []): void {
		c.strokeStyle = tok(token);
		c.lineWidth = line;
		c.setLineDash(dash);
		c.strokeRect(b.left + line / 2, y + line / 2, Math.max(0, w - line), BOX - line);
		c.setLineDash([]);
	}

	private drawLabel(c: Pen, b: Laid, y: number, w: number, isPale: boolean, diff: Change | null): void {
		if (w < LEAST_LABEL) return;
		const start = diff?.isSure ? signed(diff.percent, diff.error) + '  ' : '';
		const room = w - 10 - c.measureText(start).width;
		const fits = (text: string) => c.measureText(text).width <= room;
		const name = b.thin ? `${b.thin.length} thin` : b.box.place.name;
		c.fillStyle = tok(isPale ? 'soft' : 'ink');
		c.fillText(start + fitName(name, fits), b.left + 5, y + (BOX - FOOT) / 2);
	}

	/* ---- words ---- */

	private shareOf(b: Laid): Share {
		if (!b.thin) return b.box.share();
		const w = this.view?.weights;
		if (!w) return { value: 0, error: 1, coarse: true };
		const parts = new Float64Array(w.whole.length);
		for (const x of b.thin) for (let i = 0; i < parts.length; i++) parts[i] += x.parts[i];
		return sampledShare(parts, w.whole, w.kept);
	}

	private changeOf(b: Laid, v: FlameView): Change | null {
		if (!v.before || b.thin || !b.box.up) return null;
		return change(b.box.share(), b.box.other?.share() ?? null, v.weights.samples, v.before.samples);
	}

	private drawCrumbs(v: FlameView): void {
		const at = this.zoom;
		if (!at) return;
		const path: Box[] = [];
		for (let b: Box | null = at.box; b; b = b.up) path.unshift(b);
		const steps = path.map(b => ({ name: b.place.name, keys: b.keys() }));
		if (at.thin) steps.push({ name: `${at.thin.length} thin`, keys: v.zoom });
		const parts = steps.flatMap((s, i) => [
			i > 0 ? '›' : null,
			i === steps.length - 1
				? el('b', {}, s.name)
				: el('button', { type: 'button', title: s.name, onclick: () => this.go(s.keys) }, fitName(s.name, t => t.length <= 28)),
		]);
		const total = this.boxes.find(b => !b.isAncestor);
		fill(this.crumbs, ...parts,
			at.box.up && total ? el('span', { class: 's' }, ...pm(this.shareOf(total), v.weights.samples), ' of all') : null);
	}

	private say(): void {
		const v = this.view;
		const b = this.current;
		if (!v || !b) {
			fill(this.line, el('span', { class: 'p' }, 'Point at a box, or press an arrow key. A click zooms, Esc goes back.'));
			return;
		}
		const share = this.shareOf(b);
		const words: (Node | string)[] = [
			el('b', { title: b.box.place.name }, b.thin ? `${b.thin.length} thin under ${b.box.place.name}` : b.box.place.name),
		];
		if (b.box.up || b.thin)
			words.push(el('span', {}, ...pm(share, v.weights.samples), share.coarse ? el('i', { class: 'coarse' }, '  coarse') : ''));
		if (b.thin) {
			const names = b.thin.slice(0, 6).map(x => x.place.name).join(', ');
			words.push(el('span', { class: 'p' }, names + (b.thin.length > 6 ? ' …' : '')));
		} else words.push(...this.factsOf(b, v));
		fill(this.line, ...words);
	}

	private factsOf(b: Laid, v: FlameView): (Node | string)[] {
		const box = b.box;
		const out: (Node | string)[] = [];
		const diff = this.changeOf(b, v);
		if (diff) out.push(changeWords(diff, ' against A'));
		if (box.up) out.push(el('span', {}, 'own ', ...pm(box.own > 0 ? box.ownShare() : NONE, v.weights.samples)));
		const states = box.states.map((w, i) => [box.total > 0 ? w / box.total : 0, i] as const).filter(([p]) => p > 0.005);
		out.push(el('span', {}, states.map(([p, i]) => `${STATE_SIGNS[i]} ${Math.round(p * 100)}${NBSP}% ${STATE_WORDS[i]}`).join('  ')));
		const where = [box.place.module, box.place.source].filter(Boolean).join(' · ');
		out.push(el('span', { class: 'p' }, keptWords(box.kept, share(box, v), v.weights.samples) + (where ? ' · ' + where : '')));
		return out;
	}

	/* ---- hands ---- */

	private go(keys: string[]): void {
		this.tells.zoomed(keys);
	}

	private back(): void {
		const at = this.zoom;
		if (!at) return;
		if (at.thin) this.go(at.box.keys());
		else if (at.box.up) this.go(at.box.up.keys());
	}

	/** Zooms to a box; merged siblings first to the box above them, and where that fills the width already, to themselves. */
	private enter(b: Laid): void {
		if (!b.thin) {
			this.tells.chosen(b.box, false);
			this.go(b.box.keys());
			return;
		}
		const above = b.box.keys();
		const isWide = (this.zoom?.thin !== null && this.zoom?.box === b.box) || b.box === this.zoom?.box ||
			b.box.total > 0.9 * (this.zoom?.box.total ?? 0);
		const deeper = this.zoom?.thin && this.zoom.box === b.box ? (this.view?.zoom ?? []) : above;
		this.go(isWide ? [...deeper, THIN] : above);
	}

	private at(e: PointerEvent | MouseEvent): Laid | null {
		const q = this.canvas.getBoundingClientRect();
		const x = e.clientX - q.left;
		const y = e.clientY - q.top;
		return this.boxes.find(b => x >= b.left && x < b.left + Math.max(b.width, LEAST_WIDTH) && y >= this.top(b) && y < this.top(b) + BOX) ?? null;
	}

	private point(b: Laid | null): void {
		if (b === this.current) return;
		this.current = b;
		this.draw();
		this.say();
	}

	private listen(): void {
		const cv = this.canvas;
		cv.onpointermove = e => this.point(this.at(e));
		cv.onpointerleave = () => this.point(null);
		cv.onclick = e => {
			const b = this.at(e);
			if (b) this.enter(b);
		};
		cv.onkeydown = e => {
			if (e.ctrlKey || e.metaKey || e.altKey) return;
			if (this.press(e.key)) e.preventDefault();
		};
	}

	/** Answers a key; false: it is none of the graph's. */
	press(key: string): boolean {
		const b = this.current;
		if (key.startsWith('Arrow')) {
			this.point(this.neighbour(key) ?? b);
			return true;
		}
		if (key === 'Enter') {
			if (b) this.enter(b);
		} else if (key === 'Backspace' || key === 'Escape') this.back();
		else if (key === 's') {
			if (b && !b.thin) this.tells.chosen(b.box, true);
		} else if (key === 'n' || key === 'N') this.nextMatch(key === 'n' ? 1 : -1);
		else return this.tells.pressed(key);
		return true;
	}

	private neighbour(key: string): Laid | null {
		const b = this.current;
		if (!b) return this.boxes.find(x => !x.isAncestor) ?? null;
		const down = this.view?.isUp ? 'ArrowUp' : 'ArrowDown';
		const up = this.view?.isUp ? 'ArrowDown' : 'ArrowUp';
		if (key === down) {
			const below = this.boxes.filter(x => x.row === b.row + 1 && (x.thin ? x.box === b.box : x.box.up === b.box));
			return below.sort((p, q) => q.total - p.total)[0] ?? null;
		}
		if (key === up) return this.boxes.find(x => !x.thin && x.box === (b.thin ? b.box : b.box.up)) ?? null;
		const beside = this.boxes.filter(x => x.row === b.row).sort((p, q) => p.left - q.left);
		return beside[beside.indexOf(b) + (key === 'ArrowRight' ? 1 : -1)] ?? null;
	}

	private nextMatch(step: number): void {
		const query = this.view?.query;
		if (!query) return;
		const hits = this.boxes.filter(b => b.box.up && this.isHit(b, query)).sort((p, q) => p.row - q.row || p.left - q.left);
		if (hits.length === 0) return;
		const now = this.current ? hits.indexOf(this.current) : -1;
		const next = now < 0 ? (step > 0 ? 0 : hits.length - 1) : (now + step + hits.length) % hits.length;
		this.point(hits[next]);
	}
}

function share(box: Box, v: FlameView): Share {
	return box.up ? box.share() : { value: 1, error: 0, coarse: v.weights.samples < 100 };
}

/** "112 kept"; of a range that has only shares of samples, "about 112 kept". */
export function keptWords(kept: number, s: Share, samples: number): string {
	return Number.isNaN(kept) ? `about ${Math.round(s.value * samples)} kept` : `${kept} kept`;
}

/** "▲ +4.1", "▼ −4.1", or that nothing can be told. */
export function changeWords(c: Change, more = ''): HTMLElement {
	if (!c.isSure) return el('span', { class: 'pm' }, 'not distinguishable' + more.replace('against', 'from'));
	return el('span', { class: c.percent > 0 ? 'more' : 'less' },
		`${c.percent > 0 ? '▲' : '▼'} ${signed(c.percent, c.error)}`,
		el('span', { class: 'pm' }, `${NBSP}±${NBSP}${signed(c.error, c.error).slice(1)}`), more);
}
