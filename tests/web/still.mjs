// still.mjs - what stands on a page before or without its script, on paper, and where a reader asked for less.
import assert from 'node:assert/strict';
import test from 'node:test';
import { drawn, drawn_kinds, kinds, open_page, page_of, shared_page } from './desk.mjs';

const without_script = { javaScriptEnabled: false };

// Text of what a reader without a script sees.
async function seen(page, selector) {
	return (await page.locator(selector).allInnerTexts()).join('\n').replace(/\s+/g, ' ').trim();
}

const words = {
	record: { verdict: /^[\d.]+ % ± [\d.]+ waiting in poll/, label: ['length', 'price', 'size', 'kept', 'lost'], first: 5 },
	watch: { verdict: /Of a slow frame, [\d.]+ % ± \d/, label: ['length', 'price', 'size', 'lost', 'missing'], first: 4 },
	collect: { verdict: /since its plan changed/, label: ['price', 'store'], first: 5 },
};

for (const kind of drawn_kinds)
	test(`${kind}: without a script, the answer, the label, findings and the first five are there`, async () => {
		const { page } = await shared_page(kind, without_script);
		assert.match((await seen(page, 'h1')).replace(/\u00a0/g, ' '), words[kind].verdict);
		const label = await seen(page, '.label dt');
		for (const fact of words[kind].label)
			assert.ok(label.includes(fact), `${fact} in ${label}`);
		assert.ok(await page.locator('.lead li').count() >= 1);
		assert.equal(await page.locator('.first tbody tr').count(), words[kind].first);
		assert.ok(await page.locator('#findings article h3').count() >= 1);
		assert.match(await seen(page, '#findings'), /Look next at /);
		assert.match(await seen(page, 'main'), /Charts need a script/);
	});

for (const kind of kinds) {
	for (const [words, options] of [['without', without_script], ['with', {}]])
		test(`${kind}: ${words} a script, it is as wide as the window and no wider`, async () => {
			const { page } = await open_page(page_of(kind), options);
			for (const width of [1440, 800, 390]) {
				await page.setViewportSize({ width, height: 900 });
				const body = await page.locator('html').evaluate((e) => e.scrollWidth);
				assert.ok(body <= width, `${body} at ${width}`);
			}
			await page.close();
		});

	test(`${kind}: with a script nothing of that is lost, and nothing of it moves`, async () => {
		const still = (await shared_page(kind, without_script)).page, { page } = await shared_page(kind);
		for (const selector of ['h1', '.lead', '.first th', '.label dt', '#findings h3'])
			assert.equal(await seen(page, selector), await seen(still, selector), selector);
		const top = (p) => p.locator('.top').evaluate((e) => Math.round(e.getBoundingClientRect().height));
		assert.equal(await top(page), await top(still));
	});

	test(`${kind}: the head stands before the script in the file, so that it is painted first`, async (t) => {
		const { html } = page_of(kind), script = html.search(/<script(?! type="application\/json")/);
		for (const part of ['class="verdict"', 'class="label"', 'id="findings"'])
			assert.ok(html.indexOf(part) > 0 && html.indexOf(part) < script, part);
		const { page } = await shared_page(kind);
		const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
		assert.ok(paint > 0);
		t.diagnostic(`${kind}: first contentful paint after ${Math.round(paint)} ms, page of ${Math.round(html.length / 1000)} kB`);
	});

	test(`${kind}: on paper every table is there, tools are gone, and nothing is dark`, async () => {
		const { page } = await open_page(page_of(kind), {}, 'theme=dark');
		await page.emulateMedia({ media: 'print' });
		await page.evaluate(() => void dispatchEvent(new Event('beforeprint')));
		await drawn(page);
		const found = await page.evaluate(() => {
			const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility === 'visible';
			return {
				folded: [...document.querySelectorAll('details')].filter((d) => {
					const table = d.querySelector('table');
					return table !== null && !(table.checkVisibility?.({ contentVisibilityAuto: true }) ?? shown(table));
				}).length,
				tools: [...document.querySelectorAll('.bar button, .tools button, .tools input, .bar nav')].filter(shown).length,
				paper: getComputedStyle(document.body).backgroundColor,
				ink: getComputedStyle(document.body).color,
				head: shown(document.querySelector('h1')) && shown(document.querySelector('.label')),
			};
		});
		assert.deepEqual(found, { folded: 0, tools: 0, paper: 'rgb(255, 255, 255)', ink: 'rgb(0, 0, 0)', head: true });
		await page.close();
	});

	test(`${kind}: forced colours, more contrast and less motion lose nothing`, async () => {
		const texts = [];
		for (const asked of [{}, { forcedColors: 'active' }, { contrast: 'more' }, { reducedMotion: 'no-preference' }]) {
			const { page } = await open_page(page_of(kind), { reducedMotion: 'reduce', ...asked });
			texts.push(await seen(page, 'main'));
			if (asked.forcedColors !== undefined)
				for (const selector of ['.label', '.sheet >> nth=0', 'button >> nth=0'])
					assert.notEqual(await page.locator(selector).first().evaluate((e) =>
						getComputedStyle(e).borderTopStyle), 'none', selector);
			if (asked.contrast !== undefined)
				assert.deepEqual(await page.evaluate(() => {
					const of = getComputedStyle(document.documentElement);
					return of.getPropertyValue('--soft') === of.getPropertyValue('--ink');
				}), true);
			await page.close();
		}
		for (const text of texts)
			assert.equal(text, texts[0]);
	});

	test(`${kind}: nothing moves for who asked for less motion`, async () => {
		const moves = async (reducedMotion) => {
			const { page } = await open_page(page_of(kind), { reducedMotion });
			const found = await page.evaluate(() => [...document.querySelectorAll('*')].filter((e) => {
				const of = getComputedStyle(e);
				return of.animationName !== 'none' || of.transitionDuration.split(',').some((s) => parseFloat(s) > 0.1) ||
					of.transitionDuration.split(',').some((s) => parseFloat(s) > 0) && matchMedia('(prefers-reduced-motion)').matches ||
					of.scrollBehavior === 'smooth' && matchMedia('(prefers-reduced-motion)').matches;
			}).map((e) => e.localName));
			await page.close();
			return found;
		};
		assert.deepEqual(await moves('reduce'), []);
		assert.deepEqual(await moves('no-preference'), []);
	});
}
