// plantree.ts - a plan of PostgreSQL as lines of a tree, and what differs between two of them. A plan is foreign JSON: it is walked
// without recursion and within limits, and what it holds is only ever text. Pure.

const NODES_MOST = 2000;
const DEPTH_MOST = 400; // brackets within one another, as the terminal's report has it
const DIFFERENCE_MOST = 700; // lines a side

/** Conditions that are lines of their own, as in the terminal. */
const CONDITIONS = ['Index Cond', 'Hash Cond', 'Merge Cond', 'Join Filter', 'Filter', 'Recheck Cond', 'TID Cond', 'One-Time Filter'];

/** What a node's own line says already. */
const SAID = new Set(['Node Type', 'Join Type', 'Index Name', 'Relation Name', 'Function Name', 'CTE Name', 'Plan Rows', 'Total Cost', 'Plans']);

export interface PlanNode {
	depth: number;
	type: string;
	on: string;
	rows: number | null;
	cost: number | null;
	conditions: [string, string][];
	fields: [string, string][]; // all others
}

export interface PlanTree {
	nodes: PlanNode[];
	beside: [string, string][]; // of the plan as a whole: settings, planning
	cut: number; // nodes that are not shown
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

function isObject(v: Json | undefined): v is { [key: string]: Json } {
	return typeof v === 'object' && v !== null && !Array.isArray(v);
}

/** What is hidden in a text, or would turn it round, as the terminal shows it: "\\n", "\\u{202e}". */
export function harmless(text: string): string {
	return text.replace(/[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, c =>
		c === '\n' ? '\\n' : c === '\t' ? '\\t' : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

function tooDeep(json: string): boolean {
	let depth = 0, quoted = false;

	for (let i = 0; i < json.length && depth <= DEPTH_MOST; i++) {
		const c = json[i];

		if (quoted && c === '\\')
			i++;
		else if (c === '"')
			quoted = !quoted;
		else if (!quoted && (c === '{' || c === '['))
			depth++;
		else if (!quoted && (c === '}' || c === ']') && depth > 0)
			depth--;
	}
	return depth > DEPTH_MOST;
}

/** A value in words: lists by commas, objects as JSON. */
function words(v: Json): string {
	const word = (x: Json) => harmless(typeof x === 'string' ? x : JSON.stringify(x));
	return Array.isArray(v) ? v.map(word).join(', ') : word(v);
}

function text(node: { [key: string]: Json }, key: string): string {
	const v = node[key];

	return typeof v === 'string' ? harmless(v) : '';
}

function number(node: { [key: string]: Json }, key: string): number | null {
	const v = node[key];

	return typeof v === 'number' && Number.isFinite(v) ? v : null;
}

function nodeOf(node: { [key: string]: Json }, depth: number): PlanNode {
	const join = text(node, 'Join Type');
	const conditions: [string, string][] = [], fields: [string, string][] = [];

	for (const [key, value] of Object.entries(node)) {
		if (CONDITIONS.includes(key))
			conditions.push([key, words(value)]);
		else if (!SAID.has(key))
			fields.push([harmless(key), words(value)]);
	}
	return {
		depth,
		type: text(node, 'Node Type') + (join ? ` ${join}` : ''),
		on: [text(node, 'Index Name'), text(node, 'Relation Name') || text(node, 'Function Name') || text(node, 'CTE Name')]
			.filter((s) => s !== '').join(' on '),
		rows: number(node, 'Plan Rows'),
		cost: number(node, 'Total Cost'),
		conditions,
		fields,
	};
}

/** null: damaged, too deep, or no plan of PostgreSQL. */
export function planTree(content: string): PlanTree | null {
	let json: Json;

	if (tooDeep(content))
		return null;
	try {
		json = JSON.parse(content) as Json;
	} catch {
		return null;
	}
	const root = Array.isArray(json) ? json[0] : json;
	const top = isObject(root) ? root['Plan'] : undefined;

	if (!isObject(root) || !isObject(top) || typeof top['Node Type'] !== 'string')
		return null;
	const out: PlanTree = { nodes: [], beside: [], cut: 0 };
	const todo: [{ [key: string]: Json }, number][] = [[top, 0]];

	for (const [key, value] of Object.entries(root))
		if (key !== 'Plan')
			out.beside.push([harmless(key), words(value)]);
	while (todo.length > 0) {
		const [node, depth] = todo.pop()!;
		const children = Array.isArray(node['Plans']) ? node['Plans'] : [];

		if (out.nodes.length < NODES_MOST)
			out.nodes.push(nodeOf(node, depth));
		else
			out.cut++;
		for (let i = children.length - 1; i >= 0; i--) {
			const child = children[i];

			if (isObject(child) && typeof child['Node Type'] === 'string')
				todo.push([child, depth + 1]);
		}
	}
	return out;
}

/** One line of a side: a node, or a condition of the one above. */
export interface PlanLine {
	node: PlanNode;
	condition: [string, string] | null;
	changed: boolean;
}

function lines(tree: PlanTree): PlanLine[] {
	return tree.nodes.flatMap((node) => [
		{ node, condition: null, changed: false },
		...node.conditions.map((condition): PlanLine => ({ node, condition, changed: false })),
	]);
}

/** What makes two lines the same: what they do and on what, not how deep they stand or what they cost. */
function same(a: PlanLine, b: PlanLine): boolean {
	if (a.condition && b.condition)
		return a.condition[0] === b.condition[0] && a.condition[1] === b.condition[1] && a.node.on === b.node.on;
	return !a.condition && !b.condition && a.node.type === b.node.type && a.node.on === b.node.on;
}

/** Marks the lines of both sides that the other has not: the longest common part stays. */
function mark(a: PlanLine[], b: PlanLine[]): void {
	const width = b.length + 1, best = new Uint16Array((a.length + 1) * width);

	for (let i = a.length - 1; i >= 0; i--)
		for (let k = b.length - 1; k >= 0; k--)
			best[i * width + k] = same(a[i], b[k])
				? best[(i + 1) * width + k + 1] + 1
				: Math.max(best[(i + 1) * width + k], best[i * width + k + 1]);
	let i = 0, k = 0;

	while (i < a.length || k < b.length) {
		if (i < a.length && k < b.length && same(a[i], b[k])) {
			i++;
			k++;
		} else if (k >= b.length || (i < a.length && best[(i + 1) * width + k] >= best[i * width + k + 1]))
			a[i++].changed = true;
		else
			b[k++].changed = true;
	}
}

export interface PlanDifference {
	before: PlanLine[];
	after: PlanLine[];
	compared: boolean; // false: too large to be compared line by line
	what: string; // 'Index Scan became Seq Scan'; '' when no node differs
}

export function difference(before: PlanTree, after: PlanTree): PlanDifference {
	const a = lines(before), b = lines(after);
	const compared = a.length <= DIFFERENCE_MOST && b.length <= DIFFERENCE_MOST;

	if (compared)
		mark(a, b);
	const gone = a.filter((l) => l.changed && !l.condition), come = b.filter((l) => l.changed && !l.condition);
	// A scan that became another scan says more than what stands over it.
	const scan = (list: PlanLine[]): PlanLine | undefined => list.find((l) => / Scan$/.test(l.node.type)) ?? list[0];
	const from = scan(gone)?.node.type, to = scan(come)?.node.type;
	const what = from && to ? (from === to ? `${from} on another object` : `${from} became ${to}`)
		: to ? `${to} is new` : from ? `${from} is gone` : '';

	return { before: a, after: b, compared, what };
}

/** The same plan with every string harmless, for who draws it himself. Iterative: a plan may be deep. */
export function harmlessPlan(content: string): string {
	const root: { all: Json } = { all: JSON.parse(content) as Json };
	const todo: [{ [key: string]: Json } | Json[], string | number][] = [[root, 'all']];

	while (todo.length > 0) {
		const [within, key] = todo.pop()!;
		const holder = within as { [key: string]: Json }, value = holder[key];

		if (typeof value === 'string')
			holder[key] = harmless(value);
		else if (Array.isArray(value))
			value.forEach((_, i) => todo.push([value, i]));
		else if (isObject(value))
			Object.keys(value).forEach(k => todo.push([value, k]));
	}
	return JSON.stringify(root.all);
}
