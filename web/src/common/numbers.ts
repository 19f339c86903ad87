// numbers.ts - numbers in words, as src/core/text_share.c and src/core/units.c have them: never more digits than the error
// allows, number and unit never parted. A table that the C code prints is compared with it (tests/web).
import { el } from './dom';
import type { Share } from './stats';

export const NBSP = '\u00a0';
const ROUNDED_OFF = 0.15;

/** Digits behind the point for an error in percent: 1 and more none, 0.095 and more one, else two. */
export function digits(error: number): number {
	return error >= 1 ? 0 : error >= 0.095 ? 1 : 2;
}

function roundAt(value: number, places: number, up: boolean): number {
	const scale = 10 ** places;
	const steps = value * scale;
	let floor = steps <= 0 ? 0 : Math.floor(steps + 1e-9);
	if (up && steps > floor + 1e-9) floor++;
	return floor / scale;
}

/** An error as it is printed: rounded up, unless no more than 0.15 of a step is cut off; never 0. */
export function roundError(error: number, places: number): number {
	const step = 10 ** -places;
	const rounded = roundAt(error - ROUNDED_OFF * step, places, true);
	return rounded > 0 ? rounded : step;
}

/** A share in its parts; `error` is empty when the number stands alone. */
export interface ShareWords {
	number: string;
	error: string;
	unknown: boolean;
	none: boolean;
}

/** `kept`: samples in the whole range that this is a share of. */
export function shareWords(share: Share, kept: number): ShareWords {
	const out: ShareWords = { number: '', error: '', unknown: false, none: false };
	const value = share.value * 100;
	const error = share.error * 100;
	const three = kept > 3 ? 300 / kept : 100;
	const places = digits(error);
	const bound = (word: string, percent: number, e: number, up: boolean) =>
		`${word} ${roundAt(percent, digits(e), up).toFixed(digits(e))}${NBSP}%`;
	if (kept === 0 || (share.value > 0 && share.error >= 1)) {
		out.unknown = true;
		out.number = 'cannot know';
	} else if (share.value <= 0) {
		out.none = true;
		out.number = bound('under', three, three, true);
	} else if (share.value >= 1) {
		out.number = bound('over', 100 - three, three, false);
	} else if (error > value) {
		out.number = bound('under', Math.min(value + error, 100), error, true);
	} else {
		out.number = `${fixed(value, places)}${NBSP}%`;
		out.error = `±${NBSP}${roundError(error, places).toFixed(places)}`;
	}
	return out;
}

/** As printf has it: toFixed(), but ties go to even digits. Only a multiple of 2^-(places + 1) can be one. */
export function fixed(value: number, places: number): string {
	const steps = value * 10 ** places;
	const floor = Math.floor(steps);
	const isTie = Number.isInteger(value * 2 ** (places + 1)) && steps - floor === 0.5;
	return isTie && floor % 2 === 0 ? (floor / 10 ** places).toFixed(places) : value.toFixed(places);
}

/** A share in one piece: "12.4 % ± 0.8", "none seen, under 0.75 %", "— cannot know". */
export function shareText(share: Share, kept: number): string {
	const w = shareWords(share, kept);
	return (w.none ? 'none seen, ' : '') + (w.unknown ? '—' + NBSP : '') + w.number + (w.error ? NBSP + w.error : '');
}

/** The same as nodes: the number in ink, its error in soft. */
export function pm(share: Share, kept: number): (Node | string)[] {
	const w = shareWords(share, kept);
	if (w.unknown) return [el('span', { class: 'none', title: 'too few samples' }, '—' + NBSP + w.number)];
	if (w.none) return [el('span', { class: 'pm' }, 'none seen, ' + w.number)];
	if (w.error) return [w.number, el('span', { class: 'pm' }, NBSP + w.error)];
	return [el('span', { class: 'pm' }, w.number)];
}

/** A number with its error in a unit of its own: "12.8 ms ± 0.3". An error of 0: exact. */
export function pmIn(value: number, error: number, unit: string): (Node | string)[] {
	const places = digits(error);
	const number = `${fixed(value, places)}${unit ? NBSP + unit : ''}`;
	if (!(error > 0)) return [number];
	return [number, el('span', { class: 'pm' }, `${NBSP}±${NBSP}${roundError(error, places).toFixed(places)}`)];
}

