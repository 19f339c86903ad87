// What web/pev2.mjs makes of pev2 and of the style that it needs.
declare module 'pev2-style' {
	const text: string;
	export default text;
}
declare module 'pev2' {
	import type { Component } from '@vue/runtime-core';
	export const Plan: Component;
}
