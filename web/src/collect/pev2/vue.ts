// vue.ts - the Vue that pev2 is drawn with: its runtime, with a renderer of ours that makes no markup of text, follows no link and sets
// no style attribute. What pev2 asks of "vue" comes from here.
import { createRenderer, type RendererOptions } from '@vue/runtime-core';
import { address, html } from './place';

export * from '@vue/runtime-dom';

const SVG = 'http://www.w3.org/2000/svg';

type Handler = ((e: Event) => unknown) | ((e: Event) => unknown)[] | null;
interface Listening extends Element {
	tareHandlers?: Record<string, Handler>;
	tarePlace?: string;
}

function call(e: Event, on: Listening, key: string): void {
	const handler = on.tareHandlers?.[key] ?? null;
	for (const h of Array.isArray(handler) ? handler : [handler]) h?.(e);
}

/** "onClickPassive" is the event "click", listened to passively. One listener a name; what it calls may change. */
function setHandler(on: Listening, key: string, handler: Handler): void {
	const known = on.tareHandlers ??= {};
	const isNew = !(key in known);
	known[key] = handler;
	if (!isNew) return;
	const m = /^on([A-Z].*?)(Once|Capture|Passive)*$/.exec(key);
	if (!m) return;
	on.addEventListener(m[1].toLowerCase(), e => call(e, on, key), {
		once: key.includes('Once'), capture: key.includes('Capture'), passive: key.includes('Passive'),
	});
}

type Style = string | Record<string, string | number | null> | null;

function setStyle(on: HTMLElement | SVGElement, before: Style, next: Style): void {
	if (typeof next === 'string') {
		on.style.cssText = next;
		return;
	}
	if (typeof before === 'string') on.style.cssText = '';
	else for (const name in before ?? {}) if (next?.[name] == null) put(on, name, '');
	for (const name in next ?? {}) put(on, name, next?.[name] ?? '');
}

function put(on: HTMLElement | SVGElement, name: string, value: string | number): void {
	on.style.setProperty(name.startsWith('--') ? name : name.replace(/[A-Z]/g, c => `-${c.toLowerCase()}`), String(value));
}

/** Links inside of pev2 are places in itself, or buttons; all others lead nowhere. */
function setLink(on: Listening, to: unknown): void {
	const place = String(to ?? '');
	const isNew = on.tarePlace === undefined;
	if (!place.startsWith('#') && place !== '') return;
	on.tarePlace = place;
	if (!isNew) return;
	on.setAttribute('role', 'button');
	on.setAttribute('tabindex', '0');
	on.addEventListener('click', () => {
		if (on.tarePlace) address.hash = on.tarePlace;
	});
	on.addEventListener('keydown', e => {
		if ((e as KeyboardEvent).key === 'Enter') (on as unknown as HTMLElement).click();
	});
}

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'indeterminate', 'textContent']);
/** Attributes that would fetch, send or run something. */
const REFUSED = /^(?:src|srcset|srcdoc|action|formaction|data|poster|ping|target|style|on[a-z].*|xlink:href|background|manifest|http-equiv)$/i;

/** What pev2 leaves to the mouse: a button that is only a picture gets a name, what scrolls can be reached. */
function setClass(on: Element, look: string): void {
	on.setAttribute('class', look);
	if (on.localName === 'button' && / ps-1$/.test(look)) on.setAttribute('aria-label', 'details');
	if (/\boverflow-auto\b/.test(look)) on.setAttribute('tabindex', '0');
}

function setAttribute(on: Element, key: string, value: unknown): void {
	// A bar beside its number says nothing more.
	if (key === 'role' && value === 'progressbar') value = 'presentation';
	if (key.startsWith('aria-value')) return;
	if (REFUSED.test(key) || !/^[A-Za-z_][\w.:-]*$/.test(key)) return;
	if (value == null || value === false) on.removeAttribute(key);
	else on.setAttribute(key, value === true ? '' : String(value));
}

const options: RendererOptions<Node, Element> = {
	patchProp(on, key, before, next) {
		if (key === 'innerHTML') html(on, next);
		else if (key === 'class') setClass(on, String(next ?? ''));
		else if (key === 'style') setStyle(on as HTMLElement, before as Style, next as Style);
		else if (/^on[A-Z]/.test(key)) setHandler(on, key, next as Handler);
		else if (key === 'href') setLink(on, next);
		else if (PROPERTIES.has(key) && key in on) (on as unknown as Record<string, unknown>)[key] = next ?? '';
		else setAttribute(on, key, next);
	},
	insert: (child, parent, anchor) => void parent.insertBefore(child, anchor ?? null),
	remove: child => void child.parentNode?.removeChild(child),
	createElement: (tag, namespace) => {
		if (/^(?:script|iframe|object|embed|link|style|base|meta|form|img|audio|video|source)$/i.test(tag)) tag = 'span';
		return namespace === 'svg' ? document.createElementNS(SVG, tag) : document.createElement(tag);
	},
	createText: text => document.createTextNode(text),
	createComment: text => document.createComment(text),
	setText: (node, text) => void (node.nodeValue = text),
	setElementText: (node, text) => void (node.textContent = text),
	parentNode: node => node.parentNode as Element | null,
	nextSibling: node => node.nextSibling,
	querySelector: () => null,
	setScopeId: (on, id) => on.setAttribute(id, ''),
	insertStaticContent(content, parent, anchor) {
		const made = document.createElement('span');
		html(made, content);
		parent.insertBefore(made, anchor ?? null);
		return [made, made];
	},
};

const renderer = createRenderer(options);

/** As Vue's own: mounts into an element, which is emptied first. */
export const createApp: typeof renderer.createApp = (...args) => renderer.createApp(...args);
export const render = renderer.render;
