// watch.ts - the page of a watch: frames or functions over time, slow frames, functions, and the chosen one over time. A range
// that is chosen governs everything below it.
import { el, fill, spaced } from '../common/dom';
import { get, keep, onChange } from '../common/fragment';
import { begin, isBusy, type KeyRow } from '../common/keys';
import { keySample } from '../common/looks';
import { measuredDuration, measuredShare, NO_ERROR, wordNodes } from '../common/measured';
import { duration, exact, NBSP } from '../common/numbers';
import { flip, readData, section, sheet, start, twin } from '../common/page';
import { makeSearch } from '../common/search';
import { SortedTable } from '../common/table';
import { Heat } from '../common/timeline';
import { percentile } from './cells';
import type { WatchData } from './decode';
import { cutWords, FunctionsView, matchedWords } from './functions';
import { type Looked, Model, type Range, type Watched } from './model';
import { rangeWords, rowWords, spans, ticks } from './moments';
import { OneView } from './one';
import { SlowView } from './slowtable';
import { byOwnTime, frameRows, functionRows, ownShare } from './when';

const KEYS: KeyRow[] = [
	[['←', '→'], 'on a timeline: move the range, with Shift widen it'],
	[['b'], 'on a timeline: range A or B'],
	[['Esc'], 'on a timeline: the whole run'],
	[['j', 'k'], 'next and previous function'],
	[['/'], 'search names of functions'],
];

function whenKey(m: Model): Node[] {
	const isDenied = m.functions.some(f => f.data.isDenied === true);
	const absent = [keySample('unmeasured', m.frame ? 'not measured' : 'not measured, or too few calls were timed'), keySample('idle', 'did not run'),
		...(isDenied && !m.frame ? [keySample('denied', '⊘ not allowed')] : [])];
	if (!m.frame) return [el('span', {}, 'stronger: more of the window'), ...absent];
	return [
		...(m.data.slowNs > 0 ? [el('span', {}, el('span', { class: 'more' }, '◆'), ` frame of ${duration(m.data.slowNs)} or longer`)] : []),
		el('span', {}, '· longest frame of a window'), el('span', {}, '── p99'), el('span', {}, '━━ p50'), ...absent,
	];
}

/** Of a part of those that were kept it is an estimate. */
function slowCount(looked: Looked): (Node | string)[] {
	const { value, error } = looked.slow.count;
	return [exact(value), error > 0 ? el('span', { class: 'pm' }, `${NBSP}±${NBSP}${exact(Math.ceil(error))}`) : ''];
}

class WatchPage {
	private heat: Heat;
	private a: Range = null;
	private b: Range = null;
	private chosen: Watched | null = null;
	private line = el('div', { class: 'read', id: 'hr', 'aria-live': 'polite' });
	private functions: FunctionsView;
	private which = el('b', { id: 'ft' });
	private slow: SlowView | null = null;
	private one: OneView | null = null;
	private search = makeSearch('Search names of functions', () => this.draw(), () => this.heat.element.querySelector('canvas')?.focus());

	constructor(private m: Model) {
		this.heat = this.makeHeat();
		this.makeWhen();
		if (m.frame) this.makeSlow();
		this.functions = new FunctionsView(m, f => this.choose(f));
		this.makeFunctions();
		this.makeOne();
		begin(KEYS, this.search.input);
		addEventListener('keydown', e => this.press(e));
		onChange(() => this.readFragment());
		this.readFragment();
	}

	private shape(): ReturnType<typeof functionRows> {
		return functionRows(this.m);
	}

	private makeHeat(): Heat {
		const { m } = this;
		const rows = m.frame ? frameRows(m, m.frame) : this.shape().rows;
		const heat = new Heat({
			rows, count: m.data.rows, ticks: ticks(m), describedBy: 'hr',
			words: m.frame ? `Frame times, ${m.data.rows} spans.` : `Time of functions, ${m.data.rows} spans.`,
			onRange: (a, b) => this.take(a, b),
		});
		const canvas = heat.element.querySelector('canvas');
		if (canvas) canvas.id = 'hm';
		return heat;
	}

