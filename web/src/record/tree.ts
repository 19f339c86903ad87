// tree.ts - paths of a range as a tree of boxes, grouped and turned as the reader likes; and the same as rows of a table. Pure.
import { type Share, sampledShare, sum } from '../common/stats';
import { type Leaf, type Run, type States, type Weights } from './run';

export type Group = 'function' | 'file' | 'module' | 'thread';

/** One place, as a grouping has it. */
export interface Place {
	/** The same for the same place in every tree of the page; goes into the fragment. */
	key: string;
	name: string;
	/** Of the module that colours it; "" is none. */
	module: string;
	/** file:line, where known. */
	source: string;
	isMarker: boolean;
}

/** What was weighed: a box, or a row. */
export class Weighed {
	readonly place: Place;
	readonly parts: Float64Array;
	total = 0;
	own = 0;
	readonly ownParts: Float64Array;
	readonly states: States = [0, 0, 0];
	readonly ownStates: States = [0, 0, 0];
	kept = 0;
	private readonly weights: Weights;
	private known: Share | null = null;
	private knownOwn: Share | null = null;

	constructor(place: Place, weights: Weights) {
		this.place = place;
		this.weights = weights;
		this.parts = new Float64Array(weights.whole.length);
		this.ownParts = new Float64Array(weights.whole.length);
	}

	add(leaf: Leaf, total: number): void {
		for (let i = 0; i < this.parts.length; i++) this.parts[i] += leaf.parts[i];
		for (let i = 0; i < 3; i++) this.states[i] += leaf.states[i];
		this.total += total;
		this.kept += leaf.kept;
	}

	addOwn(leaf: Leaf, total: number): void {
		for (let i = 0; i < this.ownParts.length; i++) this.ownParts[i] += leaf.parts[i];
		for (let i = 0; i < 3; i++) this.ownStates[i] += leaf.states[i];
		this.own += total;
	}

	share(): Share {
		return this.known ??= sampledShare(this.parts, this.weights.whole, this.weights.kept);
	}

	ownShare(): Share {
		return this.knownOwn ??= sampledShare(this.ownParts, this.weights.whole, this.weights.kept);
	}
}

export class Box extends Weighed {
	readonly children: Box[] = [];
	readonly up: Box | null;
	readonly depth: number;
	/** The same path in the other range, when two are compared. */
	other: Box | null = null;
	private readonly byKey = new Map<string, Box>();

	constructor(place: Place, weights: Weights, up: Box | null) {
		super(place, weights);
		this.up = up;
		this.depth = up ? up.depth + 1 : 0;
	}

	child(place: Place, weights: Weights): Box {
		let c = this.byKey.get(place.key);
		if (!c) {
			c = new Box(place, weights, this);
			this.byKey.set(place.key, c);
			this.children.push(c);
		}
		return c;
	}

	find(key: string): Box | null {
		return this.byKey.get(key) ?? null;
	}

	/** Keys from below the root down to this. */
	keys(): string[] {
		const out: string[] = [];
		for (let b: Box | null = this; b?.up; b = b.up) out.unshift(b.place.key);
		return out;
	}
}

const NO_FILE = '(no file)';
const NO_MODULE = '(no module)';

/** Places by grouping, each made once. */
export class Places {
	private readonly run: Run;
	private readonly made = new Map<string, Place>();

	constructor(run: Run) {
		this.run = run;
	}

	private once(key: string, make: () => Omit<Place, 'key'>): Place {
		let p = this.made.get(key);
		if (!p) {
			p = { key, ...make() };
			this.made.set(key, p);
		}
		return p;
	}

	thread(id: number): Place {
		return this.once(`t${id}`, () => {
			const t = this.run.data.threads[id];
			const name = !t ? '[no thread]' : t[1] === 0 ? t[0] : `${t[0]} ${t[1] === t[2] ? t[1] : `${t[1]}/${t[2]}`}`;
			return { name, module: '', source: '', isMarker: !t };
		});
	}

	function(id: number): Place {
		return this.once(`f${id}`, () => {
			const f = this.run.functions[id];
			const file = f.file.slice(f.file.lastIndexOf('/') + 1);
			return { name: f.name, module: f.module, source: file && f.line ? `${file}:${f.line}` : file, isMarker: f.isMarker };
		});
	}

	/** A function as a grouping has it. */
	of(id: number, group: Group): Place {
		const f = this.run.functions[id];
		if (group === 'function' || group === 'thread' || f.isMarker) return this.function(id);
		const name = group === 'module' ? f.module || NO_MODULE : f.file || NO_FILE;
		return this.once(`${group === 'module' ? 'm' : 's'}${this.number(group, name)}`, () => ({ name, module: f.module, source: '', isMarker: false }));
	}

	private readonly numbers = new Map<string, number>();
	private number(group: Group, name: string): number {
		const key = group + ' ' + name;
		let n = this.numbers.get(key);
		if (n === undefined) {
			n = this.run.functions.findIndex(f => !f.isMarker &&
				(group === 'module' ? f.module || NO_MODULE : f.file || NO_FILE) === name);
			this.numbers.set(key, n);
		}
		return n;
	}

	/** The places of a path, root first; neighbours that are the same become one. */
	path(leaf: Leaf, group: Group): Place[] {
		const out: Place[] = group === 'thread' ? [this.thread(leaf.thread)] : [];
		for (const id of leaf.path) {
			const p = this.of(id, group);
			const last = out[out.length - 1];
			if (!last || last !== p || group === 'function' || group === 'thread') out.push(p);
		}
		return out;
	}
}

