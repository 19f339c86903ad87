// names.ts - names of functions made shorter, as text_put_function() does: arguments go first, then template arguments, then what
// stands before the last "::" or "\". Pure.

/** The name without its argument list. "operator()" and "(anonymous namespace)" are no arguments. */
export function withoutArguments(name: string): string {
	const end = name.lastIndexOf(')');
	if (end < 0 || name.startsWith('[') || name.startsWith('{')) return name;
	let depth = 0;
	for (let i = end; i >= 0; i--) {
		if (name[i] === ')') depth++;
		else if (name[i] === '(' && --depth === 0) {
			const before = name.slice(0, i);
			return i === 0 || /(::|operator)$/.test(before) ? name : before;
		}
	}
	return name;
}

/** Outermost "<...>" as "<…>". An operator's own brackets stay. */
export function withoutTemplates(name: string): string {
	if (/operator[<>-]/.test(name)) return name;
	let out = '';
	let depth = 0;
	for (const c of name) {
		if (c === '<' && depth++ === 0) out += '<…>';
		else if (c === '>' && depth > 0) depth--;
		else if (depth === 0) out += c;
	}
	return depth === 0 ? out : name;
}

/** What stands behind the last "::" or "\" that is in no brackets. */
export function lastPart(name: string): string {
	let depth = 0;
	for (let i = name.length - 1; i > 0; i--) {
		if (')>]}'.includes(name[i])) depth++;
		else if ('(<[{'.includes(name[i])) depth--;
		else if (depth <= 0 && (name[i] === '\\' || (name[i] === ':' && name[i - 1] === ':'))) return name.slice(i + 1);
	}
	return name;
}

/** The longest form that fits; else the last part cut with "…", at least three characters; else nothing. */
export function fitName(name: string, fits: (text: string) => boolean): string {
	const short = withoutArguments(name);
	const plain = withoutTemplates(short);
	const last = lastPart(plain);
	for (const form of [name, short, plain, last]) if (fits(form)) return form;
	let low = 0;
	let high = [...last].length;
	const points = [...last];
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (fits(points.slice(0, middle).join('') + '…')) low = middle;
		else high = middle - 1;
	}
	return low >= 3 ? points.slice(0, low).join('') + '…' : '';
}
