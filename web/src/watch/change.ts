// change.ts - how much a share changed between two ranges, and whether that is sure.
import type { Estimate } from './estimate';
import { together } from './student';

const LEAST_CHANGE = 0.003; // of the total

/** A change of share that is large enough and sure enough. */
export interface Change {
	value: number;
	error: number;
	isSure: boolean;
}

export function change(from: Estimate, to: Estimate): Change | null {
	if (!from.isKnown || !to.isKnown || !from.hasError || !to.hasError) return null;
	const value = to.value - from.value;
	const error = together(from.error, to.error);
	return { value, error, isSure: Math.abs(value) > error && Math.abs(value) >= LEAST_CHANGE };
}
