// place.ts - what pev2 gets instead of the browser's own: markup that can only be text with a little weight, an address of its own, a
// memory that ends with the page, and a place for its tips. web/pev2.mjs puts these into its code.

/** Elements that pev2's own words are made of; anything else that looks like markup is text. */
const TAGS = new Set(['b', 'br', 'code', 'div', 'em', 'i', 'li', 'pre', 'small', 'span', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'th', 'tr', 'ul']);
const TOKEN = /<(\/?)([a-z]{1,8})((?: [a-z-]{1,24}="[^"<>]*")*) ?\/?>/g;
const ENTITIES: Record<string, string> = {
	'&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'", '&#x27;': "'", '&nbsp;': '\u00a0', '&times;': '×',
};

function plain(text: string): string {
	return text.replace(/&(?:lt|gt|amp|quot|#39|#x27|nbsp|times);/g, e => ENTITIES[e] ?? e);
}

/** Puts words with pev2's own markup into an element, by nodes: no attribute but class, no element but those above. */
export function html(into: Element, words: unknown): void {
	const text = words == null ? '' : String(words);
	const open: Element[] = [into];
	let from = 0;
	into.replaceChildren();
	const top = () => open[open.length - 1];
	for (const m of text.matchAll(TOKEN)) {
		const [whole, isEnd, tag, attributes] = m;
		if (!TAGS.has(tag)) continue;
		top().append(plain(text.slice(from, m.index)));
		from = (m.index ?? 0) + whole.length;
		if (isEnd) {
			if (open.length > 1 && top().localName === tag) open.pop();
			continue;
		}
		const made = document.createElement(tag);
		const look = / class="([\w -]*)"/.exec(attributes);
		if (look) made.className = look[1];
		top().append(made);
		if (tag !== 'br') open.push(made);
	}
	top().append(plain(text.slice(from)));
}

const listeners = new Set<() => void>();
let hash = '';

/** In place of the window's address: the page's own stays the reader's link. */
export const address = {
	get hash(): string {
		return hash;
	},
	set hash(to: string) {
		hash = to.startsWith('#') || to === '' ? to : `#${to}`;
		listeners.forEach(tell => tell());
	},
	listen(tell: () => void): void {
		listeners.add(tell);
	},
	forget(tell: () => void): void {
		listeners.delete(tell);
	},
};

const kept = new Map<string, string>();

/** In place of the browser's storage: nothing is left on the reader's machine. */
export const storage = {
	getItem: (key: string): string | null => kept.get(key) ?? (key === 'gridIsNotNew' ? 'true' : null),
	setItem: (key: string, value: string): void => void kept.set(key, value),
};

let tips: Element | null = null;

/** Where tips are put: beside the plan, inside of its style. */
export function tipsIn(place: Element | null): void {
	tips = place;
}
export function tipPlace(): Element {
	return tips ?? document.body;
}
