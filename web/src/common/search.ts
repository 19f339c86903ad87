// search.ts - a box for a regular expression, one for graph and table. A bad one says so and the last good one stays.
import { type Child, el, fill } from './dom';
import { get, keep } from './fragment';

const MOST_CHARS = 200;

export interface Search {
	/** The box, and the line beside it. */
	input: HTMLInputElement;
	line: HTMLElement;
	/** Null: nothing is looked for. */
	expression(): RegExp | null;
	/** Writes what was found beside the box. */
	say(...words: Child[]): void;
	/** Takes the fragment's words. */
	readFragment(): void;
}

/** `onChange` is called with each new good expression; `leave` when the reader is done with the box. */
export function makeSearch(words: string, onChange: () => void, leave: () => void): Search {
	let good: RegExp | null = null;
	const line = el('span', { class: 's', 'aria-live': 'polite', id: 'matched' });
	const input = el('input', {
		type: 'search', placeholder: 'Search, regular expression', 'aria-label': words, maxLength: MOST_CHARS, id: 'search',
		autocomplete: 'off',
	});
	input.spellcheck = false;

	function take(): void {
		let next: RegExp | null = null;
		try {
			next = input.value === '' ? null : new RegExp(input.value, 'i');
			input.setCustomValidity('');
		} catch {
			input.setCustomValidity('not a regular expression');
			fill(line, 'not a regular expression');
			return;
		}
		good = next;
		keep('q', input.value);
		if (!good) fill(line);
		onChange();
	}
	input.oninput = take;
	input.onkeydown = e => {
		if (e.key === 'Escape') {
			input.value = '';
			take();
			leave();
		} else if (e.key === 'Enter') leave();
		else return;
		e.preventDefault();
	};
	return {
		input, line,
		expression: () => good,
		say: (...children) => fill(line, ...children),
		readFragment: () => {
			input.value = get('q').slice(0, MOST_CHARS);
			try {
				good = input.value === '' ? null : new RegExp(input.value, 'i');
			} catch {
				good = null;
				input.value = '';
			}
		},
	};
}
