// record.ts - the page of a recording of samples: what is chosen, and what is drawn of it.
import { el, fill } from '../common/dom';
import { get, keep, onChange } from '../common/fragment';
import { begin, type KeyRow } from '../common/keys';
import { keySample, STATE_SIGNS, STATE_TOKENS, STATE_WORDS } from '../common/looks';
import { counted, day, duration, exact, pm, timeOfDay } from '../common/numbers';
import { choice, flip, readData, section, sheet, start, twin } from '../common/page';
import { makeSearch } from '../common/search';
import { type Column, type Row, SortedTable, table } from '../common/table';
import { clockTicks, Heat } from '../common/timeline';
import { Flame } from './flame';
import { type Range, type RecordData, Run, type Weights } from './run';
import { functionColumns, functionRows, neighbourTable, THREAD_COLUMNS, threadRows } from './tables';
import { type Box, type Group, matched, neighbours, pair, Places, rows, threads, tree } from './tree';
import { lostWords, rowsOf, stateWords, threadTimes } from './when';

const FIRST_ROWS = 16;
const FOUND_ROWS = 60;
const TWIN_ROWS = 20;
const MODULE_TOKENS = 7;
const DAY_MS = 86400000;

const GROUPS: readonly (readonly [Group, string])[] = [
	['function', 'Function'], ['file', 'File'], ['module', 'Module'], ['thread', 'Thread'],
];

const KEYS: KeyRow[] = [
	[['/'], 'search; n and N the next and the last match, Esc clears'],
	[['↑', '↓', '←', '→'], 'in the graph: caller, widest callee, neighbours'],
	[['Enter'], 'zoom; Backspace or Esc back'],
	[['s'], 'callers and callees'],
	[['i'], 'invert; r root below, c colour'],
	[['←', '→'], 'on the timeline: move the range, with Shift widen it'],
	[['b'], 'on the timeline: range A or B; Esc the whole run'],
];

/** What the reader has chosen. */
interface Chosen {
	a: Range | null;
	b: Range | null;
	group: Group;
	isInverted: boolean;
	isUp: boolean;
	byState: boolean;
	zoom: string[];
	selected: string;
}

class RecordPage {
	private readonly run: Run;
	private readonly places: Places;
	private readonly whole: Weights;
	private readonly tokens = new Map<string, string>();
	private readonly chosen: Chosen = {
		a: null, b: null, group: 'function', isInverted: false, isUp: false, byState: false, zoom: [], selected: '',
	};
	private now: Weights;
	private before: Weights | null = null;
	private root: Box;
	private readonly flame: Flame;
	private readonly search;
	private readonly group;
	private readonly colour;
	private readonly invert: HTMLButtonElement;
	private readonly below: HTMLButtonElement;
	private readonly heat: Heat;
	private readonly ranges = el('div', { class: 'read', id: 'ranges', 'aria-live': 'polite' });
	private readonly legend = el('div', { class: 'tools s key' });
	private readonly functions = new SortedTable({ by: 1, most: FIRST_ROWS, caption: 'Functions by share of time', hidden: true,
		empty: 'No function matches. The search looks at names only.' });
	private readonly threads = new SortedTable({ by: 1, most: FIRST_ROWS, caption: 'Threads' });
	private readonly beside = el('div', { class: 'two', id: 'neighbours' });

	constructor(data: RecordData) {
		this.run = new Run(data);
		this.places = new Places(this.run);
		this.whole = this.now = this.run.weigh(null);
		this.root = this.makeRoot();
		this.chooseTokens();
		this.flame = new Flame({
			zoomed: keys => this.zoomTo(keys),
			chosen: (box, scrolls) => this.select(box.place.key, scrolls),
			pressed: key => this.press(key),
		});
		this.search = makeSearch('Search functions', () => this.showWhere(), () => this.flame.canvas.focus());
		this.group = choice('Group by', GROUPS, 'function', value => this.regroup(value));
		this.colour = choice('Colour by', [['module', 'Module'], ['state', 'State']] as const, 'module', value => {
			this.chosen.byState = value === 'state';
			keep('c', value === 'state' ? 'state' : '');
			this.showFlame();
		});
		this.invert = flip('Invert', 'invert', on => this.turn('isInverted', 'i', on));
		this.below = flip('Root below', 'below', on => this.turn('isUp', 'r', on));
		this.heat = this.makeHeat();
		this.build();
		begin(KEYS, this.search.input);
		onChange(() => this.readFragment());
		this.readFragment();
	}

