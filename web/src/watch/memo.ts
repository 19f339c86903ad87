// memo.ts - charts are drawn with every move of the pointer; what they draw is worked out once.

/** The same for spans of rows: `make` is asked once for each. */
export function memo<T>(make: (from: number, to: number) => T): (from: number, to: number) => T {
	const known = new Map<number, T>();
	return (from, to) => {
		const key = from * 4096 + to;
		let value = known.get(key);
		if (value === undefined) {
			value = make(from, to);
			known.set(key, value);
		}
		return value;
	};
}
