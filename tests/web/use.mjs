// use.mjs - what a reader does with a page: each key, each drag, each search has an effect that is seen, and the fragment keeps it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { drawn, drawn_kinds, misdeeds, no_misdeeds, open_page, page_of } from './desk.mjs';

// The parts of a page by what they are; the table is that of places, functions or statements.
const heat = '#when canvas[tabindex]', said = '#when .read[aria-live]', search = 'input[type=search]', found = '#matched';
const flame = '#flame', box = '#box b', facts = '#box', crumbs = '.crumbs';
const whole = '#when button:text-is("Whole run")', sets_b = '#when button:text-is("Drag sets B")';
const tables = { record: '#functions table', watch: '#functions table', collect: '#statements table' };

const plain = (text) => text.replace(/[\u00a0\s]+/g, ' ').trim();
const text_of = async (page, selector) => plain(await page.locator(selector).first().textContent());
const fragment_of = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const names_of = async (page, table) => (await page.locator(`${table} tbody th`).allTextContents()).map(plain);
// The pixels of a canvas, to see whether it was drawn anew.
const drawing = (page, selector) => page.locator(selector).evaluate((c) => c.toDataURL().length + c.toDataURL().slice(-400));

// Opens the page of a kind, does something with it, and it has done nothing that it must not.
async function with_page(kind, fragment, act) {
	const made = page_of(kind), { page, heard } = await open_page(made, {}, fragment);
	await act(page, made);
	assert.deepEqual(await misdeeds(page, heard, made.file), no_misdeeds);
	await page.close();
}

async function press(page, ...keys) {
	for (const key of keys)
		await page.keyboard.press(key);
	await drawn(page);
}

// Drags over a part of the timeline, both in parts of its width.
async function drag(page, from, to, key) {
	await page.locator(heat).scrollIntoViewIfNeeded();
	const at = await page.locator(heat).boundingBox();
	if (key)
		await page.keyboard.down(key);
	await page.mouse.move(at.x + from * at.width, at.y + 30);
	await page.mouse.down();
	await page.mouse.move(at.x + (from + to) / 2 * at.width, at.y + 30);
	await page.mouse.move(at.x + to * at.width, at.y + 30);
	await page.mouse.up();
	if (key)
		await page.keyboard.up(key);
	await drawn(page);
}

const test_if = (kind, name, act) => drawn_kinds.includes(kind) && test(name, act);

const numbers = (range) => range.split('-').map(Number);

