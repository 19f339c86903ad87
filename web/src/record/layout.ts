// layout.ts - where the boxes of a flame graph lie. Siblings that would be under three pixels become one box that can be opened:
// nothing is dropped. Pure.
import type { Box } from './tree';

export const LEAST_WIDTH = 3;

export interface Laid {
	/** The box; of merged siblings, the one above them. */
	box: Box;
	/** Siblings merged into one, or null. */
	thin: Box[] | null;
	left: number;
	width: number;
	/** Rows from the root. */
	row: number;
	/** Above the box that is zoomed to. */
	isAncestor: boolean;
	/** Weight. */
	total: number;
}

/** What fills the width: a box, or some of its children that were merged. */
export interface Zoom {
	box: Box;
	thin: Box[] | null;
}

function totalOf(boxes: Box[]): number {
	return boxes.reduce((all, b) => all + b.total, 0);
}

/** The key of merged siblings in a zoom. */
export const THIN = '*';

/** Follows keys from the root; stops where there is no such box. Merged siblings are those that are thin when the box above them fills
 * the width. */
export function resolve(root: Box, keys: readonly string[], width: number): Zoom {
	let zoom: Zoom = { box: root, thin: null };
	for (const key of keys) {
		if (key === THIN) {
			const thin = thinOf(zoom, width);
			if (thin.length === 0) break;
			zoom = { box: zoom.box, thin };
			continue;
		}
		const next: Box | null = zoom.box.find(key);
		if (!next) break;
		zoom = { box: next, thin: null };
	}
	return zoom;
}

/** Children that are too thin to show where this fills the width. */
export function thinOf(zoom: Zoom, width: number): Box[] {
	const children = zoom.thin ?? zoom.box.children;
	const total = zoom.thin ? totalOf(zoom.thin) : zoom.box.total;
	const thin = children.filter(c => c.total / total * width < LEAST_WIDTH);
	/* All of them again: they would look the same for ever, so the widest are shown that there is room for. */
	return thin.length === children.length && zoom.thin ? thin.slice(0, Math.floor(width / LEAST_WIDTH / 4)) : thin;
}

/** Boxes from the root down, those above the zoomed one over the whole width. */
export function layout(zoom: Zoom, width: number): { boxes: Laid[]; rows: number } {
	const boxes: Laid[] = [];
	for (let b = zoom.thin ? zoom.box : zoom.box.up; b; b = b.up)
		boxes.unshift({ box: b, thin: null, left: 0, width, row: 0, isAncestor: true, total: b.total });
	boxes.forEach((b, i) => { b.row = i; });
	const first = boxes.length;
	const total = zoom.thin ? totalOf(zoom.thin) : zoom.box.total;
	let rows = first;
	const todo: Laid[] = [];
	const put = (laid: Laid): void => {
		boxes.push(laid);
		rows = Math.max(rows, laid.row + 1);
		if (!laid.thin) todo.push(laid);
	};
	const lay = (above: Box, children: Box[], left: number, row: number): void => {
		let at = left;
		const thin: Box[] = [];
		for (const c of children) {
			const w = total > 0 ? c.total / total * width : 0;
			if (w < LEAST_WIDTH) {
				thin.push(c);
				continue;
			}
			put({ box: c, thin: null, left: at, width: w, row, isAncestor: false, total: c.total });
			at += w;
		}
		if (thin.length === 0) return;
		const sum = totalOf(thin);
		put({ box: above, thin, left: at, width: Math.max(LEAST_WIDTH, sum / total * width), row, isAncestor: false, total: sum });
	};
	if (zoom.thin) lay(zoom.box, zoom.thin, 0, first);
	else put({ box: zoom.box, thin: null, left: 0, width, row: first, isAncestor: false, total });
	for (let next = todo.pop(); next; next = todo.pop())
		lay(next.box, next.box.children, next.left, next.row + 1);
	return { boxes, rows };
}
