// tap.mjs - what node's tests did, as TAP that meson reads: a line a test, and all else behind a "#".
function* comment(words) {
	for (const line of String(words).split('\n'))
		yield `# ${line}\n`;
}

export default async function* tap(events) {
	let count = 0;
	yield 'TAP version 13\n';
	for await (const { type, data } of events) {
		if (type === 'test:diagnostic' && data.nesting === 0)
			yield* comment(data.message);
		if (type !== 'test:pass' && type !== 'test:fail' || data.nesting > 0)
			continue;
		const skip = data.skip === undefined ? '' : ` # SKIP ${data.skip}`;
		yield `${type === 'test:pass' ? '' : 'not '}ok ${++count} - ${data.name.replace(/#/g, '')}${skip}\n`;
		if (type === 'test:fail')
			yield* comment(data.details.error.cause?.stack ?? data.details.error);
	}
	yield `1..${count}\n`;
}
