-- 001_recording.sql - schema version 1 of a recording. Columns and their meaning: src/core/fields.c, docs/format.md.
-- A released file never changes: what is new comes as the next number. Text of any bytes is ANY: TEXT where it is
-- valid UTF-8 without NUL, else BLOB. A table keyed by (task, id) is kept in that order (WITHOUT ROWID).
PRAGMA application_id = 1952543333; -- "tare"
PRAGMA user_version = 1;

CREATE TABLE recording (
	instrument ANY NOT NULL,
	command ANY NOT NULL,
	comm ANY NOT NULL,
	host ANY NOT NULL,
	kernel ANY NOT NULL,
	tare_version ANY NOT NULL,
	pid INTEGER,
	is_attached INTEGER NOT NULL,
	cpu_count INTEGER,
	started_wall_ns INTEGER NOT NULL,
	saved_wall_ns INTEGER NOT NULL,
	elapsed_ns INTEGER NOT NULL,
	is_finished INTEGER NOT NULL,
	ended_by ANY NOT NULL,
	exit_status INTEGER NOT NULL,
	engine ANY NOT NULL,
	clock ANY NOT NULL,
	base_period_ns INTEGER NOT NULL,
	period_ns INTEGER NOT NULL,
	period_changes INTEGER NOT NULL,
	is_jittered INTEGER NOT NULL,
	is_derived INTEGER NOT NULL,
	children ANY NOT NULL,
	kernel_stacks ANY NOT NULL,
	clock_ns INTEGER NOT NULL,
	weight_ns INTEGER NOT NULL,
	ticks INTEGER NOT NULL,
	kept INTEGER NOT NULL,
	one_in INTEGER NOT NULL,
	keeps_all INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	lost_events INTEGER NOT NULL,
	throttled INTEGER NOT NULL,
	whole_stacks INTEGER NOT NULL,
	broken_stacks INTEGER NOT NULL,
	cut_stacks INTEGER NOT NULL,
	unnamed_frames INTEGER NOT NULL,
	threads INTEGER NOT NULL,
	processes INTEGER NOT NULL,
	slot_count INTEGER,
	slot_ns INTEGER NOT NULL,
	batches INTEGER,
	merges INTEGER NOT NULL,
	size_limit_bytes INTEGER NOT NULL,
	saves INTEGER NOT NULL,
	save_pauses INTEGER NOT NULL,
	save_paused_ns INTEGER NOT NULL,
	price_limit_ppm INTEGER NOT NULL,
	own_cpu_ns INTEGER NOT NULL,
	sample_ns INTEGER NOT NULL,
	kernel_ns INTEGER NOT NULL,
	save_ns INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	fixed_ns INTEGER NOT NULL,
	kernel_tick_ps INTEGER NOT NULL,
	own_rss_bytes INTEGER NOT NULL,
	rng_0 INTEGER NOT NULL,
	rng_1 INTEGER NOT NULL,
	rng_2 INTEGER NOT NULL,
	rng_3 INTEGER NOT NULL,
	writer_pid INTEGER
) STRICT;

CREATE TABLE node (
	id INTEGER PRIMARY KEY NOT NULL,
	parent INTEGER,
	frame INTEGER
) STRICT;

CREATE TABLE frame (
	id INTEGER PRIMARY KEY NOT NULL,
	kind INTEGER,
	pid INTEGER,
	tid INTEGER,
	line INTEGER,
	name ANY NOT NULL,
	module ANY NOT NULL,
	file ANY NOT NULL
) STRICT;

CREATE TABLE slot (
	task INTEGER NOT NULL,
	id INTEGER NOT NULL,
	node INTEGER,
	running_ns INTEGER NOT NULL,
	waiting_ns INTEGER NOT NULL,
	runnable_ns INTEGER NOT NULL,
	unsampled_ns INTEGER NOT NULL,
	kept INTEGER,
	lost INTEGER,
	PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE context (
	task INTEGER NOT NULL,
	id INTEGER NOT NULL,
	node INTEGER,
	certain_ns INTEGER NOT NULL,
	uncertain_ns INTEGER NOT NULL,
	running_ns INTEGER NOT NULL,
	waiting_ns INTEGER NOT NULL,
	runnable_ns INTEGER NOT NULL,
	kept INTEGER NOT NULL,
	batch_ns BLOB NOT NULL,
	PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger (
	id INTEGER PRIMARY KEY NOT NULL,
	window_ns INTEGER NOT NULL,
	sample_ns INTEGER NOT NULL,
	kernel_ns INTEGER NOT NULL,
	save_ns INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	fixed_ns INTEGER NOT NULL,
	ticks INTEGER NOT NULL,
	kept INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	period_ns INTEGER NOT NULL
) STRICT;
