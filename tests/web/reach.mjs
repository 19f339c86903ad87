// reach.mjs - who reads with a screen reader, without a mouse or in the dark: axe-core, focus, names of controls, twins of charts.
import assert from 'node:assert/strict';
import test from 'node:test';
import { axe_source, drawn, drawn_kinds, kinds, open_all, open_page, page_of } from './desk.mjs';

// axe is a script of ours on the page: the policy is off for it, and only here.
const for_axe = { bypassCSP: true };

async function serious(page) {
	await page.evaluate(axe_source);
	const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
	return found.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
		.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(' | ')} (${v.nodes.length})`);
}

test('axe hears what is wrong', async () => {
	const { page } = await open_page(page_of('record'), for_axe);
	await page.evaluate(() => {
		const button = document.createElement('button');
		button.className = 'vh-none';
		document.querySelector('main').append(button);
	});
	assert.match((await serious(page)).join(), /button-name/);
	await page.close();
});

for (const kind of kinds) {
	for (const theme of ['light', 'dark'])
		test(`${kind}, ${theme}: axe finds nothing serious, also behind what unfolds`, async () => {
			const { page } = await open_page(page_of(kind), for_axe, `theme=${theme}`);
			await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)));
			await drawn(page);
			assert.deepEqual(await serious(page), []);
			await page.close();
		});

	test(`${kind}: the list of keys is reachable, too`, async () => {
		const { page } = await open_page(page_of(kind), for_axe);
		await page.keyboard.press('?');
		assert.deepEqual(await serious(page), []);
		await page.close();
	});

}

for (const kind of drawn_kinds) {
	test(`${kind}: every chart has a table beside it`, async () => {
		const { page } = await open_page(page_of(kind));
		const charts = await page.evaluate(() => [...document.querySelectorAll('canvas[tabindex]')].map((c) => ({
			name: c.getAttribute('aria-label') ?? '',
			said: document.getElementById(c.getAttribute('aria-describedby') ?? '')?.getAttribute('aria-live') ?? '',
			twin: (c.closest('section').querySelector('details table') ??
				c.closest('section').nextElementSibling?.querySelector('table')) !== null,
		})));
		assert.ok(charts.length >= 1);
		for (const chart of charts) {
			assert.ok(chart.name.length > 0);
			assert.equal(chart.said, 'polite', chart.name);
			assert.ok(chart.twin, chart.name);
		}
		await page.close();
	});

	test(`${kind}: tables have headers with a scope, and sorted ones say so`, async () => {
		const { page } = await open_page(page_of(kind));
		await open_all(page);
		const found = await page.evaluate(() => ({
			plain: [...document.querySelectorAll('main table thead th')].filter((th) => th.scope !== 'col').length,
			rows: [...document.querySelectorAll('main table tbody th')].filter((th) => th.scope !== 'row').length,
			unnamed: [...document.querySelectorAll('main table')].filter((t) =>
				(t.caption?.textContent ?? t.getAttribute('aria-label') ?? '').trim() === '').length,
		}));
		assert.deepEqual(found, { plain: 0, rows: 0, unnamed: 0 });
		assert.ok(await page.locator('th[aria-sort]').count() >= 1);
		await page.close();
	});

}

for (const kind of kinds) {
	test(`${kind}: every stop of the keyboard shows where it is`, async () => {
		const { page } = await open_page(page_of(kind));
		const seen = new Set();
		for (let stops = 0; stops < 40; stops++) {
			await page.keyboard.press('Tab');
			const at = await page.evaluate(() => {
				const e = document.activeElement, of = getComputedStyle(e);
				return e === document.body ? null : { name: e.id || e.textContent.trim().slice(0, 20) || e.localName,
					ring: parseFloat(of.outlineWidth), style: of.outlineStyle, ink: of.outlineColor === of.color || of.outlineColor };
			});
			if (at === null)
				break;
			seen.add(at.name);
			assert.ok(at.ring >= 2 && at.style !== 'none', `${at.name}: ${at.ring} ${at.style}`);
		}
		assert.ok(seen.size >= 5, [...seen].join(', '));
		await page.close();
	});

	test(`${kind}: the first stop skips the bar`, async () => {
		const { page } = await open_page(page_of(kind));
		await page.keyboard.press('Tab');
		const to = await page.evaluate(() => document.activeElement.getAttribute('href'));
		assert.match(to, /^#[a-z]+$/);
		assert.equal(await page.locator(to).count(), 1);
		await page.close();
	});
}

test('every link of a page leads to a place on it', async () => {
	for (const kind of kinds) {
		const { page } = await open_page(page_of(kind));
		assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute('href'))
			.filter((h) => /^#[a-z][\w-]*$/i.test(h) && document.getElementById(h.slice(1)) === null)), []);
		await page.close();
	}
});
