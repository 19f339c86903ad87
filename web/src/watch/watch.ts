// watch.ts - the page of a watch.
import { begin } from '../common/keys';
import { start } from '../common/page';

start(() => begin([], null));