/** A difference of shares with its sign: "+4.1", "−4.1". */
export function signed(percent: number, error: number): string {
	return (percent < 0 ? '−' : '+') + fixed(Math.abs(percent), digits(error));
}

/** An exact share, which has no "±": "0.7 %", "0", "under 0.01 %". */
export function exactShare(part: number, whole: number): string {
	const percent = whole > 0 ? 100 * part / whole : 0;
	if (part === 0) return '0';
	if (part >= whole) return `100${NBSP}%`;
	if (percent < 0.005) return `under${NBSP}0.01${NBSP}%`;
	if (percent >= 99.95) return `over${NBSP}99.9${NBSP}%`;
	return `${fixed(percent, percent < 0.095 ? 2 : 1)}${NBSP}%`;
}

/** "39,950" */
export function exact(count: number): string {
	return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

/** "12 gaps", "1 gap" */
export function counted(count: number, word: string): string {
	return `${exact(count)}${NBSP}${word}${Math.round(count) === 1 ? '' : 's'}`;
}

const NS_PER_S = 1e9;

/** value / of with at most three significant digits and no zeros at the end. */
function threeDigits(value: number, of: number): string {
	const hundredths = Math.round(value * 100 / of);
	const tenths = Math.round(value * 10 / of);
	if (hundredths < 1000 && hundredths % 10 !== 0) return (hundredths / 100).toFixed(2);
	if (tenths < 1000 && tenths % 10 !== 0) return (tenths / 10).toFixed(1);
	return String(Math.round(value / of));
}

function twoParts(count: number, perFirst: number, first: string, second: string): string {
	const rest = count % perFirst;
	const whole = `${Math.floor(count / perFirst)}${NBSP}${first}`;
	return rest === 0 ? whole : `${whole}${NBSP}${rest}${NBSP}${second}`;
}

/** "1.28 s", "640 ms", "6 h 12 min", "3 d 4 h" */
export function duration(ns: number): string {
	const s = Math.round(ns / NS_PER_S);
	const min = Math.round(ns / (60 * NS_PER_S));
	for (const [unit, of] of [['ns', 1], ['µs', 1e3], ['ms', 1e6]] as const)
		if (ns !== 0 && Math.round(ns / of) < 1000) return threeDigits(ns, of) + NBSP + unit;
	if (Math.round(ns / 1e8) < 600) return `${threeDigits(ns, NS_PER_S)}${NBSP}s`;
	if (s < 3600) return twoParts(s, 60, 'min', 's');
	if (min < 24 * 60) return twoParts(min, 60, 'h', 'min');
	return twoParts(Math.round(ns / (3600 * NS_PER_S)), 24, 'd', 'h');
}

/** A unit of sizes: its name, its bytes, digits behind the point. */
const SIZES = [['bytes', 1, 0], ['KB', 1024, 0], ['MB', 1024 ** 2, 1], ['GB', 1024 ** 3, 2], ['TB', 1024 ** 4, 2]] as const;

/** "312 bytes", "96 KB", "1.9 MB" */
export function size(bytes: number): string {
	const shown = ([, of, places]: readonly [string, number, number]) => Math.round(bytes / of * 10 ** places) / 10 ** places;
	const unit = SIZES.find(u => shown(u) < 1024) ?? SIZES[SIZES.length - 1];
	return `${shown(unit).toFixed(unit[2])}${NBSP}${bytes === 1 ? 'byte' : unit[0]}`;
}

const pad = (n: number) => String(n).padStart(2, '0');

/** Time of day in UTC of a wall clock in ms: "22:10:04", without seconds "22:10". */
export function timeOfDay(ms: number, hasSeconds = true): string {
	const d = new Date(ms);
	const minutes = `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}`;
	return hasSeconds ? `${minutes}:${pad(d.getUTCSeconds())}` : minutes;
}

/** "28 Nov" */
export function day(ms: number): string {
	const d = new Date(ms);
	return `${d.getUTCDate()} ${'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')[d.getUTCMonth()]}`;
}
