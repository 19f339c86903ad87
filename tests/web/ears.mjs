// ears.mjs - the desk hears what a page must not do: else every test of safety would pass for the wrong reason.
import assert from 'node:assert/strict';
import test from 'node:test';
import { drawn, misdeeds, open_page, write_page } from './desk.mjs';

const policy = (text) => `<meta http-equiv="Content-Security-Policy" content="${text}">`;

async function heard_of(html) {
	const made = write_page('bad', `<!doctype html><title>x</title>${html}`);
	const { page, heard } = await open_page(made);
	await drawn(page);
	const found = await misdeeds(page, heard, made.file);
	await page.close();
	return found;
}

test('a request is heard, and does not leave', async () => {
	const found = await heard_of('<img src="http://192.0.2.1/x.png">');
	assert.deepEqual(found.asked, ['http://192.0.2.1/x.png']);
});

test('a request by script is heard', async () => {
	const found = await heard_of('<script>fetch("http://192.0.2.1/y").catch(() => 0)</script>');
	assert.deepEqual(found.asked, ['http://192.0.2.1/y']);
});

test('a file beside the page is a request too', async () => {
	const found = await heard_of('<script src="other.js"></script>');
	assert.match(found.asked.join(), /other\.js/);
});

test('a script that runs out of a name is heard', async () => {
	assert.deepEqual((await heard_of('<img src=data:, onerror="window.__xss=1">')).ran, [1]);
});

test('what the policy stops is heard', async () => {
	const found = await heard_of(`${policy("default-src 'none'")}<script>1</script>`);
	assert.match(found.violations.join(), /script-src/);
	assert.notDeepEqual(found.loud, []);
});

test('an error, a warning and a dialog are heard', async () => {
	assert.match((await heard_of('<script>throw new Error("oh")</script>')).loud.join(), /oh/);
	assert.match((await heard_of('<script>console.warn("hm")</script>')).loud.join(), /hm/);
	assert.deepEqual((await heard_of('<script>alert("a")</script>')).dialogs, ['a']);
});
