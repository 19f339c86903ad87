// measured.ts - numbers that come from timed calls, in words: durations and shares with their errors, as src/core/measured.c
// writes them, letter for letter. A table that the C code prints is compared with it (tests/web).
import { el } from './dom';
import { digits, exact, NBSP, roundError } from './numbers';

export const NO_ERROR = -1;

const MOST_SHOWN = 1e12;

export type Unit = 'ns' | 'µs' | 'ms' | 's';
const UNITS: readonly [Unit, number][] = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];

/** A number with its unit and, apart from it, its error: "43.1 µs" and "± 0.4". */
export interface Words {
	number: string;
	/** Empty: it stands alone. */
	error: string;
}

/** Rounded to the nearest, its whole part in groups of three. */
function grouped(value: number, places: number): string {
	const scale = 10 ** places;
	const least = Math.min(Math.max(value || 0, 0), MOST_SHOWN / scale);
	const steps = Math.floor(least * scale + 0.5);
	const whole = exact(Math.floor(steps / scale));
	return places === 0 ? whole : `${whole}.${String(steps % scale).padStart(places, '0')}`;
}

/** What is above an upper end: rounded up. */
function upper(value: number, places: number): string {
	const step = places === 0 ? 1 : places === 1 ? 0.1 : 0.01;
	return grouped(Math.ceil(value / step - 1e-9) * step, places);
}

function threeDigits(value: number, isWhole: boolean): string {
	let step = 1;
	if (value < 99.95 && !isWhole)
		return value > 0 && value < 0.005 ? `under${NBSP}0.01` : grouped(value, value >= 9.995 ? 1 : 2);
	if (value < 999.5) return grouped(value, 0);
	const most = Math.min(value, MOST_SHOWN);
	while (most / step >= 999.5) step *= 10;
	return grouped(Math.floor(most / step + 0.5) * step, 0);
}

function withError(value: number, error: number, mark: string): Words {
	const e = Math.min(Math.max(error || 0, 0), MOST_SHOWN);
	const places = digits(e);
	const step = places === 0 ? 1 : places === 1 ? 0.1 : 0.01;
	if (e > value || value < step / 2) return { number: `under${NBSP}${upper(value + e, places)}${mark}`, error: '' };
	return { number: grouped(value, places) + mark, error: `±${NBSP}${grouped(roundError(e, places), places)}` };
}

/** The largest unit that goes into it once. */
export function unitOf(ns: number): Unit {
	let i = UNITS.length - 1;
	while (i > 0 && ns < UNITS[i][1] * 0.9995) i--;
	return UNITS[i][0];
}

/** "43.1 µs" and "± 0.4" in the unit that suits, or in another; without an error three digits. */
export function measuredDuration(ns: number, errorNs = NO_ERROR, unit = unitOf(errorNs > ns ? ns + errorNs : ns)): Words {
	const of = UNITS.find(([name]) => name === unit)?.[1] ?? 1;
	if (errorNs >= 0 && ns > 0) return withErrorIn(ns / of, errorNs / of, unit);
	return { number: `${threeDigits(ns / of, unit === 'ns')}${NBSP}${unit}`, error: '' };
}

function withErrorIn(value: number, error: number, unit: Unit): Words {
	const words = withError(value, error, '');
	return { number: `${words.number}${NBSP}${unit}`, error: words.error };
}

/** A share, which may be over 1: "18.6 %" and "± 0.4". An error of 0 is that of an exact one. */
export function measuredShare(value: number, error: number, hasError: boolean): Words {
	const percent = value * 100;
	if (!hasError) return { number: `—${NBSP}cannot know`, error: '' };
	if (error > 0) return withError(percent, error * 100, `${NBSP}%`);
	if (percent <= 0) return { number: '0', error: '' };
	const number = percent < 0.005 ? `under${NBSP}0.01` : grouped(percent, percent < 0.095 ? 2 : 1);
	return { number: `${number}${NBSP}%`, error: '' };
}

/** A rate, or a count that is an estimate, with three digits: "516,000", "12.3", "0.07". */
export function threeDigitsOf(value: number): string {
	return threeDigits(value, value <= 0);
}

/** A count that need not be exact to the reader: "39,950", "10.2 million". */
export function many(count: number): string {
	const words: readonly [string, number][] = [['million', 1e6], ['billion', 1e9], ['trillion', 1e12]];
	let i = 0;
	if (count < 1e6) return exact(count);
	while (i + 1 < words.length && count / words[i][1] >= 999.5) i++;
	return `${threeDigits(count / words[i][1], false)}${NBSP}${words[i][0]}`;
}

/** A price: "0.21 %", "under 0.01 %" for what would round to 0 and is not 0. */
export function price(part: number): string {
	const percent = part * 100;
	if (percent <= 0) return '0';
	return percent < 0.005 ? `under${NBSP}0.01${NBSP}%` : `${grouped(percent, 2)}${NBSP}%`;
}

/** As nodes: the number in ink, its error in soft. */
export function wordNodes(words: Words): (Node | string)[] {
	if (words.error !== '') return [words.number, el('span', { class: 'pm' }, NBSP + words.error)];
	if (words.number.startsWith('—')) return [el('span', { class: 'none' }, words.number)];
	return [words.number];
}

/** In one piece. */
export function wordText(words: Words): string {
	return words.error === '' ? words.number : words.number + NBSP + words.error;
}
