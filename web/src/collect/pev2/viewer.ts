// viewer.ts - a whole plan in pev2 (dalibo's viewer of PostgreSQL's plans), inside a shadow root with its own style.
import style from 'pev2-style';
import { Plan } from 'pev2';
import { el } from '../../common/dom';
import { isDark, onTheme } from '../../common/theme';
import { address, tipsIn } from './place';
import { createApp } from './vue';

let sheet: CSSStyleSheet | null = null;

function styleSheet(): CSSStyleSheet {
	if (!sheet) {
		sheet = new CSSStyleSheet();
		sheet.replaceSync(style);
	}
	return sheet;
}

let shown: HTMLElement | null = null;
function follow(): void {
	shown?.setAttribute('data-bs-theme', isDark() ? 'dark' : 'light');
}
onTheme(follow);

/** Draws a plan into `place`. Answers with what takes it away again. */
export function showPlan(place: HTMLElement, plan: string, query: string): () => void {
	const root = place.attachShadow({ mode: 'open' });
	const ground = el('div', { class: 'pev' }), tips = el('div', { class: 'tips' });
	root.adoptedStyleSheets = [styleSheet()];
	shown = el('div', {}, ground, tips);
	root.append(shown);
	follow();
	tipsIn(tips);
	address.hash = '';
	const app = createApp(Plan, { planSource: plan, planQuery: query });
	app.mount(ground);
	return () => {
		app.unmount();
		tipsIn(null);
		shown = null;
		place.remove();
	};
}
