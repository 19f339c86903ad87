// picture.mjs - takes a picture of a page in Debian's chromium.
// Usage: node picture.mjs PAGE.html OUT.png [WIDTH [HEIGHT [FRAGMENT [COLOURS]]]]
// HEIGHT 0: the whole page. COLOURS: a small picture of so many. That of the README, from ./dev demo:
//   node web/picture.mjs build/demo/nightly.html docs/page.png 1280 1640 theme=light 128
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { toPalette } from './palette.mjs';

const [page, out, width = '1440', height = '0', fragment = '', colours = ''] = process.argv.slice(2);
if (!page || !out) {
	console.error('usage: node picture.mjs PAGE.html OUT.png [WIDTH [HEIGHT [FRAGMENT [COLOURS]]]]');
	process.exit(2);
}
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
	const view = await browser.newPage({ viewport: { width: Number(width), height: Number(height) || 900 } });
	view.on('console', m => console.error(`page: ${m.text()}`));
	view.on('pageerror', e => console.error(`page: ${e.stack}`));
	const url = pathToFileURL(resolve(page));
	url.hash = fragment;
	await view.goto(url.href);
	await view.waitForSelector('#charts[data-state=drawn]', { timeout: 20000 });
	const png = await view.screenshot({ fullPage: height === '0' });
	writeFileSync(out, colours ? toPalette(png, Number(colours)) : png);
} finally {
	await browser.close();
}
