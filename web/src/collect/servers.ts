// servers.ts - servers, turn slots, runs that did not go through, waits: tables of the whole run.
import { type Child, el, svg } from '../common/dom';
import { hatch, none, pen } from '../common/looks';
import { exact, exactShare, fixed, NBSP, size } from '../common/numbers';
import { section, sheet, twin } from '../common/page';
import { type AnyCell, table } from '../common/table';
import { onRedraw, tok } from '../common/theme';
import { whisker } from '../common/whisker';
import type { Fleet, Server, Turns } from './model';
import { ago, moment, spent } from './view';

const MARKS = 60;
const MARK_WORDS: Record<string, string> = { v: 'visit', c: 'with a capture', x: 'failed', '-': 'not begun', '.': 'none' };

/** A mark a visit: tall with a capture, hollow when it failed, a hole when there was none. */
function visits(s: Server): SVGSVGElement {
	const count = new Map<string, number>();
	for (const m of s.marks) count.set(m, (count.get(m) ?? 0) + 1);
	const words = [...count].map(([m, n]) => `${n} ${MARK_WORDS[m] ?? ''}`).join(', ');
	const g = svg('svg', { width: MARKS * 3, height: 14, viewBox: `0 0 ${MARKS * 3} 14`, role: 'img', 'aria-label': `last visits: ${words || 'none'}` });
	const from = MARKS - s.marks.length;
	[...s.marks].forEach((m, i) => {
		const x = (from + i) * 3;
		if (m === 'x' || m === '-')
			g.append(svg('rect', { x: x + 0.5, y: 2.5, width: 2, height: 9, fill: 'none', stroke: 'var(--stop)', 'stroke-width': 1 }));
		else if (m === 'v' || m === 'c')
			g.append(svg('rect', { x, y: m === 'c' ? 1 : 4, width: 2, height: m === 'c' ? 12 : 6, fill: m === 'c' ? 'var(--ink)' : 'var(--edge)' }));
	});
	return g;
}

function state(s: Server): AnyCell {
	if (s.visits > 0 && s.well === 0) return { v: '0', n: [el('span', { class: 'tag bad' }, 'not reached'), ' ', s.reason ?? ''] };
	if (s.well < s.visits)
		return { v: '1', n: [el('span', { class: 'tag bad' }, `${exact(s.visits - s.well)} failed`), ' ', s.reason ?? ''] };
	if (s.refused > 0) return { v: '2', n: el('span', { class: 'deny' }, `⊘ not allowed: ${exact(s.refused)} runs`) };
	if (s.hidden > 0)
		return { v: '3', n: [el('span', { class: 'deny' }, '⊘ not allowed'), ` statements of others: ${exactShare(s.hidden, s.time)}`] };
	return { v: '9', n: 'in time' };
}

function priceCell(s: Server): AnyCell {
	if (s.price === undefined) return { v: -1, n: none('not measured') };
	const percent = s.price * 100;
	return { v: percent, n: percent < 0.005 ? `under 0.01${NBSP}%` : `${fixed(percent, 2)}${NBSP}%` };
}

/** Owed first, then those that are not well, then by statement time. */
function order(list: Server[]): Server[] {
	const rank = (s: Server) => s.owed !== undefined ? 0 : s.well < s.visits ? 1 : 2;
	return [...list].sort((a, b) => rank(a) - rank(b) || (a.owed ?? 0) - (b.owed ?? 0) || b.time - a.time);
}

function serverCells(f: Fleet, s: Server, most: number): AnyCell[] {
	const now = f.now ?? 0;
	return [
		{ v: s.server, n: el('span', { class: 'm' }, s.server) },
		{ v: s.version, n: s.version.split(' ')[0] || none('never reached') },
		s.seat === undefined ? { v: -1, n: none('has left') } : { v: s.seat, n: s.seat },
		visits(s),
		s.last == null ? { v: Infinity, n: '' } : { v: now - s.last, n: ago(now - s.last) },
		s.owed === undefined ? { v: 0, n: '0' } : { v: now - s.owed, n: el('span', { class: 'tag bad' }, `▲ owed since ${moment(s.owed)}`) },
		s.captured == null ? { v: Infinity, n: none('not yet') } : { v: now - s.captured, n: ago(now - s.captured) },
		priceCell(s),
		s.price === undefined ? '' : whisker(s.price * 100, 0, most, { width: 90, limit: 1 }),
		s.well === 0 ? { v: -1, n: none('not measured') } : { v: s.time, n: spent(s.time) },
		s.well === 0 ? '' : { v: s.plans, n: `${exact(s.plans)} of ${exact(s.statements)}` },
		state(s),
	];
}

