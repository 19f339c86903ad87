// test.mjs - runs web/test/*.test.ts in this node, as TAP.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'tare-web-'));
let status = 1;
try {
	const tests = readdirSync(join(here, 'test')).filter(name => name.endsWith('.test.ts')).sort();
	const lines = tests.map(name => `import './test/${name}';`).join('\n');
	const outfile = join(place, 'all.mjs');
	buildSync({
		stdin: { contents: lines, resolveDir: here }, bundle: true, platform: 'node', format: 'esm', target: 'node18', outfile,
		sourcemap: 'inline', logLevel: 'warning',
	});
	status = spawnSync(process.execPath, ['--enable-source-maps', '--test-reporter=tap', outfile], { stdio: 'inherit' }).status ?? 1;
} finally {
	rmSync(place, { recursive: true });
}
process.exit(status);
