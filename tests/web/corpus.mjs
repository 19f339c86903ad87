// corpus.mjs - names that would run, break out, hide or turn round, if a page took them for anything but text. What runs sets
// window.__xss. Each is bytes: a symbol, a command or a query may hold any.
const run = 'window.__xss=1';
const texts = [
	// out of the block of data
	`</script><img src=x onerror=${run}>`,
	`</script><script>${run}</script>`,
	`</SCRIPT ><svg onload=${run}>`,
	`<!--<script>`,
	`<!--<script>${run}//-->`,
	`--><script>${run}</script>`,
	`]]><script>${run}</script>`,
	`</script/x><script>${run}</script>`,
	// out of other elements
	`</title><script>${run}</script>`,
	`</style><script>${run}</script>`,
	`</textarea><script>${run}</script>`,
	`</noscript><script>${run}</script>`,
	`</code></td></table><script>${run}</script>`,
	`</template><script>${run}</script>`,
	// elements
	`<img src=x onerror=${run}>`,
	`<img/src="x"/onerror="${run}">`,
	`<svg onload=${run}>`,
	`<svg><animate onbegin=${run} attributeName=x dur=1s>`,
	`<svg><script>${run}</script></svg>`,
	`<math><mtext><img src=x onerror=${run}></mtext></math>`,
	`<iframe srcdoc="<script>parent.${run}</script>">`,
	`<iframe src="javascript:parent.${run}">`,
	`<details open ontoggle=${run}>x</details>`,
	`<body onload=${run}>`,
	`<input autofocus onfocus=${run}>`,
	`<video><source onerror=${run}></video>`,
	`<object data="javascript:${run}"></object>`,
	`<base href="http://192.0.2.1/">`,
	`<link rel=stylesheet href="http://192.0.2.1/x.css">`,
	`<meta http-equiv=refresh content="0;url=javascript:${run}">`,
	`<form action="javascript:${run}"><button>x</button></form>`,
	`<a href="javascript:${run}">x</a>`,
	`<style>@import "http://192.0.2.1/x.css";*{display:none}</style>`,
	// out of attributes
	`" onmouseover="${run}" autofocus onfocus="${run}`,
	`' onmouseover='${run}' autofocus onfocus='${run}`,
	`"><img src=x onerror=${run}>`,
	`x onerror=${run} y=`,
	`\`onerror=${run}\``,
	`"style="background:url(http://192.0.2.1/x)`,
	// out of strings and addresses
	`javascript:${run}`,
	`data:text/html,<script>${run}</script>`,
	`';${run};//`,
	`";${run};//`,
	`\\";${run};//`,
	`\u2028${run}\u2029`,
	`\${${run}}`,
	`{{constructor.constructor('${run}')()}}`,
	`{{_c.constructor('${run}')()}}`,
	`<div v-html="'x'" @click="${run}">v-on</div>`,
	// names of what every object has
	`__proto__`,
	`constructor`,
	`toString`,
	`hasOwnProperty`,
	// entities stay as they are written
	`&lt;script&gt;${run}&lt;/script&gt;`,
	`&#60;img src=x onerror=${run}&#62;`,
	`\\u003cscript\\u003e${run}\\u003c/script\\u003e`,
	`%3Cscript%3E${run}%3C/script%3E`,
	// regular expressions that take for ever, for the search
	`(a+)+$aaaaaaaaaaaaaaaaaaaaaaaaaaaa!`,
	// hidden and turned round
	`\u202egpj.exe\u202c`,
	`\u2066left\u2069\u2067right\u2069`,
	`in\u200bvis\u200dib\ufeffle`,
	`\u001b[2J\u001b]0;owned\u0007`,
	`line\r\nbreak\ttab`,
	`z${'\u0301'.repeat(8)}algo`,
	`\ufffe\u{10ffff}`,
];

const bytes = [
	Buffer.from([0xff, 0xfe, 0xc0, 0xaf]),
	Buffer.concat([Buffer.from([0xc0, 0xbc]), Buffer.from(`script${run}`)]),
	Buffer.concat([Buffer.from([0xed, 0xa0, 0x80]), Buffer.from(`<img src=x onerror=${run}>`)]),
];

export const corpus = [...texts.map((t) => Buffer.from(t)), ...bytes];

// As make_page reads them: each ends in NUL.
export const corpus_file = Buffer.concat(corpus.flatMap((name) => [name, Buffer.from([0])]));