/** What collecting took, server by server: the ledger has it by reading. */
function costs(f: Fleet): HTMLElement {
	return twin('What collecting took, server by server', table([{ title: 'server', left: true }, { title: 'visits' }, { title: 'on the server' },
		{ title: 'a visit' }, { title: 'price' }, { title: 'our CPU' }, { title: 'bytes' }],
	f.servers.map(s => ({ cells: [{ v: s.server, n: el('span', { class: 'm' }, s.server) }, { v: s.visits, n: exact(s.visits) }, { v: s.took, n: spent(s.took) },
		{ v: s.visits > 0 ? s.took / s.visits : 0, n: s.visits > 0 ? spent(s.took / s.visits) : '' }, priceCell(s), { v: s.own, n: spent(s.own) },
		{ v: s.bytes, n: size(s.bytes) }] })),
	{ by: 2, caption: 'Cost of collecting by server', hidden: true, most: 40 }));
}

export function servers(f: Fleet): void {
	const most = Math.max(1.2, ...f.servers.map(s => (s.price ?? 0) * 110));
	section('servers', 'Servers', 'A mark a visit, the last 60; of the whole run. What is owed comes first.', sheet('', el('div', { class: 'wide' }, table([
		{ title: 'server', left: true }, { title: 'release', left: true, look: 'hide' }, { title: 'seat', look: 'hide' },
		{ title: 'visits · tall: with a capture', plain: true, left: true }, { title: 'last' }, { title: 'owed' }, { title: 'captured' },
		{ title: 'price' }, { title: '', plain: true, look: 'w l hide' }, { title: 'statement time' }, { title: 'plans' },
		{ title: 'state', left: true, look: 'tx' }],
	order(f.servers).map(s => ({ cells: serverCells(f, s, most) })),
	{ caption: 'Servers', hidden: true, most: 60, empty: 'No server is in this store yet.' })), f.servers.length > 0 ? costs(f) : null,
	f.serversLeftOut > 0 ? el('p', { class: 'read' }, `${exact(f.serversLeftOut)} more are not in this page, for its size: tare report --all`) : null));
}

/* ---- turn slots ---- */

const TURNS_HEIGHT = 120;
const TURNS_FOOT = 16;

function drawTurns(canvas: HTMLCanvasElement, t: Turns): void {
	const [c, w] = pen(canvas, TURNS_HEIGHT);
	const most = Math.max(t.most, ...t.captures.map(([s, o, m]) => s + o + m), 1);
	const h = (TURNS_HEIGHT - TURNS_FOOT - 6) / most, y = (n: number) => TURNS_HEIGHT - TURNS_FOOT - n * h, width = w / t.captures.length;
	c.font = `11px ${tok('sans')}`;
	c.textAlign = 'center';
	t.captures.forEach(([scheduled, owed, missed], i) => {
		const x = i * width + 1, bar = Math.max(1, width - 4);
		c.fillStyle = tok('edge');
		c.fillRect(x, y(scheduled), bar, scheduled * h);
		if (owed > 0) {
			c.fillStyle = hatch(c, tok('ink'), '/');
			c.fillRect(x, y(scheduled + owed), bar, owed * h);
			c.strokeStyle = tok('ink');
			c.strokeRect(x + 0.5, y(scheduled + owed) + 0.5, bar - 1, owed * h - 1);
		}
		if (missed > 0) {
			c.strokeStyle = tok('stop');
			c.setLineDash([2, 2]);
			c.strokeRect(x + 0.5, y(scheduled + owed + missed) + 0.5, bar - 1, missed * h - 1);
			c.setLineDash([]);
		}
		c.fillStyle = tok('soft');
		c.fillText(String(scheduled + owed), x + bar / 2, TURNS_HEIGHT - 4);
	});
	c.strokeStyle = tok('stop');
	c.setLineDash([4, 3]);
	c.beginPath();
	c.moveTo(0, y(t.most));
	c.lineTo(w, y(t.most));
	c.stroke();
	c.setLineDash([]);
}

