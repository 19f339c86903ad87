// desk.mjs - one browser for all tests, pages that `tare report --html` wrote, and ears for everything that a page must not do.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { corpus_file } from './corpus.mjs';

const need = createRequire(join(process.env.WEB, 'package.json'));
const { chromium } = need('playwright-core');
export const axe_source = readFileSync(need.resolve('axe-core/axe.min.js'), 'utf8');

export const kinds = ['record', 'watch', 'collect'];
// Those whose charts are drawn.
export const drawn_kinds = kinds;
const place = mkdtempSync(join(tmpdir(), 'tare-web-'));
const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };

function made(program, args) {
	return execFileSync(process.env[program], args, { env, cwd: place, encoding: 'utf8', maxBuffer: 1 << 24,
		stdio: ['ignore', 'pipe', 'pipe'] });
}

// Which maker writes what: the pages of one kind by the name that tests call them.
const makers = {
	record: ['MAKE_PAGE', 'night'],
	watch: ['MAKE_RECORDING', 'colony'],
	'watch-probes': ['MAKE_RECORDING', 'probes'],
	collect: ['MAKE_FLEET', 'shop'],
	'record-names': ['MAKE_PAGE', 'record-names', 'names'],
	'watch-names': ['MAKE_PAGE', 'watch-names', 'names'],
	'collect-names': ['MAKE_PAGE', 'fleet-names', 'names'],
	'record-crowd': ['MAKE_PAGE', 'record-crowd'],
	'watch-crowd': ['MAKE_PAGE', 'watch-crowd'],
	'collect-crowd': ['MAKE_PAGE', 'fleet-crowd'],
	'record-coarse': ['MAKE_RECORDING', 'coarse'],
	'record-empty': ['MAKE_RECORDING', 'empty'],
	'watch-empty': ['MAKE_RECORDING', 'watch_empty'],
	'collect-empty': ['MAKE_FLEET', 'empty'],
};

writeFileSync(join(place, 'names'), corpus_file);

// The names of the corpus as text.h shows them.
export function shown_names() {
	return made('MAKE_PAGE', ['shown', '-', 'names']).split('\0').slice(0, -1);
}

// The page called `name`, made at its first use: { file, html, bytes, said }.
const pages = new Map();
export function page_of(name) {
	if (!pages.has(name)) {
		const [program, kind, ...names] = makers[name], file = join(place, `${name}.html`);
		if (!existsSync(join(place, `${name}.tare`)))
			made(program, [kind, `${name}.tare`, ...names]);
		const said = made('TARE', ['report', '--html', file, `${name}.tare`]);
		pages.set(name, { file, said, bytes: statSync(file).size, html: readFileSync(file, 'utf8') });
	}
	return pages.get(name);
}

export function write_page(name, html) {
	const file = join(place, `${name}.html`);
	writeFileSync(file, html);
	return { file, html, bytes: html.length };
}

let browser;
export async function open_browser() {
	browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
		args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb', '--font-render-hinting=none'] });
}

export async function close_browser() {
	await browser?.close();
	rmSync(place, { recursive: true, force: true });
}

// Everything that a page does and must not: what it says aloud, what it asks for, what its policy stops, what runs.
function listen(page) {
	const heard = { requests: [], loud: [], dialogs: [] };
	page.on('request', (r) => heard.requests.push(r.url()));
	page.on('websocket', (w) => heard.requests.push(w.url()));
	page.on('console', (m) => ['error', 'warning'].includes(m.type()) && heard.loud.push(m.text()));
	page.on('pageerror', (e) => heard.loud.push(String(e)));
	page.on('crash', () => heard.loud.push('the page crashed'));
	page.on('popup', () => heard.dialogs.push('popup'));
	page.on('dialog', (d) => {
		heard.dialogs.push(d.message());
		void d.dismiss();
	});
	return heard;
}

const contexts = new Map();
async function context_of(options) {
	const key = JSON.stringify(options);
	if (!contexts.has(key)) {
		const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, timezoneId: 'UTC',
			locale: 'en-GB', reducedMotion: 'reduce', ...options });
		context.setDefaultTimeout(60000);
		// Nothing leaves, whatever a page tries.
		await context.route('**/*', (route) =>
			route.request().url().startsWith('file:') ? route.continue() : route.abort());
		await context.addInitScript(() => {
			globalThis.__violations = [];
			addEventListener('securitypolicyviolation', (e) =>
				globalThis.__violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`), true);
		});
		contexts.set(key, { context, idle: [], viewport: options.viewport ?? { width: 1440, height: 900 } });
	}
	return contexts.get(key);
}

// A page of that context: one that a test has left, else a new one. A new one costs a process.
async function page_in({ context, idle, viewport }) {
	const page = idle.pop() ?? await context.newPage(), close = page.close.bind(page);
	page.close = async () => {
		page.close = close;
		page.removeAllListeners();
		await page.goto('about:blank');
		await page.emulateMedia({ media: null });
		await page.setViewportSize(viewport);
		idle.push(page);
	};
	return page;
}

// Opens a page and waits until it is drawn. `options` are those of a browser's context.
export async function open_page({ file }, options = {}, fragment = '') {
	const page = await page_in(await context_of(options)), heard = listen(page);
	await page.goto(pathToFileURL(file).href + (fragment ? `#${fragment}` : ''));
	if (options.javaScriptEnabled !== false) {
		if (await page.locator('#charts').count() > 0)
			await page.locator('#charts[data-state=drawn]').waitFor({ state: 'attached' });
		await drawn(page);
	}
	return { page, heard };
}

// Two frames after everything that is due has run.
export async function drawn(page) {
	await page.evaluate(() => new Promise((done) =>
		setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))));
}

// The same, opened once for several tests that only look; closed with the browser.
const shared = new Map();
export function shared_page(name, options, fragment, prepare) {
	const key = JSON.stringify([name, options, fragment]);
	if (!shared.has(key))
		shared.set(key, open_page(page_of(name), options, fragment).then(async (opened) => {
			await prepare?.(opened.page);
			return opened;
		}));
	return shared.get(key);
}

// Unfolds what is folded and presses each button that shows more, so that everything of a page stands in its document.
export async function open_all(page) {
	await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)));
	for (let turns = 0; turns < 20; turns++) {
		const pressed = await page.evaluate(() => {
			const more = [...document.querySelectorAll('button')].filter((b) => /^[\d,]+ more$/.test(b.textContent));
			more.forEach((b) => b.click());
			return more.length;
		});
		if (pressed === 0)
			break;
	}
	await drawn(page);
}

// What was heard of it, with what only the page itself knows; all must be empty.
export async function misdeeds(page, heard, file) {
	const own = pathToFileURL(file).href;
	const inside = await page.evaluate(() => ({ xss: globalThis.__xss, violations: globalThis.__violations ?? [] }));
	return {
		asked: heard.requests.filter((url) => url.split('#')[0] !== own && !url.startsWith('data:image/')),
		loud: heard.loud,
		dialogs: heard.dialogs,
		violations: inside.violations,
		ran: inside.xss === undefined ? [] : [inside.xss],
	};
}

export const no_misdeeds = { asked: [], loud: [], dialogs: [], violations: [], ran: [] };