	/** The seven heaviest modules have a colour each. */
	private chooseTokens(): void {
		const sums = [...rows(this.whole, this.places, 'module').values()].filter(w => !w.place.isMarker && w.place.module)
			.sort((x, y) => y.own - x.own || y.total - x.total);
		sums.slice(0, MODULE_TOKENS).forEach((w, i) => this.tokens.set(w.place.module, `t${i}`));
	}

	/* ---- building ---- */

	private words(ms: number): string {
		const isLong = this.run.count * this.run.data.slot_ns / 1e6 > DAY_MS;
		const isShort = this.run.count * this.run.data.slot_ns / 1e6 < 600000;
		return (isLong ? day(ms) + ' ' : '') + timeOfDay(ms, isShort);
	}

	private instant(slot: number): string {
		const ms = this.run.data.started_ms + slot * this.run.data.slot_ns / 1e6;
		const isLong = this.run.count * this.run.data.slot_ns / 1e6 > DAY_MS;
		return (isLong ? day(ms) + ' ' : '') + timeOfDay(ms);
	}

	private makeHeat(): Heat {
		const all = [...threads(this.whole, this.places).values()].sort((x, y) => y.total - x.total);
		const length = this.run.count * this.run.data.slot_ns / 1e6;
		return new Heat({
			rows: rowsOf(this.run, threadTimes(all, this.whole.whole)),
			count: this.run.count,
			ticks: clockTicks(this.run.data.started_ms, length, ms => this.words(ms)),
			words: `Timeline, ${counted(this.run.count, 'slot')}.`,
			describedBy: 'ranges',
			isLost: i => this.run.isHole(i),
			edges: this.run.edges(),
			onRange: (a, b) => this.setRanges(a, b),
		});
	}

	private build(): void {
		const run = this.run;
		const setsB = flip('Drag sets B', 'sets-b', on => { this.heat.setsB = on; });
		const samples = [0, 1, 2].map(i => keySample(i, `${STATE_SIGNS[i]} ${STATE_WORDS[i]}`));
		section('when', 'When', 'The whole run. Drag for range A. Shift-drag for range B, and everything below shows the difference.' +
			(run.data.slots_merged > 1 ? ` ${exact(run.data.slots_merged)} slots of the recording are one here.` : ''),
			sheet('', el('div', { class: 'tools' },
				el('span', { class: 'key s' }, ...samples, keySample('zero', '0, measured'), keySample('unmeasured', 'not measured'),
					run.data.kernel ? keySample('denied', 'not allowed') : null, keySample('lost', 'lost')),
				el('span', { class: 'grow' }), setsB,
				el('button', { type: 'button', id: 'whole', onclick: () => this.heat.clear() }, 'Whole run')),
			this.heat.element, this.ranges, twin('The timeline as a table', this.timeTable())));
		section('where', 'Where', 'Width is share of time. A box ends as softly as its share is unsure. The foot of each box shows its states.',
			sheet('flame', el('div', { class: 'tools' }, this.search.input, this.search.line, el('span', { class: 'grow' }),
				this.group.element, this.colour.element, el('span', { class: 'seg', role: 'group', 'aria-label': 'Direction' }, this.invert, this.below)),
			this.flame.crumbs, el('div', { class: 'plot' }, this.flame.canvas), this.flame.line, this.legend));
		section('functions', 'Functions',
			'The same numbers as a table. Own is without callees. ± is the 95 % interval.' + this.leftOut(),
			sheet('wide', this.functions.element), this.beside);
		section('threads', 'Threads', 'Shares of all time in the range.', sheet('wide', this.threads.element));
	}

	private leftOut(): string {
		const n = this.run.data.paths_left_out;
		return n > 0 ? ` ${exact(n)} of the lightest paths had no room in this page; their time is in [left out].` : '';
	}

