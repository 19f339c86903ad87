// record.ts - the page of a recording of samples.
import { begin } from '../common/keys';
import { start } from '../common/page';

start(() => begin([], null));
