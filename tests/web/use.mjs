// use.mjs - what a reader does with a page: each key, each drag, each search has an effect that is seen, and the fragment keeps it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { drawn, drawn_kinds, misdeeds, no_misdeeds, open_page, page_of } from './desk.mjs';

const plain = (text) => text.replace(/[\u00a0\s]+/g, ' ').trim();
const text_of = async (page, selector) => plain((await page.locator(selector).allTextContents()).join(' '));
const fragment_of = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const names_of = async (page) => (await page.locator('#tb tbody th').allTextContents()).map(plain);
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
	await page.locator('#hm').scrollIntoViewIfNeeded();
	const box = await page.locator('#hm').boundingBox();
	if (key)
		await page.keyboard.down(key);
	await page.mouse.move(box.x + from * box.width, box.y + 30);
	await page.mouse.down();
	await page.mouse.move(box.x + (from + to) / 2 * box.width, box.y + 30);
	await page.mouse.move(box.x + to * box.width, box.y + 30);
	await page.mouse.up();
	if (key)
		await page.keyboard.up(key);
	await drawn(page);
}

const test_if = (kind, name, act) => drawn_kinds.includes(kind) && test(name, act);

const numbers = (range) => range.split('-').map(Number);

for (const kind of drawn_kinds) {
	test(`${kind}: the verdict is about the whole run, whatever is dragged`, () => with_page(kind, '', async (page) => {
		const before = [await text_of(page, '.top'), await text_of(page, '#tb'), await text_of(page, '#hr')];
		await drag(page, 0.1, 0.3);
		assert.equal(await text_of(page, '.top'), before[0]);
		assert.notEqual(await text_of(page, '#tb'), before[1]);
		assert.notEqual(await text_of(page, '#hr'), before[2]);
		assert.match(await text_of(page, '#hr'), /^A /);
		const { a } = await fragment_of(page);
		assert.match(a, /^\d+-\d+$/);
	}));

	test(`${kind}: a second range shows the difference, by Shift and by the button`, () => with_page(kind, '', async (page) => {
		await drag(page, 0.05, 0.25);
		const alone = await text_of(page, '#tb');
		await drag(page, 0.75, 0.95, 'Shift');
		assert.match(await text_of(page, '#hr'), /^A .* B /);
		assert.notEqual(await text_of(page, '#tb'), alone);
		assert.match(await text_of(page, '#tb'), /[▲▼] [+−]|not distinguishable/);
		const by_shift = await fragment_of(page);
		await page.locator('#all').click();
		await drag(page, 0.05, 0.25);
		await page.locator('#mb').click();
		await drag(page, 0.75, 0.95);
		assert.deepEqual(await fragment_of(page), by_shift);
	}));

	test(`${kind}: the fragment brings ranges back`, () => with_page(kind, '', async (page) => {
		await drag(page, 0.05, 0.25);
		await drag(page, 0.75, 0.95, 'Shift');
		const before = [await fragment_of(page), await text_of(page, '#hr'), await text_of(page, '#tb')];
		await page.reload();
		await drawn(page);
		assert.deepEqual([await fragment_of(page), await text_of(page, '#hr'), await text_of(page, '#tb')], before);
	}));

	test(`${kind}: a click clears, the button and Esc show the whole run`, () => with_page(kind, '', async (page) => {
		const whole = await text_of(page, '#hr');
		const clear = {
			click: () => drag(page, 0.5, 0.5),
			button: () => page.locator('#all').click(),
			Esc: async () => (await page.locator('#hm').focus(), await press(page, 'Escape')),
		};
		for (const [by, act] of Object.entries(clear)) {
			await drag(page, 0.1, 0.3);
			assert.notEqual(await text_of(page, '#hr'), whole);
			await act();
			await drawn(page);
			assert.equal(await text_of(page, '#hr'), whole, by);
			assert.equal((await fragment_of(page)).a, undefined, by);
		}
	}));

	test(`${kind}: arrows move the range, with Shift they widen it, b takes the other`, () => with_page(kind, '', async (page) => {
		await page.locator('#hm').focus();
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
		assert.match(await text_of(page, '#hr'), / B /);
		const { a, b } = await fragment_of(page);
		await press(page, 'ArrowRight');
		assert.deepEqual(numbers((await fragment_of(page)).b), numbers(b).map((n) => n + 1));
		assert.equal((await fragment_of(page)).a, a);
		await press(page, 'b', 'ArrowRight');
		assert.deepEqual(numbers((await fragment_of(page)).a), numbers(a).map((n) => n + 1));
	}));

	test(`${kind}: a range stops at the ends of the run`, () => with_page(kind, '', async (page) => {
		await page.locator('#hm').focus();
		await press(page, 'ArrowRight', ...Array(6).fill('ArrowLeft'));
		assert.equal(numbers((await fragment_of(page)).a)[0], 0);
	}));

	test(`${kind}: a fragment that means nothing is passed over`, () =>
		with_page(kind, 'a=9999999-3&b=x&z=%00~nothing~&q=(&theme=pink&__proto__=1', async (page) => {
			assert.ok(await page.locator('#tb tbody tr').count() >= 1);
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
		const before = [await ground(), await drawing(page, '#hm')];
		await page.locator('#theme').click();
		await drawn(page);
		assert.notEqual(await ground(), before[0]);
		assert.notEqual(await drawing(page, '#hm'), before[1]);
		assert.equal((await fragment_of(page)).theme, 'dark');
		await page.reload();
		await drawn(page);
		assert.notEqual(await ground(), before[0]);
	}));

	test(`${kind}: a first click sorts numbers downward and names upward, a second turns round, ties keep their order`, () =>
		with_page(kind, '', async (page) => {
			const heads = page.locator('#tb thead th:has(button)');
			const sort = async (i) => (await heads.nth(i).locator('button').click(), heads.nth(i).getAttribute('aria-sort'));
			assert.equal(await sort(0), 'ascending');
			const up = await names_of(page);
			assert.equal(await sort(0), 'descending');
			assert.notDeepEqual(await names_of(page), up);
			assert.equal(await page.locator('#tb th[aria-sort]').count(), 1);
			assert.equal(await sort(1), 'descending');
			const down = await names_of(page);
			assert.equal(await sort(1), 'ascending');
			assert.equal(await sort(1), 'descending');
			assert.deepEqual(await names_of(page), down);
		}));
}