for (const kind of drawn_kinds) {
	const table = tables[kind];

	test(`${kind}: the verdict is about the whole run, whatever is dragged`, () => with_page(kind, '', async (page) => {
		const before = [await text_of(page, '.top'), await text_of(page, table), await text_of(page, said)];
		await drag(page, 0.1, 0.3);
		assert.equal(await text_of(page, '.top'), before[0]);
		assert.notEqual(await text_of(page, table), before[1]);
		assert.notEqual(await text_of(page, said), before[2]);
		assert.match(await text_of(page, said), /^A \d/);
		const { a } = await fragment_of(page);
		assert.match(a, /^\d+-\d+$/);
	}));

	test(`${kind}: a second range shows the difference, by Shift and by the button`, () => with_page(kind, '', async (page) => {
		await drag(page, 0.05, 0.25);
		const alone = await text_of(page, table);
		await drag(page, 0.75, 0.95, 'Shift');
		assert.match(await text_of(page, said), /^A \d.*B \d/);
		assert.notEqual(await text_of(page, table), alone);
		assert.match(await text_of(page, table), /[▲▼] [+−]|not distinguishable/);
		const by_shift = await fragment_of(page);
		await page.locator(whole).click();
		await drag(page, 0.05, 0.25);
		await page.locator(sets_b).click();
		await drag(page, 0.75, 0.95);
		assert.deepEqual(await fragment_of(page), by_shift);
	}));

	test(`${kind}: the fragment brings ranges back`, () => with_page(kind, '', async (page) => {
		await drag(page, 0.05, 0.25);
		await drag(page, 0.75, 0.95, 'Shift');
		const before = [await fragment_of(page), await text_of(page, said), await text_of(page, table)];
		await page.reload();
		await drawn(page);
		assert.deepEqual([await fragment_of(page), await text_of(page, said), await text_of(page, table)], before);
	}));

	test(`${kind}: a click clears, the button and Esc show the whole run`, () => with_page(kind, '', async (page) => {
		const all = await text_of(page, said);
		const clear = {
			click: () => drag(page, 0.5, 0.5),
			button: () => page.locator(whole).click(),
			Esc: async () => (await page.locator(heat).focus(), await press(page, 'Escape')),
		};
		for (const [by, act] of Object.entries(clear)) {
			await drag(page, 0.1, 0.3);
			assert.notEqual(await text_of(page, said), all);
			await act();
			await drawn(page);
			assert.equal(await text_of(page, said), all, by);
			assert.equal((await fragment_of(page)).a, undefined, by);
		}
	}));

	test(`${kind}: arrows move the range, with Shift they widen it, b takes the other`, () => with_page(kind, '', async (page) => {
		await page.locator(heat).focus();
		await press(page, 'ArrowRight');
		const first = numbers((await fragment_of(page)).a);
		await press(page, 'ArrowRight', 'ArrowRight', 'ArrowLeft');
		const moved = numbers((await fragment_of(page)).a);
		assert.deepEqual(moved, first.map((n) => n + 1));
		await press(page, 'Shift+ArrowRight');
		assert.deepEqual(numbers((await fragment_of(page)).a), [moved[0], moved[1] + 1]);
		await press(page, 'Shift+ArrowLeft', 'Shift+ArrowLeft');
		assert.deepEqual(numbers((await fragment_of(page)).a), [moved[0], moved[1] - 1]);
		await press(page, 'b');
		assert.match(await text_of(page, said), /A \d.*B \d/);
		const { a, b } = await fragment_of(page);
		await press(page, 'ArrowRight');
		assert.deepEqual(numbers((await fragment_of(page)).b), numbers(b).map((n) => n + 1));
		assert.equal((await fragment_of(page)).a, a);
		await press(page, 'b', 'ArrowRight');
		assert.deepEqual(numbers((await fragment_of(page)).a), numbers(a).map((n) => n + 1));
	}));

	test(`${kind}: a range stops at the ends of the run`, () => with_page(kind, '', async (page) => {
		await page.locator(heat).focus();
		await press(page, 'ArrowRight', ...Array(6).fill('ArrowLeft'));
		assert.equal(numbers((await fragment_of(page)).a)[0], 0);
	}));

	test(`${kind}: a fragment that means nothing is passed over`, () =>
		with_page(kind, 'a=9999999-3&b=x&z=%00~nothing~&q=(&theme=pink&__proto__=1', async (page) => {
			assert.ok(await page.locator(`${table} tbody tr`).count() >= 1);
			assert.match(await page.evaluate(() => document.documentElement.dataset.theme ?? 'light'), /^(?:light|dark)$/);
		}));

	test(`${kind}: ? shows the keys, Esc closes them`, () => with_page(kind, '', async (page) => {
		await press(page, '?');
		assert.equal(await page.locator('dialog[open]').count(), 1);
		assert.match(await text_of(page, 'dialog'), /Keys/);
		await press(page, 'Escape');
		assert.equal(await page.locator('dialog[open]').count(), 0);
	}));

	test(`${kind}: light and dark change what is drawn, and the fragment keeps it`, () => with_page(kind, 'theme=light', async (page) => {
		const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const before = [await ground(), await drawing(page, heat)];
		await page.locator('#theme').click();
		await drawn(page);
		assert.notEqual(await ground(), before[0]);
		assert.notEqual(await drawing(page, heat), before[1]);
		assert.equal((await fragment_of(page)).theme, 'dark');
		await page.reload();
		await drawn(page);
		assert.notEqual(await ground(), before[0]);
	}));

	test(`${kind}: a first click sorts numbers downward and names upward, a second turns round, ties keep their order`, () =>
		with_page(kind, '', async (page) => {
			const heads = { names: page.locator(`${table} thead th.l:has(button)`).first(), numbers: page.locator(`${table} thead th:not(.l):has(button)`).nth(1) };
			const sort = async (by) => (await heads[by].locator('button').click(), heads[by].getAttribute('aria-sort'));
			assert.equal(await sort('names'), 'ascending');
			const up = await names_of(page, table);
			assert.equal(await sort('names'), 'descending');
			assert.notDeepEqual(await names_of(page, table), up);
			assert.equal(await page.locator(`${table} th[aria-sort]`).count(), 1);
			assert.equal(await sort('numbers'), 'descending');
			const down = await names_of(page, table);
			assert.equal(await sort('numbers'), 'ascending');
			assert.equal(await sort('numbers'), 'descending');
			assert.deepEqual(await names_of(page, table), down);
		}));
}

