-- 002_watch.sql - schema version 2 of a recording: what `tare watch` adds. Columns and their meaning: src/core/fields.c,
-- docs/format.md. Rows of `window` may be long (a histogram each), and long rows lie badly in a table that is kept in the
-- order of its key: so it has a rowid, and its key an index.
PRAGMA user_version = 2;

CREATE TABLE watch (
	id INTEGER PRIMARY KEY NOT NULL,
	sources ANY NOT NULL,
	hook ANY NOT NULL,
	hook_why ANY NOT NULL,
	clock ANY NOT NULL,
	scope ANY NOT NULL,
	window_ns INTEGER NOT NULL,
	windows INTEGER NOT NULL,
	windows_in_row INTEGER NOT NULL,
	interval_given INTEGER,
	interval_most INTEGER,
	slow_ns INTEGER NOT NULL,
	frames INTEGER NOT NULL,
	slow INTEGER NOT NULL,
	scaled INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	timed INTEGER NOT NULL,
	charged_ps INTEGER NOT NULL,
	calibrations INTEGER NOT NULL,
	attach_ns INTEGER NOT NULL,
	detach_ns INTEGER NOT NULL,
	allowed_rate INTEGER NOT NULL,
	refused INTEGER,
	lost_names INTEGER NOT NULL,
	lost_places INTEGER NOT NULL,
	lost_calls INTEGER NOT NULL,
	lost_slow INTEGER NOT NULL,
	lost_returns INTEGER NOT NULL,
	torn INTEGER NOT NULL,
	expired INTEGER NOT NULL
) STRICT;

CREATE TABLE watched (
	id INTEGER PRIMARY KEY NOT NULL,
	kind INTEGER,
	name ANY NOT NULL,
	symbol ANY NOT NULL,
	module ANY NOT NULL,
	pattern ANY NOT NULL,
	mode ANY NOT NULL,
	first ANY NOT NULL,
	why_not ANY NOT NULL,
	offset INTEGER NOT NULL,
	untimed_ps INTEGER NOT NULL,
	extra_ps INTEGER NOT NULL,
	hook_ps INTEGER NOT NULL,
	floor_ps INTEGER NOT NULL,
	assumed_untimed_ps INTEGER NOT NULL,
	assumed_extra_ps INTEGER NOT NULL,
	assumed_hook_ps INTEGER NOT NULL,
	charged_ps INTEGER NOT NULL,
	interval INTEGER,
	interval_changes INTEGER NOT NULL,
	is_sliced INTEGER NOT NULL,
	abandoned INTEGER NOT NULL,
	still_open INTEGER NOT NULL,
	backwards INTEGER NOT NULL,
	clamped INTEGER NOT NULL
) STRICT;

CREATE TABLE window (
	watched INTEGER NOT NULL,
	at INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	never_timed INTEGER NOT NULL,
	span_ns INTEGER NOT NULL,
	covered_ns INTEGER NOT NULL,
	firsts INTEGER NOT NULL,
	first_ns INTEGER NOT NULL,
	first_own_ns INTEGER NOT NULL,
	others INTEGER NOT NULL,
	weight INTEGER NOT NULL,
	weight_squared INTEGER NOT NULL,
	weighted_ns INTEGER NOT NULL,
	weighted_own_ns INTEGER NOT NULL,
	probe_ns INTEGER NOT NULL,
	variance_0 REAL NOT NULL,
	variance_1_ns REAL NOT NULL,
	variance_2_ns2 REAL NOT NULL,
	max_ns INTEGER NOT NULL,
	interval INTEGER,
	histogram BLOB NOT NULL,
	PRIMARY KEY (watched, at)
) STRICT;

CREATE TABLE slow_frame (
	id INTEGER PRIMARY KEY NOT NULL,
	tid INTEGER,
	number INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	rest_ns INTEGER NOT NULL,
	other_ns INTEGER NOT NULL,
	is_scaled INTEGER NOT NULL,
	is_worst INTEGER NOT NULL
) STRICT;

CREATE TABLE slow_part (
	slow INTEGER NOT NULL,
	place INTEGER NOT NULL,
	watched INTEGER,
	own_ns INTEGER NOT NULL,
	PRIMARY KEY (slow, place)
) STRICT, WITHOUT ROWID;
