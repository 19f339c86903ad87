// build.mjs - bundles the viewer and writes it as one C file: a style, and one script a kind of page.
// Usage: node build.mjs OUT.c OUT.d      OUT.d tells ninja what the bundles were made from
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { pev2 } from './pev2.mjs';

const here = dirname(fileURLToPath(import.meta.url));

/** Every script that a page can carry, by the name that the program asks for. */
const scripts = {
	record: 'src/record/record.ts',
	watch: 'src/watch/watch.ts',
	collect: 'src/collect/collect.ts',
	plans: 'src/collect/plans.ts',
};

/** Vue without what is only for its developers. */
const vue = {
	'process.env.NODE_ENV': '"production"', __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false',
	__VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
};

const common = {
	absWorkingDir: here,
	bundle: true,
	minify: true,
	write: false,
	metafile: true,
	legalComments: 'none',
	charset: 'utf8',
	logLevel: 'warning',
};

/** The dark tokens hold where the reader's system is dark, too, unless the page was told otherwise. */
function followSystem(css) {
	const dark = /:root\[data-theme=["']?dark["']?\]\{([^}]*)\}/.exec(css);
	if (!dark) throw new Error('page.css has no :root[data-theme=dark]');
	const at = dark.index + dark[0].length;
	const rule = `@media screen and (prefers-color-scheme:dark){:root:not([data-theme]){${dark[1]}}}`;
	return css.slice(0, at) + rule + css.slice(at);
}

/** What would end the element that it stands in, or change how the rest is read. */
function refuse(name, text) {
	const bad = /<\/script|<script|<!--|<\/style|\r|\0/i.exec(text);
	if (bad) throw new Error(`${name} holds ${JSON.stringify(bad[0])}, which its element cannot`);
	return text;
}

function literal(text) {
	const lines = [];
	const bytes = Buffer.from(text);
	for (let i = 0; i < bytes.length; i += 96) {
		let line = '';
		for (const b of bytes.subarray(i, i + 96)) {
			if (b < 0x20 || b > 0x7e || b === 0x3f) line += '\\' + b.toString(8).padStart(3, '0');
			else if (b === 0x22 || b === 0x5c) line += '\\' + String.fromCharCode(b);
			else line += String.fromCharCode(b);
		}
		lines.push(`\t"${line}"`);
	}
	return lines.join('\n');
}

function row(name, text) {
	const hash = createHash('sha256').update(text).digest('base64');
	return `{ "${name}", ${name}_bytes, sizeof(${name}_bytes) - 1, "sha256-${hash}" }`;
}

const [outC, outD] = process.argv.slice(2);
const parts = new Map();
const inputs = new Set(['build.mjs', 'pev2.mjs', 'package-lock.json']);
function keep(result) {
	Object.keys(result.metafile.inputs).filter(name => !name.includes(':')).forEach(name => inputs.add(name));
	return result.outputFiles[0].text.trimEnd();
}

const style = await build({ ...common, entryPoints: ['style/page.css'] });
parts.set('style', refuse('style', followSystem(keep(style))));
for (const [name, entry] of Object.entries(scripts)) {
	if (!existsSync(join(here, entry))) continue;
	const result = await build({ ...common, entryPoints: [entry], format: 'iife', target: 'es2020', plugins: [pev2], define: vue,
		legalComments: name === 'plans' ? 'eof' : 'none' });
	parts.set(name, refuse(name, keep(result)));
}

const arrays = [...parts].map(([name, text]) => `static const char ${name}_bytes[] =\n${literal(text)};\n`);
const rows = [...parts].map(([name, text]) => `\t${row(name, text)},`);
writeFileSync(outC, `/* Made by web/build.mjs. */
#include "cli/viewer.h"

${arrays.join('\n')}
const struct viewer_part viewer_parts[] = {
${rows.join('\n')}
};
const size_t viewer_part_count = sizeof(viewer_parts) / sizeof(viewer_parts[0]);
`);
const depends = [...inputs].map(name => relative(process.cwd(), join(here, name)).replace(/ /g, '\\ '));
writeFileSync(outD, `${relative(process.cwd(), outC)}: ${depends.join(' ')}\n`);
