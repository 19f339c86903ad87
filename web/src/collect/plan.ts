// plan.ts - the plans of the chosen statement: before and after a change as two trees with signs, each plan it has had, and every field.
import { type Child, el, fill } from '../common/dom';
import { none } from '../common/looks';
import { exact, exactShare, fixed, NBSP, size } from '../common/numbers';
import { section, sheet } from '../common/page';
import { SortedTable } from '../common/table';
import type { Line, Plan } from './model';
import { difference, harmlessPlan, type PlanLine, type PlanNode, planTree, type PlanTree } from './plantree';
import { sum, whole } from './shares';
import { longest } from './statements';
import { each, moment, timesWords, type View } from './view';

/** Draws a whole plan another way, into `place`; answers with what ends it. */
export type Viewer = (place: HTMLElement, plan: string, query: string) => () => void;

const VIEWER_MOST = 500; // nodes
const INDENT = 20;
const LEAN_MOST = 24; // levels; deeper ones stand below one another

function numbersOf(node: PlanNode): string {
	return `${node.rows === null ? '–' : exact(node.rows)} rows · cost ${node.cost === null ? '–' : fixed(node.cost, node.cost < 100 ? 2 : 0)}`;
}

/** A line of a tree: a node, or a condition under it. `sign`: what the other side has not. */
function item(line: PlanLine, sign: '+' | '−'): HTMLLIElement {
	const { node, condition } = line;
	const mark = line.changed ? el('b', { class: sign === '+' ? 'more' : 'less' }, `${sign} `) : null;
	const spoken = line.changed ? el('span', { class: 'vh' }, sign === '+' ? 'new: ' : 'gone: ') : null;
	const li = condition
		? el('li', {}, el('span', {}, mark, spoken, `${condition[0]} `), el('code', {}, condition[1]))
		: el('li', {}, el('span', {}, mark, spoken, node.type), node.on ? el('span', { class: 'pm' }, 'on') : null,
			node.on ? el('code', {}, node.on) : null, el('span', { class: 'nums' }, numbersOf(node)));
	if (line.changed) li.className = 'chg';
	li.style.paddingLeft = `${12 + Math.min(LEAN_MOST, node.depth + (condition ? 1 : 0)) * INDENT}px`;
	return li;
}

function side(title: string, lines: PlanLine[], sign: '+' | '−'): HTMLElement {
	return el('div', {}, el('h3', {}, title), el('ol', {}, ...lines.map(l => item(l, sign))));
}

function fieldList(fields: [string, string][]): HTMLElement {
	return el('dl', { class: 'fields' }, ...fields.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, el('code', {}, value))]));
}

/** Every node with every field that the server gave. */
function wholeTree(tree: PlanTree): HTMLElement {
	return el('ol', { class: 'whole' }, ...tree.nodes.map(node => {
		const li = item({ node, condition: null, changed: false }, '+');
		li.append(fieldList([...node.conditions, ...node.fields]));
		return li;
	}), tree.cut > 0 ? el('li', {}, `${exact(tree.cut)} more nodes are not shown.`) : null);
}

function seen(p: Plan): string {
	return `seen ${moment(p.first)} to ${moment(p.seen)}`;
}

/** Why there is no content to show. */
function absent(p: Plan): string {
	if (p.why === 'not kept') return `Its content was not kept: it has ${size(p.bytes)}.`;
	return p.content === undefined ? `Its content is not in this page, for its size: it has ${size(p.bytes)}.`
		: 'Its content is damaged, or not PostgreSQL’s.';
}

function means(line: Line): Child[] {
	if (!line.before || !line.after || line.before[0] === 0 || line.after[0] === 0) return [];
	const before = line.before[1] / line.before[0], after = line.after[1] / line.after[0];
	return [el('span', {}, `${each(before, 1)} → ${each(after, 1)} a call, `,
		line.told ? el('span', { class: after > before ? 'more' : 'less' }, timesWords({ times: after / before, sure: true }))
			: el('span', { class: 'pm' }, 'not told: few calls, or little time'))];
}