	private timeTable(): HTMLElement {
		const n = Math.min(TWIN_ROWS, this.run.count);
		const columns: Column[] = [{ title: 'from', left: true }, { title: 'time', plain: true, left: true }, { title: 'kept' }, { title: 'lost' }];
		const lines = Array.from({ length: n }, (_, k): Row => {
			const from = Math.floor(k * this.run.count / n);
			const to = Math.floor((k + 1) * this.run.count / n) - 1;
			const words = stateWords(this.run, [from, to]).flatMap((w, i) => (i > 0 ? ['   ', w] : [w]));
			const kept = this.run.slotSum(this.run.data.slots.kept, from, to);
			const lost = this.run.slotSum(this.run.data.slots.lost, from, to);
			return { cells: [{ v: from, n: this.instant(from) }, { v: from, n: words }, { v: kept, n: exact(kept) },
				{ v: lost, n: lostWords(this.run, [from, to]) || '0' }] };
		});
		return table(columns, lines, { most: TWIN_ROWS, caption: 'The timeline', hidden: true });
	}

	/* ---- choosing ---- */

	private setRanges(a: Range | null, b: Range | null): void {
		this.chosen.a = a;
		this.chosen.b = b;
		this.before = b ? this.run.weigh(a) : null;
		this.now = b ? this.run.weigh(b) : a ? this.run.weigh(a) : this.whole;
		this.functions.sortBy(b ? 5 : 1);
		this.root = this.makeRoot();
		this.sayRanges();
		this.showWhere();
		this.showThreads();
	}

	private regroup(group: Group): void {
		if (this.chosen.group !== group) {
			this.chosen.zoom = [];
			this.chosen.selected = '';
			keep('z', '');
			keep('s', '');
		}
		this.chosen.group = group;
		keep('g', group === 'function' ? '' : group);
		this.root = this.makeRoot();
		this.showWhere();
	}

	private turn(what: 'isInverted' | 'isUp', key: string, on: boolean): void {
		this.chosen[what] = on;
		keep(key, on ? '1' : '');
		if (what === 'isInverted') {
			this.chosen.zoom = [];
			keep('z', '');
			this.root = this.makeRoot();
		}
		this.showFlame();
	}

	private zoomTo(keys: string[]): void {
		this.chosen.zoom = keys;
		keep('z', keys.join('.'));
		this.showFlame(true);
	}

	private select(key: string, scrolls: boolean): void {
		this.chosen.selected = key;
		keep('s', key);
		this.showTables();
		if (scrolls) this.beside.scrollIntoView({ block: 'nearest' });
	}

	private press(key: string): boolean {
		if (key === 'i') this.invert.click();
		else if (key === 'r') this.below.click();
		else if (key === 'c') this.colour.press(this.chosen.byState ? 'module' : 'state');
		else return false;
		return true;
	}

	/** Takes what the address says; used at the start, and when a link inside the page changes it. */
	private readFragment(): void {
		this.search.readFragment();
		this.chosen.zoom = get('z') ? get('z').split('.') : [];
		this.chosen.selected = get('s');
		this.chosen.group = GROUPS.find(([g]) => g === get('g'))?.[0] ?? 'function';
		this.chosen.isInverted = get('i') === '1';
		this.chosen.isUp = get('r') === '1';
		this.chosen.byState = get('c') === 'state';
		this.invert.setAttribute('aria-pressed', String(this.chosen.isInverted));
		this.below.setAttribute('aria-pressed', String(this.chosen.isUp));
		this.group.mark(this.chosen.group);
		this.colour.mark(this.chosen.byState ? 'state' : 'module');
		this.heat.readFragment();
		this.heat.tell();
	}

	/* ---- showing ---- */

	private sayRanges(): void {
		const { a, b } = this.chosen;
		const all: Range = [0, this.run.count - 1];
		const lines = b
			? [['A', a ?? all, this.before] as const, ['B', b, this.now] as const]
			: [[a ? 'A' : '', a ?? all, this.now] as const];
		fill(this.ranges, lines.map(([name, range, weights]) => el('div', { class: 'line' }, ...this.rangeWords(name, range, weights))));
	}

