// palette.mjs - makes a PNG small: its commonest colours only, a byte a pixel. Reads what a browser's screenshot is: 8 bits a
// channel, RGB or RGBA, not interlaced.
import { deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

function chunks(png) {
	const out = new Map();
	for (let at = SIGNATURE.length; at + 12 <= png.length;) {
		const length = png.readUInt32BE(at);
		const name = png.toString('latin1', at + 4, at + 8);
		const body = png.subarray(at + 8, at + 8 + length);
		out.set(name, out.has(name) ? Buffer.concat([out.get(name), body]) : body);
		at += 12 + length;
	}
	return out;
}

function paeth(a, b, c) {
	const p = a + b - c;
	const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
	return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/** Rows without their filters. */
function unfilter(raw, width, height, bytes) {
	const line = width * bytes;
	const out = Buffer.alloc(line * height);
	for (let y = 0; y < height; y++) {
		const filter = raw[y * (line + 1)];
		for (let x = 0; x < line; x++) {
			const at = y * line + x;
			const left = x >= bytes ? out[at - bytes] : 0;
			const above = y > 0 ? out[at - line] : 0;
			const corner = x >= bytes && y > 0 ? out[at - line - bytes] : 0;
			const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
			out[at] = raw[y * (line + 1) + 1 + x] + guess;
		}
	}
	return out;
}

function nearest(palette, r, g, b) {
	let best = 0;
	let least = Infinity;
	palette.forEach(([pr, pg, pb], i) => {
		const d = (pr - r) ** 2 + (pg - g) ** 2 + (pb - b) ** 2;
		if (d < least) [best, least] = [i, d];
	});
	return best;
}

/** As PNG wants it: the one of zlib, which older nodes do not give. */
function crc32(bytes) {
	let crc = ~0;
	for (const byte of bytes) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc >>> 0;
}

function chunk(name, body) {
	const out = Buffer.alloc(body.length + 12);
	out.writeUInt32BE(body.length, 0);
	out.write(name, 4, 'latin1');
	body.copy(out, 8);
	out.writeUInt32BE(crc32(out.subarray(4, body.length + 8)), body.length + 8);
	return out;
}

/** The same picture in at most `colours` colours. */
export function toPalette(png, colours) {
	const parts = chunks(png);
	const header = Buffer.from(parts.get('IHDR'));
	const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
	const bytes = header[9] === 6 ? 4 : 3;
	if (header[8] !== 8 || (header[9] !== 6 && header[9] !== 2) || header[12] !== 0) throw new Error('not a PNG that this reads');
	const pixels = unfilter(inflateSync(parts.get('IDAT')), width, height, bytes);
	const count = new Map();
	for (let i = 0; i < pixels.length; i += bytes) {
		const rgb = (pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2];
		count.set(rgb, (count.get(rgb) ?? 0) + 1);
	}
	const palette = [...count].sort((a, b) => b[1] - a[1]).slice(0, colours).map(([rgb]) => [rgb >> 16, (rgb >> 8) & 255, rgb & 255]);
	const index = new Map([...count.keys()].map(rgb => [rgb, nearest(palette, rgb >> 16, (rgb >> 8) & 255, rgb & 255)]));
	const rows = Buffer.alloc((width + 1) * height);
	for (let y = 0, i = 0; y < height; y++)
		for (let x = 0; x < width; x++, i += bytes)
			rows[y * (width + 1) + 1 + x] = index.get((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
	header[9] = 3;
	return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('PLTE', Buffer.from(palette.flat())),
		chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