export class Plans {
	private head = el('p');
	private read = el('div', { class: 'read' });
	private trees = el('div', { class: 'two plan' });
	private tools = el('div', { class: 'tools' });
	private full = el('div', { class: 'full' });
	private list = new SortedTable({ caption: 'Plans of this statement', most: 16, empty: 'No plan of this statement is kept.' });
	private end: (() => void) | null = null;
	private shown = -1;

	constructor(private view: View, private viewer: Viewer | null) {
		const made = section('plan', 'Plan', '', sheet('', this.read, this.trees, this.tools, this.full,
			el('div', { class: 'wide' }, this.list.element)));
		made.querySelector('header p')?.replaceWith(this.head);
		view.onChange(() => this.show());
	}

	private show(): void {
		const line = this.view.fleet.lines[this.view.line];
		if (this.view.line === this.shown || !line) return;
		this.shown = this.view.line;
		this.close();
		const plans = this.view.fleet.plans.filter(p => p.line === this.view.line);
		const now = plans.find(p => p.role === 'now'), before = plans.find(p => p.role === 'before');
		this.showHead(line);
		if (now && before) this.showChange(line, before, now);
		else this.showOne(line, now);
		fill(this.tools, ...plans.map(p => this.opener(p, line)));
		this.tools.hidden = plans.length === 0;
		this.showList(plans);
	}

	private showHead(line: Line): void {
		const t = sum(this.view.lines[this.view.line], whole(this.view.fleet.slots));
		fill(this.head, el('code', {}, line.name), ` on `, el('code', {}, this.view.server(line)), line.database ? ', database ' : '',
			line.database ? el('code', {}, line.database) : null, line.user ? ', role ' : '', line.user ? el('code', {}, line.user) : null,
			`. ${exact(t.calls)} calls${t.calls > 0 ? `, ${each(t.us, t.calls)} each` : ''}`, longest(line) ? `; ${longest(line)}` : '', '.',
			line.id && line.id !== '0' ? el('span', { class: 's' }, ` queryid ${line.id}`) : null);
	}

	private showChange(line: Line, before: Plan, now: Plan): void {
		const a = before.content === undefined ? null : planTree(before.content);
		const b = now.content === undefined ? null : planTree(now.content);
		const d = a && b ? difference(a, b) : null;
		fill(this.read, el('b', {}, d?.what || 'The plan changed'), el('span', {}, `on ${moment(line.changed)}`), ...means(line),
			el('span', {}, `expected rows ${exact(before.rows)} → ${exact(now.rows)}`),
			d && !d.compared ? el('span', {}, 'too large to be compared line by line') : null,
			el('span', { class: 'p' }, `${now.generic ? 'generic plan, ' : ''}search_path ${now.path || '–'} · constants redacted`));
		const lines = (tree: PlanTree | null, p: Plan, marked: PlanLine[] | undefined): PlanLine[] | string =>
			tree ? marked ?? [] : absent(p);
		const put = (title: string, got: PlanLine[] | string, sign: '+' | '−') => typeof got === 'string'
			? el('div', {}, el('h3', {}, title), el('p', { class: 'read' }, none(got)))
			: side(title, got, sign);
		const alone = (tree: PlanTree | null) => tree?.nodes.map(node => ({ node, condition: null, changed: false }));
		fill(this.trees, put(`Before · ${seen(before)}`, lines(a, before, d?.before ?? alone(a)), '−'),
			put(`After · ${seen(now)}`, lines(b, now, d?.after ?? alone(b)), '+'));
	}

