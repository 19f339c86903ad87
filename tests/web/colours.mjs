// colours.mjs - the table of colours, computed from the style sheet: contrast as WCAG 2 defines it, and distances as the three
// kinds of colour blindness leave them. Needs no browser. Usage: node --test-reporter=tap colours.mjs  (CSS: the style sheet)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { blend, contrast, distance, luminance, vision } from './colour.mjs';

const css = readFileSync(process.env.CSS ?? new URL('../../web/style/page.css', import.meta.url), 'utf8')
	.replace(/\/\*[^]*?\*\//g, '');
const grounds = ['paper', 'sheet', 'well'];

// What the design lays down, contrast on paper, sheet and well.
const wanted = {
	light: {
		ink: [16.6, 17.9, 15.6], soft: [7.0, 7.5, 6.5], edge: [3.7, 3.9, 3.4], run: [4.9, 5.3, 4.6],
		wait: [5.7, 6.1, 5.3], queue: [4.9, 5.3, 4.6], more: [5.3, 5.7, 5.0], less: [5.8, 6.2, 5.4],
		hit: [6.5, 6.9, 6.1], stop: [6.8, 7.3, 6.4],
	},
	dark: {
		ink: [15.4, 14.3, 12.4], soft: [8.1, 7.5, 6.5], edge: [5.0, 4.6, 4.0], run: [8.7, 8.1, 7.0],
		wait: [7.8, 7.3, 6.3], queue: [9.9, 9.2, 8.0], more: [8.3, 7.7, 6.7], less: [8.4, 7.8, 6.8],
		hit: [8.2, 7.6, 6.6], stop: [7.8, 7.3, 6.3],
	},
};
const tint_least = { light: 12.9, dark: 7.9 };
const states = ['run', 'wait', 'queue'];
const tints = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `t${n}`);

// The rules of a style sheet as [condition, selector, body], one level of @media deep.
function rules(text, condition = '') {
	const out = [];
	for (let at = 0; ;) {
		const open = text.indexOf('{', at);
		if (open < 0)
			return out;
		let depth = 1, end = open + 1;
		for (; depth > 0 && end < text.length; end++)
			depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0;
		const selector = text.slice(at, open).trim(), body = text.slice(open + 1, end - 1);
		if (selector.startsWith('@media'))
			out.push(...rules(body, selector));
		else
			out.push([condition, selector, body]);
		at = end;
	}
}

