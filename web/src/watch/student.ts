// student.ts - Student's t, as core/stats.c has it, and errors that add by their squares.

const Z95 = 1.959963984540054;

const TABLE = [
	Infinity, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788, 2.1604, 2.1448,
	2.1314, 2.1199, 2.1098, 2.1009, 2.093, 2.086, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452,
	2.0423, 2.0395,
];

/** For a two-sided 95 % interval. */
export function t95(degrees: number): number {
	return TABLE[degrees] ?? Z95 + (2.372271 + (2.822499 + 2.55585 / degrees) / degrees) / degrees;
}

/** Two errors that have nothing to do with each other, as one. */
export function together(a: number, b: number): number {
	return Math.hypot(a, b);
}