	private makeWhen(): void {
		const { m, heat } = this;
		const setsB = flip('Drag sets B', 'mb', on => { heat.setsB = on; });
		const all = el('button', { type: 'button', id: 'all', onclick: () => heat.clear() }, 'Whole run');
		section('when', 'When', m.frame ? 'Frames over the whole run. Drag for range A, Shift-drag for range B.' : this.describeRun(),
			sheet('', el('div', { class: 'tools' }, el('span', { class: 'key s' }, ...whenKey(m)), el('span', { class: 'grow' }), setsB, all),
				heat.element, this.line, m.frame ? this.frameTwin(m.frame) : this.functionTwin()));
	}

	private describeRun(): string {
		const { shown, most, more, idle } = this.shape();
		if (shown.length === 0) return idle > 0 ? 'None of the watched functions ran. That is a measured 0.' : 'Nothing was watched.';
		const rest = [more > 0 ? `${more} more ran` : '', idle > 0 ? `${idle} never ran` : ''].filter(words => words !== '').join(', ');
		return `Own time of the ${shown.length === 1 ? 'function' : `${shown.length} heaviest functions`} in each window; the strongest is ` +
			`${most > 0 ? measuredShare(most, 0, true).number : 'below the timing floor'}. ${rest ? `${rest}. ` : ''}Drag for range A, Shift-drag for range B.`;
	}

	private frameTwin(f: Watched): HTMLElement {
		const { m } = this;
		const table = new SortedTable({ caption: 'Frame times over time', hidden: true, most: 20 });
		table.element.id = 'ht';
		table.show([{ title: 'from', left: true, plain: true }, { title: 'frames' }, { title: 'p50' }, { title: 'p99' }, { title: 'longest' }, { title: 'slow' }],
			spans(m.data.rows).map(span => {
				const looked = m.look(span), a = looked.frame;
				const isTimed = a !== null && a.timed > 0;
				const nothing = { v: -1, n: a && a.count.value > 0 ? '— not measured' : '' };
				return {
					cells: [rowWords(m, span?.[0] ?? 0), { v: looked.frames, n: exact(looked.frames) }, isTimed ? percentile(f, a.p50) : nothing,
						isTimed ? percentile(f, a.p99) : nothing,
						isTimed ? { v: a.maxNs, n: measuredDuration(a.maxNs, NO_ERROR).number } : nothing,
						{ v: looked.slow.count.value, n: exact(looked.slow.count.value) }],
				};
			}));
		return twin('The frames as a table', table.element);
	}

	private functionTwin(): HTMLElement {
		const { m } = this, { shown } = this.shape();
		const table = new SortedTable({ caption: 'Own time of functions over time', hidden: true, most: 20 });
		table.element.id = 'ht';
		table.show([{ title: 'from', left: true, plain: true }, ...shown.map(f => ({ title: f.data.name }))],
			spans(m.data.rows).map(span => ({
				cells: [rowWords(m, span?.[0] ?? 0), ...shown.map(f => {
					const rows = span ? m.between(f, span[0], span[1]) : [];
					const part = span ? ownShare(m, f, span[0], span[1]) : null;
					if (part !== null) return { v: part, n: measuredShare(part, 0, true).number };
					return rows.length > 0 ? { v: -1, n: '— not measured' } : { v: 0, n: '0' };
				})],
			})));
		return twin('The functions over time as a table', table.element);
	}

	private makeSlow(): void {
		const view = new SlowView(this.m, f => this.choose(f));
		const words = this.m.data.slowNs > 0 ? 'Each with its parts, which are exclusive and add up to the frame.'
			: 'Which frames are slow was not asked for: tare watch --frame FUNC --slow 50ms.';
		this.slow = this.m.data.slowNs > 0 ? view : null;
		section('slow', 'Slow frames', words,
			...(this.slow ? [sheet('', view.key, view.line, el('div', { class: 'wide' }, view.table.element))] : []));
	}

	private makeFunctions(): void {
		const cuts = cutWords(this.m);
		section('functions', 'Functions', 'Calls are exact. Times come from timed calls and carry their 95 % interval. Choose one to see it over time.',
			sheet('', el('div', { class: 'tools' }, this.which, this.search.input, this.search.line, el('span', { class: 'grow' }),
				cuts ? el('span', { class: 's', id: 'cuts' }, cuts) : null), el('div', { class: 'wide' }, this.functions.table.element)));
	}

	private makeOne(): void {
		if (this.m.functions.every(f => f === this.m.frame)) return;
		this.one = new OneView(this.m, section('time', 'One function', ''), (a, b) => {
			this.heat.a = a;
			this.heat.b = b;
			this.heat.draw();
			this.take(a, b);
		});
	}

