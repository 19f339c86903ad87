// plans.ts - the page of a fleet that holds plans: the same, and what draws whole plans.
import { start } from '../common/page';
import { run } from './fleet';
import { showPlan } from './pev2/viewer';

start(() => run(showPlan));
