// page.ts - begins a page: the head was painted already, the charts follow it.
import { $, type Child, el } from './dom';
import * as theme from './theme';
import { fillWhiskers } from './whisker';

/** The block of JSON that the program put into the page. */
export function readData<T>(): T {
	return JSON.parse($('#data').textContent ?? '') as T;
}

/** A section of the page between head and findings, with its link in the bar. */
export function section(id: string, title: string, words: Child, ...children: Child[]): HTMLElement {
	const made = el('section', { id }, el('header', {}, el('h2', {}, title), el('p', {}, words)), ...children);
	$('#charts').append(made);
	$('#sections').insertBefore(el('a', { href: `#${id}` }, title), $('#sections a[href="#findings"]'));
	return made;
}

/** A panel. */
export function sheet(look: string, ...children: Child[]): HTMLElement {
	return el('div', { class: `sheet ${look}`.trim() }, ...children);
}

/** A table that belongs to a chart, folded away until it is wanted; printing opens it. */
export function twin(words: string, table: HTMLElement): HTMLDetailsElement {
	return el('details', {}, el('summary', {}, words), el('div', { class: 'wide' }, table));
}

/** Buttons of which one is pressed. */
export function choice<T extends string>(
	words: string, options: readonly (readonly [T, string])[], first: T, choose: (value: T) => void,
): { element: HTMLElement; press(value: T): void; mark(value: T): void; value(): T } {
	let now = first;
	const buttons = options.map(([value, title]) =>
		el('button', { type: 'button', 'aria-pressed': String(value === first), 'data-value': value, onclick: () => press(value) }, title));
	/** Shows that it is chosen, and tells nobody. */
	function mark(value: T): void {
		now = value;
		buttons.forEach(b => b.setAttribute('aria-pressed', String(b.dataset.value === value)));
	}
	function press(value: T): void {
		mark(value);
		choose(value);
	}
	return { element: el('span', { class: 'seg', role: 'group', 'aria-label': words }, ...buttons), press, mark, value: () => now };
}

/** A button that is on or off. */
export function flip(title: string, id: string, turn: (on: boolean) => void): HTMLButtonElement {
	const b = el('button', { type: 'button', id, 'aria-pressed': 'false' }, title);
	b.onclick = () => {
		const on = b.getAttribute('aria-pressed') !== 'true';
		b.setAttribute('aria-pressed', String(on));
		turn(on);
	};
	return b;
}

/** Printing opens what is folded, and folds it again. */
function openForPrint(): void {
	let opened: HTMLDetailsElement[] = [];
	addEventListener('beforeprint', () => {
		opened = [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')];
		opened.forEach(d => { d.open = true; });
	});
	addEventListener('afterprint', () => opened.forEach(d => { d.open = false; }));
}

/** Goes to a section without touching the fragment, which holds what is chosen. */
function goTo(id: string): boolean {
	const target = id === '' || id.includes('=') ? null : document.getElementById(id);
	if (!target) return false;
	target.tabIndex = -1;
	target.focus({ preventScroll: true });
	target.scrollIntoView();
	return true;
}

function followLinks(): void {
	document.addEventListener('click', e => {
		const link = e.target instanceof Element ? e.target.closest('a[href^="#"]') : null;
		if (link && goTo((link.getAttribute('href') ?? '').slice(1))) e.preventDefault();
	});
}

/** Calls `draw` once the head is painted; a failure of the script is said where the charts would be. */
export function start(draw: () => void): void {
	theme.begin();
	openForPrint();
	followLinks();
	requestAnimationFrame(() => setTimeout(() => {
		try {
			fillWhiskers();
			draw();
			theme.redraw();
			$('#charts').dataset.state = 'drawn';
			goTo(location.hash.slice(1));
		} catch (e) {
			$('#charts').prepend(el('p', { class: 'what', role: 'alert' }, 'The charts cannot be drawn: ', String(e)));
			throw e;
		}
	}));
}
