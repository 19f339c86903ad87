// collect.ts - the page of a fleet.
import { begin } from '../common/keys';
import { start } from '../common/page';

start(() => begin([], null));
