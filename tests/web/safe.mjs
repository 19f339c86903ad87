// safe.mjs - nothing leaves, nothing runs but our script, names are text, and a page has a size.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { corpus } from './corpus.mjs';
import { drawn, drawn_kinds, kinds, misdeeds, no_misdeeds, open_all, open_page, page_of, shared_page, shown_names } from './desk.mjs';

const all_pages = [...kinds, 'watch-probes', 'record-coarse', 'record-empty', 'watch-empty', 'collect-empty'];

for (const name of all_pages)
	test(`${name}: the page asks for nothing but itself, and is silent`, async () => {
		const made = page_of(name), { page, heard } = await open_page(made);
		await open_all(page);
		assert.deepEqual(await misdeeds(page, heard, made.file), no_misdeeds);
		await page.close();
	});

const policy_of = (html) => /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/i.exec(html)?.[1] ?? '';
const hash_of = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

for (const kind of kinds) {
	test(`${kind}: the policy lets our one script and our one style run, and nothing else`, () => {
		const { html } = page_of(kind);
		const scripts = [...html.matchAll(/<script(?![^>]*application\/json)[^>]*>([^]*?)<\/script>/g)];
		const styles = [...html.matchAll(/<style[^>]*>([^]*?)<\/style>/g)];
		const rules = Object.fromEntries(policy_of(html).split(';').map((r) => {
			const [name, ...rest] = r.trim().split(/\s+/);
			return [name, rest];
		}));
		assert.deepEqual(rules['default-src'], ["'none'"]);
		assert.deepEqual(rules['base-uri'], ["'none'"]);
		assert.deepEqual(rules['form-action'], ["'none'"]);
		assert.deepEqual([...rules['script-src']].sort(), scripts.map((s) => hash_of(s[1])).sort());
		assert.deepEqual([...rules['style-src']].sort(), styles.map((s) => hash_of(s[1])).sort());
		const known = ['default-src', 'script-src', 'style-src', 'img-src', 'base-uri', 'form-action'];
		assert.deepEqual(Object.keys(rules).filter((r) => !known.includes(r)), []);
		assert.ok((rules['img-src'] ?? []).every((s) => s === 'data:'));
	});

	test(`${kind}: the policy stands before anything that it is to hold`, () => {
		const { html } = page_of(kind), at = html.search(/<meta http-equiv="Content-Security-Policy"/i);
		assert.ok(at > 0);
		assert.ok(at < html.search(/<(?:script|style|link|img|body|main)\b/i));
	});

	test(`${kind}: no element has a style or a handler of its own in the file`, () => {
		const markup = page_of(kind).html.replace(/<(script|style)\b[^>]*>[^]*?<\/\1>/g, '');
		assert.doesNotMatch(markup, /<[a-z][^>]*\s(?:style|on[a-z]+)\s*=/i);
		assert.doesNotMatch(markup, /<(?:link|base|iframe|object|embed|img|form)\b/i);
		assert.doesNotMatch(markup, /\b(?:href|src|action)\s*=\s*"(?!#)/i);
	});

	test(`${kind}: the script never writes markup and never makes code`, () => {
		const script = page_of(kind).html.match(/<script(?![^>]*application\/json)[^>]*>([^]*?)<\/script>/)[1];
		for (const word of ['insertAdjacentHTML', 'document.write', 'eval(', 'new Function', 'XMLHttpRequest', 'fetch(',
			'WebSocket', 'sendBeacon', 'importScripts', 'serviceWorker'])
			assert.ok(!script.includes(word), word);
	});

	// The page whose every name is hostile, with all that unfolds.
	const named = () => shared_page(`${kind}-names`, {}, '', open_all);

	test(`${kind}: names make no element and no attribute`, async () => {
		const { page } = await named();
		const strange = await page.evaluate(() => [...document.querySelectorAll('*')].filter((e) =>
			/^(?:img|iframe|object|embed|link|base|form|video|audio|source|math|animate|template)$/i.test(e.localName) ||
			[...e.attributes].some((a) => /^(?:on|v-|@|:)/.test(a.name)) ||
			/^\s*(?:javascript|data|https?):/i.test(e.getAttribute('href') ?? e.getAttribute('src') ?? ''))
			.map((e) => e.outerHTML.slice(0, 120)));
		assert.deepEqual(strange, []);
		assert.equal(await page.evaluate(() => document.querySelectorAll('script').length), 2);
	});

	test(`${kind}: no text holds what hides or turns round`, async () => {
		const { page } = await named();
		const bad = await page.evaluate(() => {
			const out = [], hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
			const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
			while (walk.nextNode())
				if (!/^(?:script|style)$/i.test(walk.currentNode.parentElement.localName) && hidden.test(walk.currentNode.data))
					out.push(JSON.stringify(walk.currentNode.data.slice(0, 60)));
			for (const e of document.querySelectorAll('[title],[aria-label]'))
				for (const a of ['title', 'aria-label'])
					if (hidden.test(e.getAttribute(a) ?? ''))
						out.push(`${a} ${JSON.stringify(e.getAttribute(a).slice(0, 60))}`);
			return out;
		});
		assert.deepEqual(bad, []);
	});

	if (drawn_kinds.includes(kind))
		test(`${kind}: every name is shown as text, harmless`, async () => {
			const { page } = await named();
			const text = await page.evaluate(() => document.body.textContent.replace(/\s+/g, ' '));
			const missing = shown_names().map((s) => s.replace(/\s+/g, ' ').trim()).filter((s) => !text.includes(s));
			assert.deepEqual(missing, []);
		});

	test(`${kind}: names of ${corpus.length} sorts run nothing, and break nothing`, async () => {
		const { page, heard } = await named();
		await look_around(page);
		assert.deepEqual(await misdeeds(page, heard, page_of(`${kind}-names`).file), no_misdeeds);
	});
}

// Points at things, chooses and searches, so that lines that come later are written too.
async function look_around(page) {
	for (const canvas of await page.locator('canvas[tabindex]').all()) {
		await canvas.scrollIntoViewIfNeeded();
		await canvas.hover();
		await canvas.press('ArrowRight');
		await canvas.press('ArrowDown');
		await canvas.press('s');
		await canvas.press('Enter');
	}
	const rows = page.locator('tbody th button, tbody td button');
	for (let i = 0; i < Math.min(6, await rows.count()); i++)
		await rows.nth(i).evaluate((b) => b.click());
	const search = page.locator('input[type=search]');
	if (await search.count() > 0)
		await search.first().fill('<|script');
	await drawn(page);
}

const cut_words = {
	record: /[\d,]+ of the lightest paths had no room in this page/,
	watch: /[\d,]+ (?:functions|rows of windows)[^.]*(?:left out|are one here)|steps a doubling here; the recording has/,
	collect: /For its size this page leaves out: .*[\d,]+\s+statements, .* stand as one sum/,
};
const most = { record: 1_000_000, watch: 1_000_000, collect: 2_500_000 };
for (const kind of drawn_kinds)
	test(`${kind}: a recording that is too much for a page is cut, and the page says what`, async () => {
		const made = page_of(`${kind}-crowd`), { page, heard } = await open_page(made);
		assert.ok(made.bytes <= most[kind], `${made.bytes} bytes`);
		assert.match(await page.evaluate(() => document.body.innerText), cut_words[kind]);
		assert.deepEqual(await misdeeds(page, heard, made.file), no_misdeeds);
		await page.close();
	});
