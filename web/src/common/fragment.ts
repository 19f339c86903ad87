// fragment.ts - the part of the address behind "#" is the permalink: theme, ranges, search, zoom.

/** Anchors of sections ("#findings") have no "=": they are links, and nothing is kept in them. */
function read(): URLSearchParams {
	const text = location.hash.slice(1);
	return new URLSearchParams(text.includes('=') ? text : '');
}

let kept = read();

export function get(key: string): string {
	return kept.get(key) ?? '';
}

/** Keeps a value, or forgets it when it is empty. The history gets no entry: back leaves the page. */
export function keep(key: string, value: string): void {
	if ((kept.get(key) ?? '') === value) return;
	if (value === '') kept.delete(key);
	else kept.set(key, value);
	const text = kept.toString();
	history.replaceState(null, '', text === '' ? location.pathname + location.search : '#' + text);
}

/** A link inside this page that sets values: reads the address again and tells. */
export function onChange(tell: () => void): void {
	addEventListener('hashchange', () => {
		if (!location.hash.includes('=')) return;
		kept = read();
		tell();
	});
}

/** Two whole numbers joined by "-", both under `end` and in order; null where it is none. */
export function range(text: string, end: number): [number, number] | null {
	const m = /^(\d{1,9})-(\d{1,9})$/.exec(text);
	if (!m) return null;
	const from = Number(m[1]);
	const to = Number(m[2]);
	return from <= to && to < end ? [from, to] : null;
}