const searches = { record: 'Imagick|Magick', watch: 'think|weather', collect: 'stock|rollup' };
for (const [kind, words] of Object.entries(searches).filter(([k]) => drawn_kinds.includes(k))) {
	const pattern = new RegExp(words, 'i'), table = tables[kind];

	test(`${kind}: a search filters the table and says the total of what matches`, () => with_page(kind, '', async (page) => {
		await press(page, '/');
		assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
		await page.keyboard.type(words);
		await drawn(page);
		const names = await names_of(page, table);
		assert.ok(names.length >= 2 && names.every((n) => pattern.test(n)), names.join(', '));
		// Where every call was timed, or all time was covered, a share is exact and has no error.
		assert.match(await text_of(page, found), kind === 'record' ? /^matched \d.* ± \d.*in \d+ places/ : /^matched \d.* % .*in \d+ \w+/);
		assert.equal((await fragment_of(page)).q, words);
		await page.reload();
		await drawn(page);
		assert.deepEqual(await names_of(page, table), names);
		assert.equal(await page.locator(search).inputValue(), words);
	}));

	test(`${kind}: a search that is no expression says so and keeps the last good one`, () => with_page(kind, '', async (page) => {
		await page.locator(search).fill(words);
		const names = await names_of(page, table);
		await page.locator(search).fill(`${words}(`);
		await drawn(page);
		assert.deepEqual(await names_of(page, table), names);
		assert.match(await text_of(page, found), /not a regular expression/);
		assert.equal(await page.locator(`${search}:invalid`).count(), 1);
	}));

	test(`${kind}: no match is said, and where it looked`, () => with_page(kind, '', async (page) => {
		await page.locator(search).fill('no such name');
		await drawn(page);
		assert.match(await text_of(page, found), /^(?:no match|matched 0 .*in 0 )/);
		assert.match(await text_of(page, `${table} tbody`), /No \w+ matches\./);
	}));

	test(`${kind}: Esc clears the search`, () => with_page(kind, '', async (page) => {
		const all = await names_of(page, table);
		await page.locator(search).fill(words);
		await page.locator(search).press('Escape');
		await drawn(page);
		assert.deepEqual(await names_of(page, table), all);
		assert.equal((await fragment_of(page)).q, undefined);
	}));
}

test_if('record', 'record: keys of the flame graph move, zoom and go back', () => with_page('record', '', async (page) => {
	await page.locator(flame).focus();
	await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
	const deep = await text_of(page, box);
	await press(page, 'ArrowUp');
	const caller = await text_of(page, box);
	assert.notEqual(caller, deep);
	await press(page, 'ArrowDown');
	assert.equal(await text_of(page, box), deep);
	assert.match(await text_of(page, facts), /\d+ % ± \d/);
	const before = await drawing(page, flame);
	await press(page, 'Enter');
	assert.notEqual(await drawing(page, flame), before);
	assert.ok((await fragment_of(page)).z?.length > 0);
	assert.ok(await page.locator(`${crumbs} button`).count() >= 1);
	for (const key of ['Backspace', 'Escape']) {
		await press(page, 'Enter');
		const depth = await page.locator(`${crumbs} button`).count();
		await press(page, key);
		assert.ok(await page.locator(`${crumbs} button`).count() < depth, key);
		await press(page, 'ArrowDown');
	}
}));

test_if('record', 'record: left and right go to neighbours', () => with_page('record', '', async (page) => {
	await page.locator(flame).focus();
	await press(page, 'ArrowDown', 'ArrowDown');
	const first = await text_of(page, box);
	await press(page, 'ArrowRight');
	const next = await text_of(page, box);
	assert.notEqual(next, first);
	await press(page, 'ArrowLeft');
	assert.equal(await text_of(page, box), first);
}));

test_if('record', 'record: i, r and c turn the graph, s shows callers and callees', () => with_page('record', '', async (page) => {
	await page.locator(flame).focus();
	for (const [key, button] of [['i', '#invert'], ['r', '#below'], ['c', '[data-value=state]']]) {
		const before = await drawing(page, flame);
		assert.equal(await page.locator(button).getAttribute('aria-pressed'), 'false');
		await press(page, key);
		assert.equal(await page.locator(button).getAttribute('aria-pressed'), 'true', key);
		assert.notEqual(await drawing(page, flame), before, key);
		await press(page, key);
		assert.equal(await page.locator(button).getAttribute('aria-pressed'), 'false', key);
		assert.equal(await drawing(page, flame), before, key);
	}
	await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
	const name = await text_of(page, box);
	await press(page, 's');
	assert.match(await text_of(page, '#neighbours'), /Callers of .*Callees of /);
	assert.ok((await text_of(page, '#neighbours')).includes(name));
}));

test_if('record', 'record: n and N walk over the matches', () => with_page('record', '', async (page) => {
	await page.locator(search).fill('Imagick|poll');
	await page.locator(search).press('Enter');
	assert.equal(await page.evaluate(() => document.activeElement.id), 'flame');
	const seen = [];
	for (const key of ['n', 'n', 'N']) {
		await press(page, key);
		seen.push(await text_of(page, box));
	}
	assert.ok(seen.every((s) => /Imagick|poll/.test(s)), seen.join(', '));
	assert.equal(seen[2], seen[0]);
}));