function tokens(body) {
	const out = {};
	for (const [, name, hex] of body.matchAll(/--([a-z0-9]+)\s*:\s*#([0-9a-f]{6})\b/gi))
		out[name] = hex.toLowerCase();
	return out;
}

const all = rules(css);
const palettes = all.map(([condition, selector, body]) => ({ condition, selector, of: tokens(body) }))
	.filter((p) => p.of.run !== undefined);
const themes = {
	light: palettes.find((p) => p.selector === ':root' && p.condition === '')?.of ?? {},
	dark: palettes.find((p) => /data-theme="?dark/.test(p.selector) && p.condition === '')?.of ?? {},
};

test('the style sheet has a light and a dark palette with every token', () => {
	for (const [theme, of] of Object.entries(themes))
		for (const name of [...grounds, ...Object.keys(wanted.light), 'line', ...tints])
			assert.match(of[name] ?? '', /^[0-9a-f]{6}$/, `${theme} --${name}`);
});

test('a palette for who set no theme is one of the two', () => {
	for (const { condition, selector, of } of palettes)
		assert.ok([themes.light, themes.dark].some((t) => Object.keys(of).every((n) => of[n] === t[n])),
			`${condition} ${selector}`);
});

for (const theme of ['light', 'dark']) {
	const of = themes[theme];

	test(`${theme}: each token has the contrast that the design lists`, () => {
		for (const [name, on] of Object.entries(wanted[theme]))
			grounds.forEach((ground, i) =>
				assert.equal(contrast(of[name], of[ground]).toFixed(1), on[i].toFixed(1), `--${name} on --${ground}`));
	});

	test(`${theme}: text reads at 4.5 : 1, borders of controls at 3 : 1`, () => {
		for (const name of Object.keys(wanted[theme]))
			for (const ground of grounds)
				assert.ok(contrast(of[name], of[ground]) >= (name === 'edge' ? 3 : 4.5), `--${name} on --${ground}`);
	});

	test(`${theme}: ink reads on the tint of every module`, () => {
		for (const tint of tints)
			assert.ok(contrast(of.ink, of[tint]) >= tint_least[theme] - 0.05,
				`--${tint}: ${contrast(of.ink, of[tint]).toFixed(2)}`);
	});

	test(`${theme}: ink reads on a difference and on a state, on every ground they are laid over`, () => {
		for (const ground of grounds) {
			for (const name of ['more', 'less'])
				assert.ok(contrast(of.ink, blend(of[name], of[ground], 0.45)) >= 4.5, `--${name} over --${ground}`);
			for (const name of states)
				assert.ok(contrast(of.ink, blend(of[name], of[ground], 0.3)) >= 4.5, `--${name} over --${ground}`);
		}
	});

	for (const kind of ['protanopia', 'deuteranopia', 'tritanopia']) {
		// The design rounds to whole steps.
		test(`${theme}, ${kind}: states stay 29 apart, more from less 83`, () => {
			const far = (a, b) => distance(vision(of[a], kind), vision(of[b], kind));
			for (const [a, b] of [['run', 'wait'], ['run', 'queue'], ['wait', 'queue']])
				assert.ok(Math.round(far(a, b)) >= 29, `${a} and ${b}: ${far(a, b).toFixed(1)}`);
			assert.ok(Math.round(far('more', 'less')) >= 83, `more and less: ${far('more', 'less').toFixed(1)}`);
		});
	}

	test(`${theme}: states are nearly equally light, so only hatches tell them apart on paper`, () => {
		const light = states.map((s) => luminance(of[s]));
		assert.ok((Math.max(...light) + 0.05) / (Math.min(...light) + 0.05) < 1.5);
	});
}

test('colour is data: no rule names a colour of its own, but for print and what darkens behind a dialog', () => {
	for (const [condition, selector, body] of all) {
		if (/print/.test(condition) || palettes.some((p) => p.selector === selector && p.condition === condition))
			continue;
		const own = body.replace(/(^|;)\s*--[a-z0-9]+\s*:[^;]*/gi, '')
			.match(/#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|lab|lch|oklch|color)a?\([^)]*\)/gi) ?? [];
		assert.deepEqual(own.filter(() => !/::backdrop/.test(selector)), [], `${condition} ${selector}`);
	}
});

test('on paper the grounds are white and the text is ink', () => {
	const print = all.filter(([condition]) => /print/.test(condition)).map(([, , body]) => body).join('\n');
	assert.match(print, /--paper:\s*#fff(?:fff)?\b/i);
	assert.match(print, /--sheet:\s*#fff(?:fff)?\b/i);
	assert.match(print, /--ink:\s*#000(?:000)?\b/i);
});

// The arithmetic itself, against numbers that others published.
test('contrast and distance agree with known values', () => {
	assert.equal(contrast('000000', 'ffffff').toFixed(2), '21.00');
	assert.equal(contrast('767676', 'ffffff').toFixed(2), '4.54');
	assert.equal(contrast('777777', 'ffffff').toFixed(2), '4.48');
	assert.ok(Math.abs(distance([1, 1, 1], [0, 0, 0]) - 100) < 0.01);
	assert.equal(blend('000000', 'ffffff', 0.5), '808080');
	// Grey stays grey: each row of each matrix sums up to 1.
	for (const kind of ['protanopia', 'deuteranopia', 'tritanopia'])
		assert.ok(distance(vision('808080', kind), vision('808080')) < 0.01, kind);
});