	private showOne(line: Line, now: Plan | undefined): void {
		const tree = now?.content === undefined ? null : planTree(now.content);
		fill(this.read, !now ? el('span', {}, line.kind === 'hidden' ? 'What may not be seen has no plan to be seen.'
			: line.reason ? `No plan: ${line.reason}.` : 'No plan yet: nobody asked for it.')
			: el('b', {}, line.changed != null ? 'The plan changed; the one before is not kept' : 'One shape in all that is kept'),
		now ? el('span', { class: 'p' }, `${now.generic ? 'generic plan, ' : ''}search_path ${now.path || '–'} · constants redacted`) : null);
		fill(this.trees, now ? tree
			? side(`Now · ${seen(now)}`, difference(tree, tree).after, '+')
			: el('p', { class: 'read' }, none(absent(now))) : null);
		this.trees.hidden = !now;
	}

	/** One button a plan; pressed again it closes what it opened. */
	private opener(p: Plan, line: Line): HTMLElement | null {
		if (p.content === undefined) return null;
		const words = p.role === 'now' ? 'The whole plan now' : p.role === 'before' ? 'The whole plan before' : `The whole plan ${p.digest}`;
		const b = el('button', { type: 'button', 'aria-pressed': 'false' }, words);
		b.onclick = () => {
			const isOpen = b.getAttribute('aria-pressed') === 'true';
			this.close();
			if (!isOpen) this.open(b, p, line);
		};
		return b;
	}

	private open(b: HTMLButtonElement, p: Plan, line: Line): void {
		const tree = planTree(p.content ?? '');
		b.setAttribute('aria-pressed', 'true');
		if (!tree) {
			fill(this.full, el('p', { class: 'read' }, none(absent(p))));
			return;
		}
		const place = el('div', { class: 'viewer' });
		const every = el('details', {}, el('summary', {}, 'Every node with every field'),
			wholeTree(tree), tree.beside.length > 0 ? fieldList(tree.beside) : null);
		fill(this.full, place, every);
		// pev2 calls itself for each level: what is very large is shown as the list below only.
		const isLarge = tree.cut > 0 || tree.nodes.length > VIEWER_MOST;
		if (this.viewer && !isLarge) this.end = this.viewer(place, harmlessPlan(p.content ?? ''), line.name);
		else every.open = true;
	}

	private close(): void {
		this.end?.();
		this.end = null;
		fill(this.full);
		this.tools.querySelectorAll('[aria-pressed=true]').forEach(b => b.setAttribute('aria-pressed', 'false'));
	}

	private showList(plans: Plan[]): void {
		this.list.show([{ title: 'shape', left: true }, { title: 'plan', left: true }, { title: 'first seen' }, { title: 'last seen' }, { title: 'cost' },
			{ title: 'rows' }, { title: 'size' }, { title: 'settings', left: true, look: 'hide' }, { title: 'state', left: true }],
		plans.map(p => ({ cells: [el('code', {}, p.shape), el('code', {}, p.digest), { v: p.first ?? 0, n: moment(p.first) }, { v: p.seen ?? 0, n: moment(p.seen) },
			{ v: p.cost, n: fixed(p.cost, 2) }, { v: p.rows, n: exact(p.rows) }, { v: p.bytes, n: size(p.bytes) }, p.settings || p.path,
			p.content === undefined ? { v: p.role, n: [p.role, ' ', none('no content', absent(p))] } : p.role] })));
	}
}

/** What is said where rows of plans did not fit. */
export function leftOut(v: View): string {
	const without = v.fleet.plans.filter(p => p.content === undefined && p.why !== 'not kept').length;
	const words = [];
	if (without > 0) words.push(`the content of ${exact(without)}${NBSP}plans`);
	if (v.fleet.plansLeftOut > 0) words.push(`${exact(v.fleet.plansLeftOut)}${NBSP}older plans`);
	const lines = v.fleet.statements - v.statements;
	if (lines > 0) {
		const r = v.shareOf(v.rest, whole(Math.max(1, v.fleet.slots)));
		words.push(`${exact(lines)}${NBSP}statements, ${exactShare(Math.round(r.value * 1e6), 1e6)} of the time, stand as one sum`);
	}
	return words.length > 0 ? `For its size this page leaves out: ${words.join('; ')}. tare report --json has all.` : '';
}
