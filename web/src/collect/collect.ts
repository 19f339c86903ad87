// collect.ts - the page of a fleet that holds no plans.
import { start } from '../common/page';
import { run } from './fleet';

start(() => run(null));
