// fleet.ts - the page of a fleet: its sections, and what joins them.
import { $, el } from '../common/dom';
import { get, keep, onChange } from '../common/fragment';
import { begin, isBusy } from '../common/keys';
import { readData } from '../common/page';
import { makeSearch } from '../common/search';
import type { Fleet } from './model';
import { leftOut, Plans, type Viewer } from './plan';
import { runs, servers, turns, waits } from './servers';
import { statements } from './statements';
import { View } from './view';
import { when } from './when';

/** The statement whose plans are shown first: the one whose change is told, one that changed, one with a plan. */
function first(f: Fleet): number {
	const isTold = f.lines.findIndex(l => l.told), changed = f.lines.findIndex(l => l.changed != null && l.planned != null);
	const planned = f.lines.findIndex(l => l.planned != null);
	return [isTold, changed, planned, 0].find(i => i >= 0) ?? 0;
}

function readLine(v: View): void {
	const s = get('s');
	v.line = /^\d{1,6}$/.test(s) && Number(s) < v.statements ? Number(s) : first(v.fleet);
}

function step(v: View, by: number): void {
	const next = v.line + by;
	if (next < 0 || next >= v.statements) return;
	v.line = next;
	v.tell();
}

/** `viewer`: what draws whole plans, in pages that hold some. */
export function run(viewer: Viewer | null): void {
	const f = readData<Fleet>(), v = new View(f);
	const search = makeSearch('Search statements, servers and databases', () => {
		v.expression = search.expression();
		v.tell();
	}, () => $('#statements').querySelector<HTMLElement>('tbody button')?.focus());

	search.readFragment();
	v.expression = search.expression();
	const heat = when(v);
	readLine(v);
	statements(v, search);
	if (v.statements > 0) new Plans(v, viewer);
	servers(f);
	turns(f);
	waits(f);
	runs(f);
	const missing = leftOut(v);
	if (missing) $('#charts').append(el('p', { class: 'what' }, missing));
	v.onChange(() => keep('s', v.line === first(f) ? '' : String(v.line)));
	onChange(() => {
		search.readFragment();
		v.expression = search.expression();
		readLine(v);
		if (heat) {
			heat.readFragment();
			heat.tell();
		} else v.tell();
	});
	begin([
		[['/'], 'search; Esc leaves it empty'],
		[['j', 'k'], 'the next statement, the one before'],
		[['←', '→'], 'on the timeline: move the range; with Shift widen it'],
		[['b'], 'on the timeline: range A or B'],
		[['Esc'], 'on the timeline: the whole run'],
	], search.input);
	addEventListener('keydown', e => {
		if (isBusy() || e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement) return;
		if (e.key === 'j' || e.key === 'k') step(v, e.key === 'j' ? 1 : -1);
	});
	v.tell();
}
