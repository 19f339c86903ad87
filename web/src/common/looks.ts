// looks.ts - what canvases draw with: sharp on any screen, and patterns beside colours, so that paper without colour tells them
// apart. Patterns and their tiles are kept until the theme changes.
import { el } from './dom';
import { onRedraw, onTheme, tok } from './theme';

export type Pen = CanvasRenderingContext2D;
export type Hatch = '/' | 'x' | '|';

/** States by their index in recordings: running, waiting, runnable. */
export const STATE_TOKENS = ['run', 'wait', 'queue'] as const;
export const STATE_SIGNS = ['●', '○', '◐'] as const;
export const STATE_WORDS = ['running', 'waiting', 'runnable'] as const;

/** Sizes the canvas to `width`, its parent's where none is given, and `height`, in the screen's own pixels, and clears it. */
export function pen(canvas: HTMLCanvasElement, height: number, width = canvas.parentElement?.clientWidth ?? 0): [Pen, number] {
	const ratio = devicePixelRatio || 1;
	canvas.style.height = `${height}px`;
	canvas.width = Math.max(1, Math.round(width * ratio));
	canvas.height = Math.max(1, Math.round(height * ratio));
	const c = canvas.getContext('2d');
	if (!c) throw new Error('no canvas here');
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	return [c, width];
}

const patterns = new Map<string, CanvasPattern>();
onTheme(() => patterns.clear());

function strokes(g: Pen, kind: Hatch): void {
	if (kind === '|') {
		for (const x of [1.5, 4.5]) {
			g.moveTo(x, 0);
			g.lineTo(x, 6);
		}
		return;
	}
	for (const o of [-6, 0, 6]) {
		g.moveTo(o, 6);
		g.lineTo(o + 6, 0);
		if (kind !== 'x') continue;
		g.moveTo(o, 0);
		g.lineTo(o + 6, 6);
	}
}

/** Lines in a colour, over a ground or over nothing. */
export function hatch(c: Pen, colour: string, kind: Hatch, ground = ''): CanvasPattern | string {
	const key = colour + kind + ground;
	const known = patterns.get(key);
	if (known) return known;
	const tile = document.createElement('canvas');
	tile.width = tile.height = 6;
	const g = tile.getContext('2d');
	if (!g) return colour;
	if (ground) {
		g.fillStyle = ground;
		g.fillRect(0, 0, 6, 6);
	}
	g.strokeStyle = colour;
	g.lineWidth = 1.1;
	g.beginPath();
	strokes(g, kind);
	g.stroke();
	const made = c.createPattern(tile, 'repeat');
	if (!made) return colour;
	patterns.set(key, made);
	return made;
}

export interface Box { x: number; y: number; w: number; h: number }

/** A state's own pattern over its colour: waiting diagonal, runnable upright, running none. */
export function stateHatch(c: Pen, state: number, b: Box, alpha = 0.5): void {
	if (state === 0) return;
	const before = c.globalAlpha;
	c.globalAlpha = before * alpha;
	c.fillStyle = hatch(c, tok('sheet'), state === 1 ? '/' : '|');
	c.fillRect(b.x, b.y, b.w, b.h);
	c.globalAlpha = before;
}

/** Dots stand so far apart, so that a row of narrow slots does not look like a line. */
const DOTS = 6;

function dot(c: Pen, b: Box, y: number): void {
	const last = Math.floor((b.x + b.w - 1) / DOTS) * DOTS;
	if (b.w < DOTS && last < b.x) return;
	c.fillStyle = tok('edge');
	c.fillRect(b.w < DOTS ? last : b.x + b.w / 2 - 0.5, y, 1, 1);
}

/** Numbers that are not there, each with its own look. */
export const looks = {
	/** A measured 0: a dot in the middle. */
	zero(c: Pen, b: Box): void {
		dot(c, b, b.y + b.h / 2 - 0.5);
	},
	/** Did not run: a dot on the lowest row. */
	idle(c: Pen, b: Box): void {
		dot(c, b, b.y + b.h - 1.5);
	},
	unmeasured(c: Pen, b: Box): void {
		c.globalAlpha = 0.55;
		c.fillStyle = hatch(c, tok('edge'), '/');
		c.fillRect(b.x, b.y, b.w, b.h);
		c.globalAlpha = 1;
	},
	denied(c: Pen, b: Box): void {
		c.globalAlpha = 0.34;
		c.fillStyle = hatch(c, tok('stop'), 'x');
		c.fillRect(b.x, b.y, b.w, b.h);
		c.globalAlpha = 1;
	},
	/** A hole in the paper, through every row. */
	lost(c: Pen, b: Box): void {
		c.fillStyle = tok('paper');
		c.fillRect(b.x, b.y, b.w, b.h);
		c.strokeStyle = tok('ink');
		c.lineWidth = 1;
		c.setLineDash([2, 2]);
		c.strokeRect(b.x + 0.5, b.y + 0.5, Math.max(0, b.w - 1), b.h - 1);
		c.setLineDash([]);
	},
	/** [torn], [broken], [cut]: ragged upper and lower edge. */
	torn(c: Pen, b: Box): void {
		c.fillStyle = tok('t7');
		c.beginPath();
		c.moveTo(b.x, b.y);
		for (let i = 0; i <= b.w; i += 4) c.lineTo(b.x + i, b.y + (i / 4 % 2 ? 3 : 0));
		c.lineTo(b.x + b.w, b.y + b.h);
		for (let i = Math.floor(b.w / 4) * 4; i >= 0; i -= 4) c.lineTo(b.x + i, b.y + b.h - (i / 4 % 2 ? 3 : 0));
		c.closePath();
		c.fill();
	},
};
export type Look = keyof typeof looks;

/** A sample of a look or a state for a key, with its words. */
export function keySample(look: Look | number | string, words: string): HTMLSpanElement {
	const canvas = el('canvas', { width: 44, height: 24, 'aria-hidden': 'true' });
	const b = { x: 0, y: 0, w: 22, h: 12 };
	const draw = () => {
		canvas.width = 44;
		const c = canvas.getContext('2d');
		if (!c) return;
		c.scale(2, 2);
		if (typeof look === 'string' && look in looks) {
			looks[look as Look](c, b);
			return;
		}
		c.fillStyle = tok(typeof look === 'number' ? STATE_TOKENS[look] : look);
		c.fillRect(b.x, b.y, b.w, b.h);
		if (typeof look === 'number') stateHatch(c, look, b);
	};
	onRedraw(draw);
	return el('span', {}, canvas, words);
}

/** What a number that is not there says in a table. */
export function none(words: string, why = ''): HTMLSpanElement {
	return el('span', { class: 'none', title: why || null }, '— ' + words);
}
export function deny(why = ''): HTMLSpanElement {
	return el('span', { class: 'deny', title: why || null }, '⊘ not allowed');
}