/** The tree of a range. Inverted: what runs is above, its callers below it. */
export function tree(weights: Weights, places: Places, group: Group, isInverted: boolean, name: string): Box {
	const root = new Box({ key: '', name, module: '', source: '', isMarker: false }, weights, null);
	for (const leaf of weights.leaves) {
		const total = sum(leaf.parts);
		const path = places.path(leaf, group);
		let at = root;
		root.add(leaf, total);
		if (isInverted) path.reverse();
		for (const place of path) {
			at = at.child(place, weights);
			at.add(leaf, total);
			if (isInverted && at.up === root) at.addOwn(leaf, total);
		}
		if (!isInverted) at.addOwn(leaf, total);
	}
	sortChildren(root);
	return root;
}

/** Widest first; ties in order of their names, so that a page looks the same each time. */
function sortChildren(root: Box): void {
	const todo = [root];
	for (let b = todo.pop(); b; b = todo.pop()) {
		b.children.sort((x, y) => y.total - x.total || (x.place.name < y.place.name ? -1 : 1));
		todo.push(...b.children);
	}
}

/** Puts beside each box of `b` the one of the same path in `a`. */
export function pair(b: Box, a: Box): void {
	const todo: [Box, Box | null][] = [[b, a]];
	for (let next = todo.pop(); next; next = todo.pop()) {
		const [box, other] = next;
		box.other = other;
		for (const c of box.children) todo.push([c, other?.find(c.place.key) ?? null]);
	}
}

/** Rows of a table: each place once, however often it is on a path. Threads are rows of a table of their own. */
export function rows(weights: Weights, places: Places, group: Group): Map<string, Weighed> {
	const out = new Map<string, Weighed>();
	const by = group === 'thread' ? 'function' : group;
	for (const leaf of weights.leaves) {
		const total = sum(leaf.parts);
		const path = places.path(leaf, by);
		for (const place of new Set(path)) row(out, place, weights).add(leaf, total);
		row(out, path[path.length - 1], weights).addOwn(leaf, total);
	}
	return out;
}

export function threads(weights: Weights, places: Places): Map<string, Weighed> {
	const out = new Map<string, Weighed>();
	for (const leaf of weights.leaves) row(out, places.thread(leaf.thread), weights).add(leaf, sum(leaf.parts));
	return out;
}

function row(rows: Map<string, Weighed>, place: Place, weights: Weights): Weighed {
	let r = rows.get(place.key);
	if (!r) {
		r = new Weighed(place, weights);
		rows.set(place.key, r);
	}
	return r;
}

/** Who calls a place and whom it calls: each path counted once for each of them. */
export function neighbours(weights: Weights, places: Places, group: Group, key: string): { callers: Weighed[]; callees: Weighed[] } {
	const callers = new Map<string, Weighed>();
	const callees = new Map<string, Weighed>();
	const own: Place = { key: 'own', name: '(own)', module: '', source: '', isMarker: true };
	const root: Place = { key: 'root', name: '(the thread)', module: '', source: '', isMarker: true };
	const by = group === 'thread' ? 'function' : group;
	for (const leaf of weights.leaves) {
		const path = places.path(leaf, by);
		const above = new Set<Place>();
		const below = new Set<Place>();
		path.forEach((place, i) => {
			if (place.key !== key) return;
			above.add(path[i - 1] ?? root);
			below.add(path[i + 1] ?? own);
		});
		const total = sum(leaf.parts);
		for (const place of above) row(callers, place, weights).add(leaf, total);
		for (const place of below) row(callees, place, weights).add(leaf, total);
	}
	const sorted = (m: Map<string, Weighed>) => [...m.values()].sort((x, y) => y.total - x.total);
	return { callers: sorted(callers), callees: sorted(callees) };
}

/** The share of all paths on which something matches, each counted once; and how many boxes match with none above that does. */
export function matched(root: Box, matches: (name: string) => boolean, weights: Weights): { share: Share; places: number } {
	const parts = new Float64Array(weights.whole.length);
	const todo = [...root.children];
	let places = 0;
	for (let b = todo.pop(); b; b = todo.pop()) {
		if (!matches(b.place.name)) {
			todo.push(...b.children);
			continue;
		}
		places++;
		for (let i = 0; i < parts.length; i++) parts[i] += b.parts[i];
	}
	return { share: sampledShare(parts, weights.whole, weights.kept), places };
}

/** How a share changed from range A to range B, in percent of each. */
export interface Change {
	percent: number;
	error: number;
	/** Larger than its error and than 0.3 %. */
	isSure: boolean;
}

const LEAST_CHANGE = 0.3;
const NOTHING: Share = { value: 0, error: 0, coarse: false };

/** `a` or `b` null: it was not there, and three in the range's samples could have been missed. */
export function change(b: Share | null, a: Share | null, samplesB: number, samplesA: number): Change {
	const missed = (samples: number): Share => ({ ...NOTHING, error: samples > 3 ? 3 / samples : 1 });
	const to = b ?? missed(samplesB);
	const from = a ?? missed(samplesA);
	const percent = (to.value - from.value) * 100;
	const error = Math.hypot(to.error, from.error) * 100;
	return { percent, error, isSure: Math.abs(percent) > error && Math.abs(percent) >= LEAST_CHANGE };
}
