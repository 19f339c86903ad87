// dom.ts - elements without markup: a name from outside is only ever the text of a node.

const SVG = 'http://www.w3.org/2000/svg';

/** What may stand in an element. */
export type Child = Node | string | number | null | undefined | false;

/** Properties where the element has one of the name, attributes otherwise; null and undefined are left out. */
export type Props = Record<string, unknown>;

export function $<T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T {
	const found = within.querySelector<T>(selector);
	if (!found) throw new Error(`the page has no ${selector}`);
	return found;
}

/** Makes an element. Names that begin with "on" are handlers; "class" is className. */
export function el<K extends keyof HTMLElementTagNameMap>(
	tag: K, props: Props = {}, ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (value == null) continue;
		if (name === 'class') e.className = String(value);
		else if (name in e && !name.includes('-')) (e as unknown as Props)[name] = value;
		else e.setAttribute(name, String(value));
	}
	e.append(...nodes(children));
	return e;
}

export function svg<K extends keyof SVGElementTagNameMap>(
	tag: K, props: Record<string, string | number>, ...children: SVGElement[]
): SVGElementTagNameMap[K] {
	const e = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(props)) e.setAttribute(name, String(value));
	e.append(...children);
	return e;
}

/** Children without the empty ones. */
export function nodes(children: (Child | Child[])[]): (Node | string)[] {
	return children.flat()
		.filter((c): c is Node | string | number => c != null && c !== false)
		.map(c => (typeof c === 'number' ? String(c) : c));
}

/** Puts these in place of all that is in it. */
export function fill(e: Element, ...children: (Child | Child[])[]): void {
	e.replaceChildren(...nodes(children));
}

/** With a blank between each two: what is apart to the eye is apart to a screen reader, too. */
export function spaced(children: Child[]): Child[] {
	return children.flatMap((child, i) => (i > 0 ? [' ', child] : [child]));
}
