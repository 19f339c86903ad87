// picture.mjs - takes a picture of a page in Debian's chromium.
// Usage: node picture.mjs PAGE.html OUT.png [WIDTH [HEIGHT [FRAGMENT]]]     HEIGHT 0: the whole page
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [page, out, width = '1440', height = '0', fragment = ''] = process.argv.slice(2);
if (!page || !out) {
	console.error('usage: node picture.mjs PAGE.html OUT.png [WIDTH [HEIGHT [FRAGMENT]]]');
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
	await view.screenshot({ path: out, fullPage: height === '0' });
} finally {
	await browser.close();
}
