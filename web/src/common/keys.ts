// keys.ts - the keys of the page and the dialog that lists them.
import { $, el } from './dom';
import { toggle } from './theme';

/** Keys and what they do, for the dialog. */
export type KeyRow = readonly [string[], string];

let dialog: HTMLDialogElement | null = null;

function makeDialog(rows: KeyRow[]): HTMLDialogElement {
	const d = el('dialog', { 'aria-labelledby': 'keys-title' },
		el('h2', { id: 'keys-title' }, 'Keys'),
		el('dl', {}, ...rows.flatMap(([keys, words]) => [
			el('dt', {}, ...keys.flatMap((k, i) => [i > 0 ? ' ' : '', el('kbd', {}, k)])),
			el('dd', {}, words)])),
		el('button', { type: 'button', onclick: () => d.close() }, 'Close'));
	return d;
}

function isTyped(e: KeyboardEvent): boolean {
	const target = e.target as Element | null;
	return e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target?.tagName ?? '');
}

/** Puts the two buttons into the bar, the dialog into the page, and listens. `search`: the box that "/" goes to. */
export function begin(rows: KeyRow[], search: HTMLInputElement | null): void {
	const shown = dialog = makeDialog([...rows, [['?'], 'this list']]);
	document.body.append(shown);
	$('.bar').append(
		el('button', { type: 'button', id: 'help', 'aria-label': 'Keys', onclick: () => shown.showModal() }, '?'),
		el('button', { type: 'button', id: 'theme', onclick: toggle }, 'Light / dark'));
	addEventListener('keydown', e => {
		if (isTyped(e) || shown.open) return;
		if (e.key === '?') shown.showModal();
		else if (e.key === '/' && search) search.focus();
		else return;
		e.preventDefault();
	});
}

/** Is the dialog over the page? Then its keys rest. */
export function isBusy(): boolean {
	return dialog?.open ?? false;
}