const searches = { record: 'Imagick|Magick', collect: 'stock|rollup' };
for (const [kind, words] of Object.entries(searches).filter(([k]) => drawn_kinds.includes(k))) {
	const pattern = new RegExp(words, 'i');

	test(`${kind}: a search filters the table and says the total of what matches`, () => with_page(kind, '', async (page) => {
		await press(page, '/');
		assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
		await page.keyboard.type(words);
		await drawn(page);
		const names = await names_of(page);
		assert.ok(names.length >= 2 && names.every((n) => pattern.test(n)), names.join(', '));
		assert.match(await text_of(page, '#qt'), /^matched \d.* ± \d.*in \d+ \w+/);
		assert.equal((await fragment_of(page)).q, words);
		await page.reload();
		await drawn(page);
		assert.deepEqual(await names_of(page), names);
		assert.equal(await page.locator('#q').inputValue(), words);
	}));

	test(`${kind}: a search that is no expression says so and keeps the last good one`, () => with_page(kind, '', async (page) => {
		await page.locator('#q').fill(words);
		const names = await names_of(page);
		await page.locator('#q').fill(`${words}(`);
		await drawn(page);
		assert.deepEqual(await names_of(page), names);
		assert.match(await text_of(page, '#qt'), /not a regular expression/);
		assert.equal(await page.locator('#q:invalid').count(), 1);
	}));

	test(`${kind}: no match is said, and where it looked`, () => with_page(kind, '', async (page) => {
		await page.locator('#q').fill('no such name');
		await drawn(page);
		assert.match(await text_of(page, '#qt'), /no match/);
		assert.match(await text_of(page, '#tb tbody'), /No \w+ matches\./);
	}));

	test(`${kind}: Esc clears the search`, () => with_page(kind, '', async (page) => {
		const all = await names_of(page);
		await page.locator('#q').fill(words);
		await page.locator('#q').press('Escape');
		await drawn(page);
		assert.deepEqual(await names_of(page), all);
		assert.equal((await fragment_of(page)).q, undefined);
	}));
}

test_if('record', 'record: keys of the flame graph move, zoom and go back', () => with_page('record', '', async (page) => {
	await page.locator('#fg').focus();
	await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
	const deep = await text_of(page, '#fr b');
	await press(page, 'ArrowUp');
	const caller = await text_of(page, '#fr b');
	assert.notEqual(caller, deep);
	await press(page, 'ArrowDown');
	assert.equal(await text_of(page, '#fr b'), deep);
	assert.match(await text_of(page, '#fr'), /\d+ % ± \d/);
	const before = await drawing(page, '#fg');
	await press(page, 'Enter');
	assert.notEqual(await drawing(page, '#fg'), before);
	assert.ok((await fragment_of(page)).z?.length > 0);
	assert.ok(await page.locator('#cr button').count() >= 1);
	for (const key of ['Backspace', 'Escape']) {
		await press(page, 'Enter');
		const depth = await page.locator('#cr button').count();
		await press(page, key);
		assert.ok(await page.locator('#cr button').count() < depth, key);
		await press(page, 'ArrowDown');
	}
}));

