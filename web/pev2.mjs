// pev2.mjs - bundles pev2 so that it keeps the page's rules: no markup of text, no address and no storage of the page, no style element, no
// link. Each place that is changed is counted: another release of pev2 fails the build here, not in a reader's browser.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'node_modules/pev2/dist');
const shims = join(here, 'src/collect/pev2');

/** [what, how often it stands there, what takes its place]. */
const changes = [
	[/\b(\w+)\.innerHTML = ([^,;]+)/g, 7, 'tareHtml($1, $2)'],
	['t[SL()] = e;', 1, 'tareHtml(t, e);'],
	['a0 = function() {\n  return document.body;\n}', 1, 'a0 = function() {\n  return tareTips();\n}'],
	['window.location.hash', 2, 'tareAddress.hash'],
	['window.addEventListener("hashchange", L)', 1, 'tareAddress.listen(L)'],
	['window.removeEventListener("hashchange", L)', 1, 'tareAddress.forget(L)'],
	[/\blocalStorage\b/g, 6, 'tareStorage'],
	['autoAddCss: !0', 1, 'autoAddCss: !1'],
];

function changed(source) {
	let text = source;
	for (const [what, times, put] of changes) {
		const found = typeof what === 'string' ? text.split(what).length - 1 : [...text.matchAll(what)].length;
		if (found !== times) throw new Error(`pev2 has '${what}' ${found} times, and not ${times}: look at web/pev2.mjs`);
		text = text.replaceAll(what, put);
	}
	const shim = JSON.stringify(join(shims, 'place.ts'));
	return `import { html as tareHtml, tipPlace as tareTips, address as tareAddress, storage as tareStorage } from ${shim};\n${text}`;
}

/** Rules of a style sheet, of which those in @media are nested: [prelude, body]. */
function rules(css) {
	const out = [];
	for (let at = 0; at < css.length;) {
		const open = css.indexOf('{', at);
		if (open < 0) break;
		let depth = 1, end = open + 1;
		for (; depth > 0 && end < css.length; end++) depth += css[end] === '{' ? 1 : css[end] === '}' ? -1 : 0;
		out.push([css.slice(at, open).trim(), css.slice(open + 1, end - 1)]);
		at = end;
	}
	return out;
}

/** Only what pev2 has a class for, and all of what is no class. */
function used(css, source) {
	return rules(css).map(([prelude, body]) => {
		if (/^@(media|supports)/.test(prelude)) {
			const inner = used(body, source);
			return inner ? `${prelude}{${inner}}` : '';
		}
		if (prelude.startsWith('@')) return /^@keyframes/.test(prelude) ? '' : `${prelude}{${body}}`;
		const kept = prelude.split(/,(?![^(]*\))/).filter(selector =>
			[...selector.matchAll(/\.((?:[\w-]|\\.)+)/g)].every(([, name]) => source.includes(name.replace(/\\/g, ''))));
		return kept.length > 0 ? `${kept.join(',')}{${body}}` : '';
	}).join('');
}

/** Bootstrap's rules for pev2 and its own, for a shadow root: what is said of the page is said of the ground. */
function style() {
	const source = readFileSync(join(dist, 'pev2.es.js'), 'utf8');
	const own = readFileSync(join(dist, 'pev2.css'), 'utf8');
	const bootstrap = readFileSync(join(here, 'node_modules/bootstrap/dist/css/bootstrap.min.css'), 'utf8')
		.replace(/\/\*[^]*?\*\//g, '').replace('@charset "UTF-8";', '');
	const ground = ':host>div{height:640px;position:relative}.pev{height:100%;display:flex;flex-direction:column;font-size:14px}a[role=button]{cursor:pointer}'
		+ '.pev{--bs-link-color:#0a58ca;--bs-link-color-rgb:10,88,202;--bs-nav-link-color:#0a58ca;--bs-primary-rgb:10,88,202;--bs-tertiary-color:#5b6067;'
		+ '--bs-secondary-color:#50565d}.pev .nav{--bs-nav-link-color:#0a58ca;--bs-nav-pills-link-active-bg:#0a58ca}'
		+ '[data-bs-theme=dark] .pev{--bs-link-color:#9ec5fe;--bs-link-color-rgb:158,197,254;--bs-tertiary-color:#adb3b9;--bs-secondary-color:#bcc2c8}'
		+ '[data-bs-theme=dark] .pev .nav{--bs-nav-link-color:#9ec5fe}.pev .btn-outline-secondary{--bs-btn-color:#50565d;--bs-btn-disabled-color:#50565d}.pev .text-body-tertiary,.pev .text-body-secondary{color:var(--bs-secondary-color)!important}'
		+ '[data-bs-theme=dark] .pev .btn-outline-secondary{--bs-btn-color:#bcc2c8;--bs-btn-disabled-color:#bcc2c8}'
		+ '.svg-inline--fa{display:inline-block;box-sizing:content-box;height:1em;width:1.25em;overflow:visible;vertical-align:-.125em}';
	return (used(bootstrap, source) + own + ground)
		.replace(/:root\b/g, ':host').replace(/(^|[},])body\{/g, '$1.pev{').replace(/url\((?!"?data:)[^)]*\)/g, 'none');
}

/** For esbuild: pev2 as it is to be, its Vue, its style as text. */
export const pev2 = {
	name: 'pev2',
	setup(build) {
		build.onLoad({ filter: /pev2\.es\.js$/ }, ({ path }) => ({ contents: changed(readFileSync(path, 'utf8')), loader: 'js', resolveDir: dirname(path) }));
		build.onResolve({ filter: /^vue$/ }, () => ({ path: join(shims, 'vue.ts') }));
		build.onResolve({ filter: /^pev2$/ }, () => ({ path: join(dist, 'pev2.es.js') }));
		build.onResolve({ filter: /^pev2-style$/ }, ({ path }) => ({ path, namespace: 'pev2-style' }));
		build.onLoad({ filter: /.*/, namespace: 'pev2-style' }, () => ({ contents: style(), loader: 'text' }));
	},
};
