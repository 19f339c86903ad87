// theme.ts - light or dark: the system's, unless the reader or the fragment says otherwise. Charts read the tokens of the style.
import { get, keep } from './fragment';

const dark = matchMedia('(prefers-color-scheme: dark)');
const cache = new Map<string, string>();
const redraws: (() => void)[] = [];

/** A token of the style, "ink"; the same until the theme changes. */
export function tok(name: string): string {
	let value = cache.get(name);
	if (value === undefined) {
		value = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
		cache.set(name, value);
	}
	return value;
}

/** Calls this whenever what charts look like has changed: theme, size. */
export function onRedraw(draw: () => void): void {
	redraws.push(draw);
}

export function redraw(): void {
	redraws.forEach(draw => draw());
}

/** What charts have cached of the old theme goes. */
const forgets: (() => void)[] = [() => cache.clear()];
export function onTheme(forget: () => void): void {
	forgets.push(forget);
}

function changed(): void {
	forgets.forEach(forget => forget());
	redraw();
}

export function isDark(): boolean {
	const chosen = document.documentElement.dataset.theme;
	return chosen ? chosen === 'dark' : dark.matches;
}

function choose(theme: string): void {
	if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
	changed();
}

export function toggle(): void {
	const theme = isDark() ? 'light' : 'dark';
	choose(theme);
	keep('theme', theme);
}

export function begin(): void {
	choose(get('theme'));
	dark.addEventListener('change', changed);
	matchMedia('(prefers-contrast: more)').addEventListener('change', changed);
	let waiting = 0;
	addEventListener('resize', () => {
		clearTimeout(waiting);
		waiting = window.setTimeout(redraw, 60);
	});
}