export function turns(f: Fleet): void {
	const t = f.turns;
	if (!t) {
		section('turns', 'Turn slots', 'Captures in each slot.', sheet('', el('p', { class: 'read' },
			'The collector has not written its minute yet: its turn slots are not known.')));
		return;
	}
	const canvas = el('canvas', { role: 'img', 'aria-label': `Captures in each of the last ${t.captures.length} turn slots; the table below holds the same numbers.` });
	onRedraw(() => drawTurns(canvas, t));
	const label = el('li', {}, 'captures a slot');
	const labels = el('ul', { 'aria-hidden': 'true' }, label);
	labels.style.paddingTop = '40px';
	section('turns', 'Turn slots',
		`Captures in each of the last ${t.captures.length} slots of ${t.cycles === 1 ? 'one cycle' : `${t.cycles} cycles`}; one slot in ${t.oneIn} is a server's. The line is the most that a slot may hold, ${t.most}.`,
		sheet('', el('div', { class: 'heat' }, labels, el('div', { class: 'plot' }, canvas)),
			el('div', { class: 'read' }, el('span', {}, '■ scheduled'), el('span', {}, '▨ owed, made up'), el('span', {}, '□ tried, not done')),
			twin('The turn slots as a table', table([{ title: 'slot', left: true }, { title: 'scheduled' }, { title: 'owed, made up' }, { title: 'tried, not done' }],
				t.captures.map(([s, o, m], i) => ({ cells: [{ v: i, n: moment(t.from + i * t.slot, t.slot < 60000) }, s, o, m] })),
				{ most: 40, caption: 'Captures a turn slot', hidden: true }))));
}

/* ---- runs and waits ---- */

function when(f: Fleet, at: number): string {
	return moment(at, f.slot < 3600000);
}

export function runs(f: Fleet): void {
	const unmeasured = (us: number | undefined): AnyCell => us === undefined ? { v: -1, n: none('not measured') } : { v: us, n: spent(us) };
	section('runs', 'Runs', 'What did not go through, newest first; the same one behind the other is one row.', sheet('wide', table([
		{ title: 'last', left: true }, { title: 'server', left: true }, { title: 'reading', left: true }, { title: 'result', left: true }, { title: 'runs' },
		{ title: 'on the server', look: 'hide' }, { title: 'in the store', look: 'hide' }, { title: 'reason', left: true, look: 'tx' }],
	f.runs.map(r => ({ cells: [
		{ v: -r.at, n: when(f, r.at) }, { v: r.server, n: el('span', { class: 'm' }, r.server) }, r.reading,
		{ v: r.outcome, n: el('span', { class: 'tag bad' }, r.outcome.toUpperCase()) }, { v: r.count, n: exact(r.count) },
		unmeasured(r.took), unmeasured(r.store),
		{ v: r.reason, n: [r.sqlstate ? `${r.sqlstate} ` : '', r.reason, r.due ? '; its capture stays due' : '',
			r.count > 1 ? `; since ${when(f, r.first)}` : ''] as Child[] },
	] })), { caption: 'Run log', hidden: true, empty: 'Every run went through.' }),
	f.runsLeftOut > 0 ? el('p', { class: 'read' }, `${exact(f.runsLeftOut)} older runs are not in this page, for its size.`) : null));
}

export function waits(f: Fleet): void {
	if (f.waits.length === 0) return;
	section('waits', 'Waits', 'Backends that did something, by what they waited for, on average of all looks.', sheet('wide', table([
		{ title: 'server', left: true }, { title: 'waiting for', left: true }, { title: 'backends' }, { title: 'seen' }, { title: 'looks' }],
	f.waits.map(w => ({ cells: [
		{ v: w.server, n: el('span', { class: 'm' }, w.server) },
		w.type === '' ? 'nothing: on CPU or ready for it' : { v: w.type, n: el('span', { class: 'm' }, `${w.type} ${w.event}`.trim()) },
		{ v: w.seen / w.looks, n: fixed(w.seen / w.looks, 2) }, { v: w.seen, n: exact(w.seen) }, { v: w.looks, n: exact(w.looks) }] })),
	{ by: 2, caption: 'Waits', hidden: true }),
	f.waitsLeftOut > 0 ? el('p', { class: 'read' }, `${exact(f.waitsLeftOut)} more are not in this page, for its size.`) : null));
}
