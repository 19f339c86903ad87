-- 004_tasks.sql - schema version 4 of a recording: named parts of the run, and how often each name ran. Columns and their
-- meaning: src/core/fields.c, docs/format.md. Slots and contexts of a task are in their tables, by its number.
PRAGMA user_version = 4;

CREATE TABLE task (
	id INTEGER PRIMARY KEY NOT NULL,
	kind INTEGER,
	state INTEGER,
	pid INTEGER,
	parent_pid INTEGER,
	name ANY NOT NULL,
	begin_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	cpu_ns INTEGER,
	weight_ns INTEGER NOT NULL,
	ticks INTEGER NOT NULL,
	kept INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	one_in INTEGER NOT NULL,
	slot_count INTEGER,
	slot_ns INTEGER NOT NULL,
	batches INTEGER,
	merges INTEGER NOT NULL,
	rss_bytes INTEGER,
	rss_batch BLOB NOT NULL,
	rss_batch_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE task_name (
	id INTEGER PRIMARY KEY NOT NULL,
	name ANY NOT NULL,
	begun INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	total_ns INTEGER NOT NULL,
	longest_ns INTEGER NOT NULL,
	log2_count BLOB NOT NULL
) STRICT;

ALTER TABLE recording ADD COLUMN task_source ANY NOT NULL DEFAULT '';
ALTER TABLE recording ADD COLUMN tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN tasks_dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN tasks_unfollowed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN mark_floods INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN marks_refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN task_room_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN stops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN stopped_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN cut_calls INTEGER NOT NULL DEFAULT 0;
