// statements.ts - the table of statements and procedures for the chosen range.
import { type Child, el } from '../common/dom';
import { deny, none } from '../common/looks';
import { duration, exact, exactShare, pm } from '../common/numbers';
import { section, sheet } from '../common/page';
import type { Search } from '../common/search';
import { type AnyCell, type Column, type Row, SortedTable } from '../common/table';
import { axis, whisker } from '../common/whisker';
import type { Line } from './model';
import { type Change, change, nothing, type Range, type Series, type Share, sum, thirds } from './shares';
import { ago, each, largeCount, spent, timesWords, type View } from './view';

const ROWS = 16;
const ROWS_FOUND = 60;
const EXACT = 0.00005;

/** As fleet_time_put_share(): without an error it is exact. */
export function shareNodes(s: Share): Child[] {
	if (s.value <= 0) return ['0'];
	if (s.error < EXACT) return [exactShare(Math.round(s.value * 1e9), 1e9)];
	return pm({ ...s, coarse: false }, 1e9);
}

function changeCell(c: Change | null): AnyCell {
	if (!c) return { v: -1, n: none('cannot know', 'no calls on one side') };
	if (!c.sure) return { v: c.times, n: el('span', { class: 'pm' }, 'not distinguishable') };
	return { v: c.times, n: el('span', { class: c.times > 1 ? 'more' : 'less' }, timesWords(c)) };
}

function planCell(v: View, line: Line): AnyCell {
	if (line.kind === 'function') return { v: '~', n: '' };
	if (line.kind === 'hidden') return { v: '~', n: deny('needs pg_read_all_stats') };
	if (line.planned == null)
		return line.why ? { v: '~' + line.why, n: none(`none: ${line.why}`, line.reason) } : { v: '~', n: none('not asked yet') };
	const age = Math.max(0, (v.fleet.now ?? 0) - line.planned);
	return { v: age, n: [line.changed != null ? el('span', { class: 'tag' }, 'changed') : null, ' ', ago(age)] };
}

/** Range A against range B where both are chosen; else the first third of the range against the last. */
function sides(v: View): [Range, Range] | null {
	return v.a && v.b ? [v.a, v.b] : thirds(v.range());
}

function numbers(v: View, s: Series, got: Share, most: number, between: [Range, Range] | null): AnyCell[] {
	const t = sum(s, v.range());
	return [
		{ v: got.value, n: shareNodes(got) },
		got.error < 1 && got.value > 0 ? whisker(got.value * 100, got.error < EXACT ? 0 : got.error * 100, most, { width: 110, colour: 'run' }) : '',
		{ v: t.us, n: t.us === 0 && t.unknown > 0 ? none('cannot know', 'its differences could not be taken') : spent(t.us) },
		{ v: t.calls, n: largeCount(t.calls) },
		{ v: t.calls > 0 ? t.us / t.calls : 0, n: each(t.us, t.calls) },
		between ? changeCell(change(s, ...between)) : '',
	];
}

function columns(v: View): Column[] {
	return [
		{ title: 'statement or procedure', left: true }, { title: 'server', left: true }, { title: 'database', left: true, look: 'hide' },
		{ title: 'share' }, { title: '', plain: true, look: 'w l hide' }, { title: 'time' }, { title: 'calls' }, { title: 'a call' },
		{ title: v.a && v.b ? 'a call, B against A' : 'last third against first', hint: 'told only when it is larger than the spread between slots' },
		{ title: 'plan', left: true },
	];
}

function restRow(v: View, most: number, between: [Range, Range] | null): Row | null {
	const count = v.fleet.statements - v.statements;
	if (count <= 0 || v.expression) return null;
	const cells = numbers(v, v.rest, v.shareOf(v.rest, v.range()), most, null);
	return { cells: [`all other, ${exact(count)}`, '', '', ...cells.slice(0, 5), between ? '' : '', ''] };
}

/** The total of what matches; a procedure's time is inside of statements', and is not added. */
function sayFound(v: View, search: Search, found: number[]): void {
	if (!v.expression) {
		search.say();
		return;
	}
	const joined = nothing(v.fleet.slots);
	for (const i of found) {
		if (v.fleet.lines[i].kind === 'function') continue;
		for (let k = 0; k < v.fleet.slots; k++) {
			joined.us[k] += v.lines[i].us[k];
			joined.calls[k] += v.lines[i].calls[k];
		}
	}
	search.say('matched ', ...shareNodes(v.shareOf(joined, v.range())), ` in ${found.length} of ${v.fleet.lines.length}`);
}

export function statements(v: View, search: Search): void {
	const list = new SortedTable({ by: 3, most: ROWS, caption: 'Statements and procedures by time', hidden: true,
		empty: v.fleet.lines.length === 0 ? 'No statement ran in this span. That is a measured 0 where servers were visited.'
			: 'No statement matches. The search looks at names, servers and databases.' });

	function show(): void {
		const found = v.fleet.lines.map((_, i) => i).filter(i => v.matches(v.fleet.lines[i]));
		const shares = found.map(i => v.share(i, v.range()));
		const most = axis(shares.map(s => s.value * 100)), between = sides(v);
		const rows: Row[] = found.map((i, k) => {
			const line = v.fleet.lines[i];
			const choose = () => {
				v.line = i;
				v.tell();
			};
			return {
				selected: i === v.line && line.kind !== 'function',
				cells: [
					{ v: line.name, n: line.kind === 'function'
						? [el('span', { class: 'm', title: line.name }, line.name), ' ', el('span', { class: 'tag' }, 'procedure')]
						: el('button', { type: 'button', class: 'm', title: line.name, onclick: choose }, line.name) },
					{ v: v.server(line), n: el('span', { class: 'm' }, v.server(line)) },
					{ v: line.database, n: el('span', { class: 'm' }, line.database) },
					...numbers(v, v.lines[i], shares[k], most, between), planCell(v, line)],
			};
		});
		const rest = restRow(v, most, between);
		list.show(columns(v), rest ? [...rows, rest] : rows, v.expression ? ROWS_FOUND : ROWS);
		sayFound(v, search, found);
	}
	v.onChange(show);
	section('statements', 'Statements', 'Differences of counters, exact where covered. Procedures by their own time, which is inside that of statements.',
		sheet('', el('div', { class: 'tools' }, search.input, search.line), el('div', { class: 'wide' }, list.element)));
}

/** For the caption of one statement. */
export function longest(line: Line): string {
	return line.longest ? `the longest call took ${duration(line.longest * 1000)}` : '';
}
