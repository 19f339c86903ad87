// pages.mjs - the pages in a real browser, which is started once. A file a subject.
import { after, before } from 'node:test';
import { close_browser, open_browser } from './desk.mjs';

before(open_browser);
after(close_browser);

await import('./ears.mjs');
await import('./safe.mjs');
await import('./still.mjs');
await import('./use.mjs');
await import('./reach.mjs');
await import('./plans.mjs');
