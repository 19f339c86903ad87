// slowtable.ts - slow frames of a range, each with what it was made of. Parts are exclusive and add up to the frame.
import { el, fill, spaced } from '../common/dom';
import { measuredDuration, measuredShare, NO_ERROR, wordNodes } from '../common/measured';
import { duration, exact, NBSP } from '../common/numbers';
import { type Row, SortedTable } from '../common/table';
import type { SlowFrame } from './decode';
import type { Estimate } from './estimate';
import type { Looked, Model, Watched } from './model';
import { second } from './moments';

const COLOURS = 7; // t0 … t6; t7 is what is left of the watched ones
const MOST_ROWS = 10;
const LEAST_SHOWN = 0.004;
const LEAST_LABELLED = 0.07;
const LEADERS = 4;

/** A part of a frame: a function's place, or one of two that are none. */
const FURTHER = -1, OTHER = -2;

function percent(part: number): string {
	const value = part * 100;
	return part > 0 && value < 0.5 ? `under${NBSP}1${NBSP}%` : `${value.toFixed(0)}${NBSP}%`;
}

export class SlowView {
	readonly key = el('div', { class: 'tools s key', id: 'sk' });
	readonly line = el('div', { class: 'read', id: 'sr' });
	readonly table: SortedTable;
	private colours = new Map<number, string>();
	private coloured: number[];

	constructor(private m: Model, private choose: (f: Watched) => void) {
		this.table = new SortedTable({
			caption: 'Slow frames', hidden: true, by: 1, most: MOST_ROWS,
			empty: `No frame over ${duration(m.data.slowNs)} in this range. That is a measured 0.`,
		});
		this.table.element.id = 'sl';
		const shares = m.look(null).slow.shares;
		this.coloured = shares.map((e, i) => [e.isKnown ? e.value : 0, i] as const).filter(([value]) => value > 0)
			.sort((a, b) => b[0] - a[0]).slice(0, COLOURS).map(([, i]) => i);
		this.coloured.forEach((place, i) => this.colours.set(place, `var(--t${i})`));
		this.fillKey();
	}

	private fillKey(): void {
		const sample = (colour: string, words: string): Node => {
			const box = el('i');
			box.style.background = colour;
			return el('span', {}, box, words);
		};
		fill(this.key, ...this.coloured.map(place => sample(this.colours.get(place) ?? '', this.nameOf(place))),
			sample('var(--t7)', 'further functions'), sample('var(--sheet)', 'in no watched function'));
	}

	private nameOf(place: number): string {
		return place === OTHER ? 'in no watched function' : this.m.functions[place]?.data.name ?? 'further functions';
	}

	/** Parts of a frame, largest first; those without a colour of their own are one. */
	private partsOf(frame: SlowFrame): { place: number; part: number }[] {
		const out: { place: number; part: number }[] = [];
		let further = frame.restNs;
		for (const { place, ownNs } of frame.parts) {
			if (this.colours.has(place)) out.push({ place, part: ownNs / frame.durationNs });
			else further += ownNs;
		}
		out.push({ place: FURTHER, part: further / frame.durationNs }, { place: OTHER, part: frame.otherNs / frame.durationNs });
		return out.filter(({ part }) => part > 0);
	}

	private stack(frame: SlowFrame, isHit: (place: number) => boolean): HTMLElement {
		const parts = this.partsOf(frame);
		const bar = el('div', {
			class: 'stack', role: 'img', 'aria-label': parts.map(({ place, part }) => `${this.nameOf(place)} ${percent(part)}`).join(', '),
		});
		for (const { place, part } of parts) {
			if (part < LEAST_SHOWN) continue;
			const piece = el('span', { class: isHit(place) ? 'hit' : null, title: `${this.nameOf(place)} ${percent(part)}` },
				part > LEAST_LABELLED ? percent(part) : '');
			piece.style.flexGrow = String(part);
			piece.style.background = place === OTHER ? 'var(--sheet)' : this.colours.get(place) ?? 'var(--t7)';
			bar.append(piece);
		}
		return bar;
	}

	private row(frame: SlowFrame, isHit: (place: number) => boolean): Row {
		const largest = frame.parts[0], f = largest ? this.m.functions[largest.place] : undefined;
		const part = largest ? largest.ownNs / frame.durationNs : 0;
		const name = f ? el('button', { type: 'button', class: 'm link' }, f.data.name) : this.nameOf(largest ? FURTHER : OTHER);
		const row: Row = {
			cells: [
				{ v: frame.startNs, n: second(this.m, frame.startNs) },
				{ v: frame.durationNs, n: measuredDuration(frame.durationNs, NO_ERROR).number },
				this.stack(frame, isHit), { v: f?.data.name ?? '', n: name },
				{ v: part, n: largest ? percent(part) + (frame.isScaled ? ', scaled' : '') : '' },
			],
		};
		return f ? { ...row, choose: () => this.choose(f) } : row;
	}

	show(looked: Looked, matches: (f: Watched) => boolean, isSearched: boolean): void {
		const isHit = (place: number): boolean => isSearched && place >= 0 && matches(this.m.functions[place]);
		const frames = looked.slow.kept.filter(frame => !isSearched || frame.parts.some(({ place }) => isHit(place)));
		this.table.show([{ title: 'when', left: true }, { title: 'length' }, { title: 'parts', left: true, plain: true },
			{ title: 'largest', left: true, look: 'hide' }, { title: 'its part', look: 'hide' }], frames.map(frame => this.row(frame, isHit)));
		fill(this.line, spaced(this.say(looked)));
	}

	/** "43 slow frames. Of them: findPath 56 % ± 3 ..." */
	private say(looked: Looked): (Node | string)[] {
		const { slow } = looked;
		if (slow.kept.length === 0) return [el('span', {}, this.count(slow.count))];
		const parts: [number, Estimate][] = [...slow.shares.map((e, i): [number, Estimate] => [i, e]), [OTHER, slow.unnamed]];
		const leaders = parts.filter(([, e]) => e.isKnown && e.value > 0).sort((a, b) => b[1].value - a[1].value).slice(0, LEADERS);
		const isPart = slow.kept.length < slow.count.value;
		return [
			el('b', {}, this.count(slow.count)), isPart ? el('span', {}, `${exact(slow.kept.length)} of them kept`) : '',
			el('span', {}, slow.isAtLeast ? 'of a slow frame, at least:' : 'of a slow frame:'),
			...leaders.map(([place, e]) => el('span', {}, el('span', { class: place === OTHER ? null : 'm' }, this.nameOf(place)), ' ',
				...wordNodes(measuredShare(e.value, e.error, e.hasError || slow.kept.length === 1)))),
		].filter(child => child !== '');
	}

	private count(e: Estimate): string {
		const words = `${exact(e.value)}${e.error > 0 ? `${NBSP}±${NBSP}${exact(Math.ceil(e.error))}` : ''}`;
		return `${words} slow frame${Math.round(e.value) === 1 ? '' : 's'}`;
	}
}
