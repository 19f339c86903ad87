// table.ts - a table that can be sorted: the twin of a chart, with the same numbers.
import { type Child, el, nodes } from './dom';
import { exact } from './numbers';

/** A cell: what is shown, and what it is sorted by where that is another. */
export interface Cell {
	/** Sorted by; text is compared as text. */
	v: number | string;
	n: Child | Child[];
}
export type AnyCell = Cell | Child;

export interface Column {
	title: string;
	/** Names stand left and are first sorted upward; numbers right, downward. */
	left?: boolean;
	/** Cannot be sorted by: a drawing. */
	plain?: boolean;
	/** Classes of its cells: "hide" goes first where there is little room, "w" is a drawing beside its number. */
	look?: string;
	/** Title of the header. */
	hint?: string;
}

export interface Row {
	cells: AnyCell[];
	selected?: boolean;
	choose?: () => void;
}

export interface TableLook {
	/** Column sorted by at first; -1: the order of the rows. */
	by?: number;
	/** Upward at first. */
	up?: boolean;
	/** Rows before "n more". */
	most?: number;
	/** What an empty table says: what was looked for, and what it means. */
	empty?: string;
	caption?: string;
	/** The caption is for screen readers only. */
	hidden?: boolean;
}

function isCell(c: AnyCell): c is Cell {
	return typeof c === 'object' && c !== null && !(c instanceof Node) && 'v' in c;
}

function shown(c: AnyCell): Child[] {
	if (!isCell(c)) return [c];
	return Array.isArray(c.n) ? c.n : [c.n];
}

export function compareCells(a: AnyCell, b: AnyCell): number {
	const x = isCell(a) ? a.v : a;
	const y = isCell(b) ? b.v : b;
	if (typeof x === 'number' && typeof y === 'number') return x - y;
	return String(x ?? '').localeCompare(String(y ?? ''));
}

/** A table whose rows can be replaced: order and focus of its headers stay. */
export class SortedTable {
	readonly element: HTMLTableElement;
	private columns: Column[] = [];
	private rows: Row[] = [];
	private foot: Row[] = [];
	private look: TableLook;
	private by: number;
	private up: boolean;
	private isAll = false;
	private body = el('tbody');
	private head = el('tr');

	constructor(look: TableLook) {
		this.look = look;
		this.by = look.by ?? -1;
		this.up = look.up ?? false;
		this.element = el('table', {},
			look.caption ? el('caption', { class: look.hidden ? 'vh' : null }, look.caption) : null,
			el('thead', {}, this.head), this.body);
	}

	/** Shows these rows. `most`: rows before "n more", where it is another now. Rows of the foot stay last in any order. */
	show(columns: Column[], rows: Row[], most?: number, foot: Row[] = []): void {
		const isNew = columns.map(c => c.title).join('\n') !== this.columns.map(c => c.title).join('\n');
		this.columns = columns;
		this.rows = rows;
		this.foot = foot;
		if (most !== undefined) this.look = { ...this.look, most };
		if (isNew) this.head.replaceChildren(...columns.map((c, i) => this.header(c, i)));
		this.draw();
	}

	/** Sorts by this column, in its own first direction. */
	sortBy(column: number, up = false): void {
		this.by = column;
		this.up = up;
	}

	private header(c: Column, at: number): HTMLTableCellElement {
		const inside = c.plain
			? c.title || el('span', { class: 'vh' }, 'drawn')
			: el('button', { type: 'button', onclick: () => this.press(at) }, c.title);
		return el('th', { scope: 'col', class: [c.left ? 'l' : '', c.look ?? ''].join(' ').trim() || null, title: c.hint ?? null }, inside);
	}

	private press(at: number): void {
		this.up = this.by === at ? !this.up : this.columns[at].left === true;
		this.by = at;
		this.draw();
	}

	private sorted(): Row[] {
		if (this.by < 0) return this.rows;
		const sign = this.up ? 1 : -1;
		return [...this.rows].sort((a, b) => sign * compareCells(a.cells[this.by], b.cells[this.by]));
	}

	private line(row: Row): HTMLTableRowElement {
		const tr = el('tr', {}, this.columns.map((c, i) => {
			const classes = [c.left ? 'l' : '', c.look ?? ''].join(' ').trim() || null;
			return i === 0
				? el('th', { scope: 'row', class: classes }, ...nodes(shown(row.cells[i])))
				: el('td', { class: classes }, ...nodes(shown(row.cells[i])));
		}));
		if (row.selected) tr.setAttribute('aria-selected', 'true');
		if (row.choose) tr.onclick = row.choose;
		return tr;
	}

	private draw(): void {
		[...this.head.children].forEach((h, i) => {
			if (i === this.by) h.setAttribute('aria-sort', this.up ? 'ascending' : 'descending');
			else h.removeAttribute('aria-sort');
		});
		const most = this.isAll ? Infinity : this.look.most ?? 16;
		const rows = this.sorted();
		this.body.replaceChildren(...rows.slice(0, most).map(r => this.line(r)));
		if (rows.length > most) this.body.append(this.wide(el('button', {
			type: 'button', onclick: () => { this.isAll = true; this.draw(); },
		}, `${exact(rows.length - most)} more`)));
		this.body.append(...this.foot.map(r => this.line(r)));
		if (rows.length === 0) this.body.append(this.wide(this.look.empty ?? 'Nothing here.'));
	}

	private wide(child: Child): HTMLTableRowElement {
		return el('tr', {}, el('td', { class: 'tx', colSpan: Math.max(1, this.columns.length) }, child));
	}
}

/** A table that does not change. */
export function table(columns: Column[], rows: Row[], look: TableLook = {}): HTMLTableElement {
	const t = new SortedTable(look);
	t.show(columns, rows);
	return t.element;
}