	private readFragment(): void {
		this.search.readFragment();
		this.heat.readFragment();
		const place = /^\d{1,4}$/.test(get('f')) ? Number(get('f')) : -1;
		const named = this.m.functions[place];
		this.chosen = named && named !== this.m.frame ? named : this.first();
		this.take(this.heat.a, this.heat.b);
		this.heat.draw();
	}

	/** The largest part of a slow frame, else the one with most own time. */
	private first(): Watched | null {
		const shares = this.m.look(null).slow.shares;
		let best = -1;
		shares.forEach((e, i) => { if (e.isKnown && e.value > (shares[best]?.value ?? 0)) best = i; });
		return this.m.functions[best] ?? byOwnTime(this.m)[0] ?? this.m.functions.find(f => f !== this.m.frame) ?? null;
	}

	private choose(f: Watched): void {
		this.chosen = f;
		keep('f', String(this.m.functions.indexOf(f)));
		this.draw();
	}

	private press(e: KeyboardEvent): void {
		const target = e.target as Element | null;
		if (e.ctrlKey || e.metaKey || e.altKey || isBusy() || /^(INPUT|SELECT|TEXTAREA)$/.test(target?.tagName ?? '')) return;
		if (e.key !== 'j' && e.key !== 'k') return;
		const next = this.functions.neighbour(this.chosen, e.key === 'j' ? 1 : -1);
		if (next) this.choose(next);
		e.preventDefault();
	}

	private take(a: Range, b: Range): void {
		this.a = a;
		this.b = b;
		if (this.one) {
			this.one.heat.a = a;
			this.one.heat.b = b;
			this.one.heat.draw();
		}
		this.draw();
	}

	/** What everything below the timeline is of: B where there are two ranges. */
	private draw(): void {
		const before = this.b ? this.m.look(this.a) : null;
		const looked = this.m.look(this.b ?? this.a);
		const expression = this.search.expression();
		const matches = (f: Watched): boolean => !expression || expression.test(f.data.name);
		const lines = before ? [this.say('A', before), this.say('B', looked)] : [this.say(this.a ? 'A' : '', looked)];
		fill(this.line, spaced(lines.map(words => el('div', { class: 'line' }, spaced(words)))));
		fill(this.which, before ? 'B against A' : this.a ? 'A' : 'Whole run');
		this.slow?.show(looked, matches, expression !== null);
		this.functions.show(looked, before, this.chosen, matches, expression !== null);
		if (expression) this.search.say(...matchedWords(this.m, looked, matches));
		if (this.chosen) this.one?.show(this.chosen, looked);
	}

	/** A range in words. */
	private say(name: string, looked: Looked): Node[] {
		const { m } = this;
		const title = el('b', {}, name ? `${name}  ${rangeWords(m, looked.range)}` : 'Whole run');
		if (!m.frame || !looked.frame) return [title, ...this.sayFunctions(looked)];
		const frame = m.frame, a = looked.frame;
		const timed = a.timed > 0 ? [el('span', {}, 'p50 ', ...percentile(frame, a.p50).n), el('span', {}, 'p99 ', ...percentile(frame, a.p99).n),
			el('span', {}, 'longest ', measuredDuration(a.maxNs, NO_ERROR).number)] : [];
		const slow = m.data.slowNs > 0 ? [el('span', {}, '◆ ', ...slowCount(looked), ' slow')] : [];
		return [title, el('span', {}, `${exact(looked.frames)} frames`), ...timed, ...slow];
	}

	private sayFunctions(looked: Looked): Node[] {
		const { m } = this;
		const known = m.functions.map((f, i) => [f, looked.answers[i].ofRun] as const)
			.filter(([f, e]) => f.isFunction && e.isKnown && !(looked.range && f.data.isPooled)).sort((x, y) => y[1].value - x[1].value);
		const calls = looked.answers.reduce((sum, a, i) => sum + (m.functions[i].isFunction ? a.count.value : 0), 0);
		return [el('span', {}, `${exact(calls)} calls`), ...known.slice(0, 3).map(([f, e]) =>
			el('span', {}, el('span', { class: 'm' }, f.data.name), ' ', ...wordNodes(measuredShare(e.value, e.error, e.hasError))))];
	}
}

start(() => { new WatchPage(new Model(readData<WatchData>())); });