test_if('record', 'record: left and right go to neighbours', () => with_page('record', '', async (page) => {
	await page.locator('#fg').focus();
	await press(page, 'ArrowDown', 'ArrowDown');
	const first = await text_of(page, '#fr b');
	await press(page, 'ArrowRight');
	const next = await text_of(page, '#fr b');
	assert.notEqual(next, first);
	await press(page, 'ArrowLeft');
	assert.equal(await text_of(page, '#fr b'), first);
}));

test_if('record', 'record: i, r and c turn the graph, s shows callers and callees', () => with_page('record', '', async (page) => {
	await page.locator('#fg').focus();
	for (const [key, button] of [['i', '#inv'], ['r', '#up'], ['c', '[data-col=state]']]) {
		const before = await drawing(page, '#fg');
		assert.equal(await page.locator(button).getAttribute('aria-pressed'), 'false');
		await press(page, key);
		assert.equal(await page.locator(button).getAttribute('aria-pressed'), 'true', key);
		assert.notEqual(await drawing(page, '#fg'), before, key);
		await press(page, key);
		assert.equal(await page.locator(button).getAttribute('aria-pressed'), 'false', key);
		assert.equal(await drawing(page, '#fg'), before, key);
	}
	await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
	const name = await text_of(page, '#fr b');
	await press(page, 's');
	assert.match(await text_of(page, '#sw'), /Callers of .*Callees of /);
	assert.ok((await text_of(page, '#sw')).includes(name));
}));

test_if('record', 'record: n and N walk over the matches', () => with_page('record', '', async (page) => {
	await page.locator('#q').fill('Imagick|poll');
	await page.locator('#q').press('Enter');
	assert.equal(await page.evaluate(() => document.activeElement.id), 'fg');
	const seen = [];
	for (const key of ['n', 'n', 'N']) {
		await press(page, key);
		seen.push(await text_of(page, '#fr b'));
	}
	assert.ok(seen.every((s) => /Imagick|poll/.test(s)), seen.join(', '));
	assert.equal(seen[2], seen[0]);
}));

test_if('record', 'record: a click zooms and chooses, the way back is a button', () => with_page('record', '', async (page) => {
	await page.locator('#fg').scrollIntoViewIfNeeded();
	const box = await page.locator('#fg').boundingBox();
	await page.mouse.move(box.x + 40, box.y + 75);
	await drawn(page);
	const name = await text_of(page, '#fr b');
	assert.ok(name.length > 0);
	await page.mouse.down();
	await page.mouse.up();
	await drawn(page);
	assert.ok((await text_of(page, '#cr')).includes(name));
	const zoomed = await fragment_of(page);
	await page.reload();
	await drawn(page);
	assert.deepEqual(await fragment_of(page), zoomed);
	assert.ok((await text_of(page, '#cr')).includes(name));
	await page.locator('#cr button').first().click();
	assert.equal((await fragment_of(page)).z, undefined);
}));

test_if('record', 'record: thin frames are one box that says how many and their sum, and opens', () => with_page('record', '', async (page) => {
	await page.locator('#fg').focus();
	const seen = [];
	await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
	for (let i = 0; i < 30; i++) {
		seen.push(await text_of(page, '#fr b'));
		if (/\d+ thin/.test(seen.at(-1)))
			break;
		await press(page, 'ArrowRight');
	}
	assert.match(seen.at(-1), /^\d+ thin/);
	assert.match(await text_of(page, '#fr'), /±|under/);
}));

test_if('record', 'record: a table shows sixteen rows, with a search sixty, and a button shows the rest', () => with_page('record', '', async (page) => {
	assert.equal(await page.locator('#tb tbody th').count(), 16);
	const more = page.locator('#tb button', { hasText: /^[\d,]+ more$/ });
	const rest = Number((await more.textContent()).replace(/\D/g, ''));
	await more.click();
	assert.equal(await page.locator('#tb tbody th').count(), 16 + rest);
	await page.locator('#q').fill('method');
	await drawn(page);
	assert.equal(await page.locator('#tb tbody th').count(), 60);
}));

test_if('watch', 'watch: j and k choose the next and the previous function', () => with_page('watch', '', async (page) => {
	const first = await text_of(page, '#fn');
	await press(page, 'j');
	const next = await text_of(page, '#fn');
	assert.notEqual(next, first);
	assert.equal(await page.locator('#tb tr[aria-selected=true]').count(), 1);
	await press(page, 'k');
	assert.equal(await text_of(page, '#fn'), first);
}));

test_if('watch', 'watch: a row that is chosen is shown over time', () => with_page('watch', '', async (page) => {
	const before = await drawing(page, '#gm');
	const row = page.locator('#tb tbody tr:not([aria-selected=true]) th button').first(), name = await row.textContent();
	await row.click();
	await drawn(page);
	assert.equal(await text_of(page, '#fn'), plain(name));
	assert.notEqual(await drawing(page, '#gm'), before);
}));