	private rangeWords(name: string, range: Range, weights: Weights | null): (Node | string)[] {
		const kept = this.run.slotSum(this.run.data.slots.kept, range[0], range[1]);
		const samples = weights?.samples ?? 0;
		const title = name ? `${name}  ${this.instant(range[0])} to ${this.instant(range[1] + 1)}` : 'Whole run';
		const looks = samples < kept * 0.9 ? `, worth ${exact(samples)} here` : '';
		const lost = lostWords(this.run, range);
		return [
			el('b', {}, title), el('span', {}, `${exact(kept)} kept${looks}`),
			samples < 100 ? el('i', { class: 'coarse' }, 'coarse: under 100 samples') : '',
			...stateWords(this.run, range), lost ? el('span', { class: 's' }, lost) : '',
		];
	}

	private showWhere(): void {
		this.showFlame();
		this.showTables();
	}

	/** The tree of what is chosen, with that of A beside it where two are compared. */
	private makeRoot(): Box {
		const { group, isInverted } = this.chosen;
		const name = this.before ? 'range B' : this.chosen.a ? 'range A' : 'whole run';
		const root = tree(this.now, this.places, group, isInverted, name);
		if (this.before) pair(root, tree(this.before, this.places, group, isInverted, 'range A'));
		return root;
	}

	private showFlame(isZoomed = false): void {
		const { isUp, byState, zoom } = this.chosen;
		const root = this.root;
		const query = this.search.expression();
		this.flame.show({
			root, weights: this.now, before: this.before, zoom, isUp, byState, query,
			colour: module => this.tokens.get(module) ?? 't7',
		}, isZoomed);
		if (query) {
			const found = matched(root, name => query.test(name), this.now);
			if (found.places === 0) this.search.say('no match');
			else this.search.say('matched ', ...pm(found.share, this.now.samples),
				` in ${counted(found.places, 'place')}${found.places > 1 ? ', each stack counted once' : ''}`);
		}
		this.showLegend();
	}

	private showLegend(): void {
		const sample = (token: string, words: string) => {
			const i = el('i');
			i.style.background = `var(--${token})`;
			return el('span', {}, i, words);
		};
		if (this.before) fill(this.legend, el('span', { class: 'more' }, '▲ + more in B'), el('span', { class: 'less' }, '▼ − less in B'),
			el('span', {}, 'grey: not distinguishable'), el('span', {}, 'Width is B.'));
		else if (this.chosen.byState) fill(this.legend, ...STATE_TOKENS.map((t, i) => sample(t, `${STATE_SIGNS[i]} ${STATE_WORDS[i]}`)));
		else fill(this.legend, ...[...this.tokens].map(([module, token]) => sample(token, module)), sample('t7', '(other)'));
	}

	private showTables(): void {
		const { group, selected } = this.chosen;
		const query = this.search.expression();
		const noun = group === 'thread' ? 'function' : group;
		const made = functionRows({
			weights: this.now, before: this.before, now: rows(this.now, this.places, group),
			was: this.before ? rows(this.before, this.places, group) : null, query, selected, noun,
			choose: key => this.select(key, false),
			unsampled: this.now.isRun && !this.before ? this.run.data.unsampled_ns : 0, clock: this.run.data.clock_ns,
		});
		this.functions.show(functionColumns(noun, this.before !== null), made.rows, query ? FOUND_ROWS : FIRST_ROWS, made.foot);
		this.showNeighbours();
	}

	private showNeighbours(): void {
		const { group, selected } = this.chosen;
		const found = selected ? neighbours(this.now, this.places, group, selected) : null;
		if (!found || found.callers.length === 0) {
			fill(this.beside);
			return;
		}
		const name = rows(this.now, this.places, group).get(selected)?.place.name ?? '';
		fill(this.beside, neighbourTable('Callers of ', name, found.callers, this.now.samples),
			neighbourTable('Callees of ', name, found.callees, this.now.samples));
	}

	private showThreads(): void {
		const all = [...threads(this.now, this.places).values()];
		this.threads.show(THREAD_COLUMNS, threadRows(all, this.now.samples));
	}
}

start(() => {
	const data = readData<RecordData>();
	if (data.contexts.length === 0) {
		section('when', 'When', `No sample was kept in ${duration(data.elapsed_ns)}. There is nothing to draw.`);
		begin([], null);
		return;
	}
	new RecordPage(data);
});
