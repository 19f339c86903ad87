// colour.mjs - arithmetic of colours: WCAG 2 contrast, CIE 1976 distance, and colour blindness after Machado, Oliveira and
// Fernandes (2009), severity 1. A colour is six hex digits; light is three linear parts of it.
const machado = {
	protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
	deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
	tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const parts = (hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
const linear = (hex) => parts(hex).map((v) => v / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));

export function luminance(hex) {
	const [r, g, b] = linear(hex);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a, b) {
	const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
	return (x + 0.05) / (y + 0.05);
}

// `over` at `alpha` on `under`, as a screen mixes them.
export function blend(over, under, alpha) {
	const [o, u] = [parts(over), parts(under)];
	return o.map((v, i) => Math.round(v * alpha + u[i] * (1 - alpha)).toString(16).padStart(2, '0')).join('');
}

// The light that is seen; without `kind`, by who sees all colours.
export function vision(hex, kind) {
	const light = linear(hex);
	return kind === undefined
		? light
		: machado[kind].map((row) => Math.min(1, Math.max(0, row.reduce((sum, w, i) => sum + w * light[i], 0))));
}

function lab([r, g, b]) {
	const x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047;
	const y = 0.2126729 * r + 0.7151522 * g + 0.072175 * b;
	const z = (0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883;
	const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
	return [116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))];
}

export function distance(a, b) {
	const [x, y] = [lab(a), lab(b)];
	return Math.hypot(...x.map((v, i) => v - y[i]));
}
