// whisker.ts - a number with its interval, drawn: tint up to the estimate, a line over the 95 % interval, a tick on the estimate.
import { svg } from './dom';

export interface WhiskerLook {
	/** Pixels. */
	width?: number;
	/** A token of the style. */
	colour?: string;
	/** Dashes the line: fewer than 100 samples. */
	coarse?: boolean;
	/** A dashed tick in "stop"; 0: none. */
	limit?: number;
}

/** The end of a column's one linear axis: a lone giant is broken off, so that the rest can be read. */
export function axis(values: Iterable<number>): number {
	const sorted = [...values].sort((a, b) => b - a);
	const giant = sorted.length > 1 && sorted[0] > 5 * sorted[1] && sorted[1] > 0;
	return (giant ? sorted[1] * 1.5 : sorted[0] || 0) * 1.12 || 1;
}

const HEIGHT = 14;
const LEAST_INTERVAL = 3;

function drawInterval(g: SVGElement, x: (v: number) => number, value: number, error: number, coarse: boolean): void {
	const line = { stroke: 'var(--ink)', 'stroke-width': 1.25 };
	const low = x(value - error);
	const high = x(value + error);
	g.append(svg('line', { ...line, ...(coarse ? { 'stroke-dasharray': '2 2' } : {}), x1: low, x2: high, y1: 7, y2: 7 }));
	if (high - low < LEAST_INTERVAL) return;
	for (const end of [low, high]) g.append(svg('line', { ...line, x1: end, x2: end, y1: 4.5, y2: 9.5 }));
}

/** `error` 0: exact. All numbers are in the unit of `max`, the end of the axis. */
export function whisker(value: number, error: number, max: number, look: WhiskerLook = {}): SVGSVGElement {
	const w = look.width ?? 120;
	const x = (v: number) => Math.max(1, Math.min(w - 1, v / max * (w - 2) + 1));
	const g = svg('svg', { width: w, height: HEIGHT, viewBox: `0 0 ${w} ${HEIGHT}`, 'aria-hidden': 'true', class: 'wh' });
	g.append(
		svg('rect', { x: 1, y: 3, width: Math.max(0, x(value) - 1), height: 8, fill: `var(--${look.colour ?? 'edge'})`, opacity: 0.28 }),
		svg('line', { x1: 1, x2: 1, y1: 1, y2: 13, stroke: 'var(--line)' }));
	if (value > max) {
		g.append(svg('path', { d: `M${w - 16} 13l4-12M${w - 11} 13l4-12`, stroke: 'var(--ink)', 'stroke-width': 1.25 }));
		return g;
	}
	if (error > 0) drawInterval(g, x, value, error, look.coarse ?? false);
	g.append(svg('line', { stroke: 'var(--ink)', 'stroke-width': 2, x1: x(value), x2: x(value), y1: 2, y2: 12 }));
	if (look.limit)
		g.append(svg('path', { d: `M${x(look.limit)} 1v12`, stroke: 'var(--stop)', 'stroke-width': 1.5, 'stroke-dasharray': '2 1.5' }));
	return g;
}

/** Draws the whiskers whose places the head has: value, error, axis, limit, colour, width, coarse. None is wider than its place. */
export function fillWhiskers(): void {
	document.querySelectorAll<HTMLElement>('[data-wh]').forEach(place => {
		const [value, error, max, limit, colour, width, coarse] = (place.dataset.wh ?? '').split(',');
		place.append(whisker(Number(value), Number(error), Number(max), {
			limit: Number(limit), colour: colour || 'edge', coarse: coarse === '1',
			width: Math.min(Number(width) || 220, place.clientWidth || Infinity),
		}));
	});
}