test_if('record', 'record: a click zooms and chooses, the way back is a button', () => with_page('record', '', async (page) => {
	await page.locator(flame).scrollIntoViewIfNeeded();
	const at = await page.locator(flame).boundingBox();
	await page.mouse.move(at.x + 40, at.y + 75);
	await drawn(page);
	const name = await text_of(page, box);
	assert.ok(name.length > 0);
	await page.mouse.down();
	await page.mouse.up();
	await drawn(page);
	assert.ok((await text_of(page, crumbs)).includes(name));
	const zoomed = await fragment_of(page);
	await page.reload();
	await drawn(page);
	assert.deepEqual(await fragment_of(page), zoomed);
	assert.ok((await text_of(page, crumbs)).includes(name));
	await page.locator(`${crumbs} button`).first().click();
	assert.equal((await fragment_of(page)).z, undefined);
}));

test_if('record', 'record: thin frames are one box that says how many and their sum, and opens', () => with_page('record', '', async (page) => {
	await page.locator(flame).focus();
	const seen = [];
	await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
	for (let i = 0; i < 30; i++) {
		seen.push(await text_of(page, box));
		if (/\d+ thin/.test(seen.at(-1)))
			break;
		await press(page, 'ArrowRight');
	}
	assert.match(seen.at(-1), /^\d+ thin/);
	assert.match(await text_of(page, facts), /±|under/);
}));

test_if('record', 'record: a table shows sixteen rows, with a search sixty, and a button shows the rest', () => with_page('record', '', async (page) => {
	const table = tables.record;
	assert.equal(await page.locator(`${table} tbody th button`).count(), 16);
	const more = page.locator(`${table} button`, { hasText: /^[\d,]+ more$/ });
	const rest = Number((await more.textContent()).replace(/\D/g, ''));
	await more.click();
	assert.equal(await page.locator(`${table} tbody th button`).count(), 16 + rest);
	await page.reload();
	await drawn(page);
	await page.locator(search).fill('method');
	await drawn(page);
	assert.equal(await page.locator(`${table} tbody th button`).count(), 60);
}));

const chosen = { watch: '#fn', collect: '#plan header' };
for (const kind of Object.keys(chosen).filter((k) => drawn_kinds.includes(k))) {
	const table = tables[kind], selected = `${table} tr[aria-selected=true]`;

	test(`${kind}: j and k choose the next and the previous row, and what is below is of it`, () => with_page(kind, '', async (page) => {
		const first = await text_of(page, chosen[kind]);
		await press(page, 'j');
		assert.notEqual(await text_of(page, chosen[kind]), first);
		assert.equal(await page.locator(selected).count(), 1);
		const kept = await fragment_of(page), next = await text_of(page, chosen[kind]);
		await page.reload();
		await drawn(page);
		assert.deepEqual(await fragment_of(page), kept);
		assert.equal(await text_of(page, chosen[kind]), next);
		await press(page, 'k');
		assert.equal(await text_of(page, chosen[kind]), first);
	}));

	test(`${kind}: a click chooses a row`, () => with_page(kind, '', async (page) => {
		const row = page.locator(`${table} tbody tr:not([aria-selected=true]) th button`).first(), name = plain(await row.textContent());
		const before = await text_of(page, chosen[kind]);
		await row.click();
		await drawn(page);
		assert.notEqual(await text_of(page, chosen[kind]), before);
		assert.ok((await text_of(page, selected)).startsWith(name));
	}));
}

test_if('watch', 'watch: the chosen function is drawn over time', () => with_page('watch', '', async (page) => {
	const before = await drawing(page, '#time canvas[tabindex]');
	await press(page, 'j');
	assert.notEqual(await drawing(page, '#time canvas[tabindex]'), before);
}));

test_if('watch', 'watch: a recording without frames shows functions over time instead', async () => {
	const made = page_of('watch-probes'), { page, heard } = await open_page(made);
	const all = await text_of(page, tables.watch);
	await drag(page, 0.1, 0.3);
	assert.notEqual(await text_of(page, tables.watch), all);
	assert.deepEqual(await misdeeds(page, heard, made.file), no_misdeeds);
	await page.close();
});

test_if('collect', 'collect: the plan before and after a change stand side by side', () => with_page('collect', '', async (page) => {
	const plan = await text_of(page, '#plan');
	assert.match(plan, /Before/);
	assert.match(plan, /After/);
	assert.match(plan, /Index Scan/);
	assert.match(plan, /Seq Scan/);
}));
