// model.ts - the data of a fleet's page, as src/cli/report_page_collect_*.c writes it. Times named 'at' are milliseconds since 1970;
// times of statements are microseconds.

/** What a line did: cells are three numbers, slots since the last one, calls, microseconds; unknown is threes: slot, rows
 * without a difference, and of these those in time that is covered otherwise. */
export interface Cells {
	cells: number[];
	unknown: number[];
}

/** [present ms, covered ms, servers that are there, servers that were visited] */
export type Cover = [number, number, number, number];

export interface Server {
	server: string;
	version: string;
	seat?: number;
	visits: number;
	well: number;
	skipped: number;
	price?: number;
	/** What collecting took there, of our CPU, and over the wire. */
	took: number;
	own: number;
	bytes: number;
	time: number;
	calls: number;
	hidden: number;
	statements: number;
	plans: number;
	refused: number;
	last: number | null;
	reason?: string;
	captured: number | null;
	owed?: number;
	marks: string;
	holes: number[];
}

export interface Line extends Cells {
	kind: 'statement' | 'hidden' | 'function';
	name: string;
	server: number;
	database: string;
	user?: string;
	where?: string;
	id?: string;
	share?: string;
	longest?: number;
	changed?: number | null;
	told?: boolean;
	before?: [number, number];
	after?: [number, number];
	planned?: number | null;
	why?: string;
	reason?: string;
}

export interface Plan {
	line: number;
	role: 'now' | 'before' | 'earlier';
	digest: string;
	shape: string;
	first: number | null;
	seen: number | null;
	cost: number;
	rows: number;
	path: string;
	settings: string;
	generic: boolean;
	bytes: number;
	content?: string;
	why?: string;
}

export interface Turns {
	oneIn: number;
	cycles: number;
	slot: number;
	most: number;
	servers: number;
	from: number;
	captures: [number, number, number][];
}

export interface Cost {
	reading: string;
	runs: number;
	failed: number;
	server: number;
	longest: number;
	own: number;
	store: number;
	rows: number;
	bytes: number;
	captures: number;
	gated: number;
}

export interface Run {
	at: number;
	first: number;
	count: number;
	server: string;
	reading: string;
	outcome: string;
	took?: number;
	store?: number;
	due: boolean;
	sqlstate: string;
	reason: string;
}

export interface Wait {
	server: string;
	type: string;
	event: string;
	seen: number;
	looks: number;
}

export interface Fleet {
	from: number | null;
	slot: number;
	slots: number;
	visit: number;
	now: number | null;
	cover: Cover[];
	all: Cells;
	lines: Line[];
	statements: number;
	functions: number;
	servers: Server[];
	serversLeftOut: number;
	holesLeftOut: boolean;
	plans: Plan[];
	plansLeftOut: number;
	turns: Turns | null;
	cost: Cost[];
	runs: Run[];
	runsLeftOut: number;
	waits: Wait[];
	waitsLeftOut: number;
}
