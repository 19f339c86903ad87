// plans.mjs - whole plans in pev2: drawn when they are asked for, inside the page's rules, every name of them as text.
import assert from 'node:assert/strict';
import test from 'node:test';
import { axe_source, drawn, misdeeds, no_misdeeds, open_page, page_of } from './desk.mjs';

const tabs = ['Plan', 'Grid', 'Raw', 'Query', 'Stats'];

async function open_plan(page) {
	await page.locator('#plan .tools button').last().click();
	await page.locator('.viewer .plan-container').waitFor();
	await drawn(page);
}

async function turn_to(page, tab) {
	await page.locator('.viewer a.nav-link', { hasText: tab }).first().evaluate((a) => a.click());
	await drawn(page);
}

// What stands in pev2's shadow root.
const inside = (page) => page.evaluate(() => {
	const all = [...document.querySelector('.viewer').shadowRoot.querySelectorAll('*')];
	return {
		strange: all.filter((e) => /^(?:script|style|link|img|iframe|object|embed|form|base|video|audio|source)$/i.test(e.localName) ||
			[...e.attributes].some((a) => /^(?:on|href$|src|action|xlink)/i.test(a.name))).map((e) => e.outerHTML.slice(0, 120)),
		text: document.querySelector('.viewer').shadowRoot.textContent,
	};
});

test('plans: pev2 is drawn when it is asked for, and goes again', async () => {
	const made = page_of('collect'), { page, heard } = await open_page(made);
	assert.equal(await page.locator('.viewer').count(), 0);
	await open_plan(page);
	assert.match((await inside(page)).text, /Seq Scan|Index Scan|Sort/);
	const before = await page.evaluate(() => location.hash);
	for (const tab of tabs) {
		await turn_to(page, tab);
		assert.match(await page.locator('.viewer a.nav-link.active').textContent(), new RegExp(tab));
	}
	assert.equal(await page.evaluate(() => location.hash), before, 'the address is the page’s');
	await page.locator('#plan .tools button').last().click();
	assert.equal(await page.locator('.viewer').count(), 0);
	assert.deepEqual(await misdeeds(page, heard, made.file), no_misdeeds);
	await page.close();
});

test('plans: names in every field of a plan are text in pev2, and run nothing', async () => {
	const made = page_of('collect-names'), { page, heard } = await open_page(made);
	await open_plan(page);
	for (const tab of tabs) {
		await turn_to(page, tab);
		const seen = await inside(page);
		assert.deepEqual(seen.strange, [], tab);
		if (tab === 'Raw')
			assert.match(seen.text, /Node Type/);
	}
	assert.deepEqual(await misdeeds(page, heard, made.file), no_misdeeds);
	await page.close();
});

for (const theme of ['light', 'dark'])
	test(`plans, ${theme}: axe finds nothing serious in pev2`, async () => {
		const { page } = await open_page(page_of('collect'), { bypassCSP: true }, `theme=${theme}`);
		await open_plan(page);
		await page.evaluate(axe_source);
		for (const tab of theme === 'light' ? ['Plan', 'Grid'] : ['Plan']) {
			await turn_to(page, tab);
			const found = await page.evaluate(() => globalThis.axe.run(document.querySelector('#plan'), { resultTypes: ['violations'] }));
			assert.deepEqual(found.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
				.map((v) => `${tab} ${v.id} ${v.nodes[0].target}`), []);
		}
		await page.close();
	});

test('plans: a page without one does not carry what draws them', () => {
	assert.ok(!page_of('collect-empty').html.includes('plan-container'));
	assert.ok(page_of('collect').html.includes('plan-container'));
});
