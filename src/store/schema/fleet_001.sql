-- fleet_001.sql - schema version 1 of a fleet's store. Columns and their meaning: src/core/fleet_fields.c,
-- docs/format-fleet.md. A released file never changes: what is new comes as the next number. Text of any bytes is ANY: TEXT
-- where it is valid UTF-8 without NUL, else BLOB. Every table lies in the order of its key (WITHOUT ROWID), server first: what a visit
-- leaves is written at one place a table.
PRAGMA application_id = 1952543334; -- "tarf"
PRAGMA user_version = 1;

CREATE TABLE server (
	server INTEGER NOT NULL,
	name ANY NOT NULL,
	kind ANY NOT NULL,
	address ANY NOT NULL,
	seat INTEGER,
	version ANY NOT NULL,
	role ANY NOT NULL,
	is_standby INTEGER NOT NULL,
	first_wall_ns INTEGER NOT NULL,
	seen_wall_ns INTEGER NOT NULL,
	ahead_ns INTEGER NOT NULL,
	PRIMARY KEY (server)
) STRICT, WITHOUT ROWID;

CREATE TABLE capture (
	server INTEGER NOT NULL,
	reading INTEGER NOT NULL,
	captured_wall_ns INTEGER NOT NULL,
	tried_wall_ns INTEGER NOT NULL,
	is_first_sight INTEGER NOT NULL,
	PRIMARY KEY (server, reading)
) STRICT, WITHOUT ROWID;

CREATE TABLE life (
	server INTEGER NOT NULL,
	reading INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	at_server_ns INTEGER NOT NULL,
	system_id INTEGER NOT NULL,
	started_server_ns INTEGER NOT NULL,
	reset_server_ns INTEGER NOT NULL,
	evictions INTEGER NOT NULL,
	is_complete INTEGER NOT NULL,
	PRIMARY KEY (server, reading)
) STRICT, WITHOUT ROWID;

CREATE TABLE baseline (
	server INTEGER NOT NULL,
	reading INTEGER NOT NULL,
	key BLOB NOT NULL,
	since_ns INTEGER NOT NULL,
	counters BLOB NOT NULL,
	PRIMARY KEY (server, reading, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
	server INTEGER NOT NULL,
	cycle INTEGER NOT NULL,
	reading INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	outcome INTEGER,
	capture INTEGER,
	sqlstate ANY NOT NULL,
	reason ANY NOT NULL,
	rows INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	at_cap INTEGER NOT NULL,
	candidates INTEGER NOT NULL,
	plans INTEGER NOT NULL,
	new_plans INTEGER NOT NULL,
	server_ns INTEGER NOT NULL,
	own_ns INTEGER NOT NULL,
	wall_ns INTEGER NOT NULL,
	store_ns INTEGER NOT NULL,
	PRIMARY KEY (server, cycle, reading)
) STRICT, WITHOUT ROWID;

CREATE TABLE cost (
	server INTEGER NOT NULL,
	reading INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	runs INTEGER NOT NULL,
	captures INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	skipped INTEGER NOT NULL,
	server_ns INTEGER NOT NULL,
	longest_server_ns INTEGER NOT NULL,
	own_ns INTEGER NOT NULL,
	store_ns INTEGER NOT NULL,
	rows INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	PRIMARY KEY (server, reading, at_wall_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE collector (
	server INTEGER NOT NULL,
	collector ANY NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	cpu_ns INTEGER NOT NULL,
	rss_bytes INTEGER NOT NULL,
	visits INTEGER NOT NULL,
	late INTEGER NOT NULL,
	skipped INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	spool_bytes INTEGER NOT NULL,
	longest_turn_ns INTEGER NOT NULL,
	turn_slots INTEGER,
	one_in INTEGER,
	PRIMARY KEY (server, collector, at_wall_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE query (
	server INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	userid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	is_toplevel INTEGER NOT NULL,
	database ANY NOT NULL,
	user ANY NOT NULL,
	text BLOB,
	text_bytes INTEGER NOT NULL,
	command ANY NOT NULL,
	first_wall_ns INTEGER NOT NULL,
	seen_wall_ns INTEGER NOT NULL,
	PRIMARY KEY (server, dbid, userid, queryid, is_toplevel)
) STRICT, WITHOUT ROWID;

CREATE TABLE statement (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	userid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	is_toplevel INTEGER NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	longest_ns INTEGER NOT NULL,
	calls INTEGER,
	rows INTEGER,
	exec_ns INTEGER,
	plans INTEGER,
	plan_ns INTEGER,
	shared_hit INTEGER,
	shared_read INTEGER,
	shared_dirtied INTEGER,
	shared_written INTEGER,
	local_hit INTEGER,
	local_read INTEGER,
	local_dirtied INTEGER,
	local_written INTEGER,
	temp_read INTEGER,
	temp_written INTEGER,
	read_ns INTEGER,
	write_ns INTEGER,
	temp_read_ns INTEGER,
	temp_write_ns INTEGER,
	wal_records INTEGER,
	wal_fpi INTEGER,
	wal_bytes INTEGER,
	jit_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, userid, queryid, is_toplevel)
) STRICT, WITHOUT ROWID;

CREATE TABLE statement_hour (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	userid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	is_toplevel INTEGER NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	longest_ns INTEGER NOT NULL,
	calls INTEGER,
	rows INTEGER,
	exec_ns INTEGER,
	plans INTEGER,
	plan_ns INTEGER,
	shared_hit INTEGER,
	shared_read INTEGER,
	shared_dirtied INTEGER,
	shared_written INTEGER,
	local_hit INTEGER,
	local_read INTEGER,
	local_dirtied INTEGER,
	local_written INTEGER,
	temp_read INTEGER,
	temp_written INTEGER,
	read_ns INTEGER,
	write_ns INTEGER,
	temp_read_ns INTEGER,
	temp_write_ns INTEGER,
	wal_records INTEGER,
	wal_fpi INTEGER,
	wal_bytes INTEGER,
	jit_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, userid, queryid, is_toplevel)
) STRICT, WITHOUT ROWID;

CREATE TABLE statement_day (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	userid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	is_toplevel INTEGER NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	longest_ns INTEGER NOT NULL,
	calls INTEGER,
	rows INTEGER,
	exec_ns INTEGER,
	plans INTEGER,
	plan_ns INTEGER,
	shared_hit INTEGER,
	shared_read INTEGER,
	shared_dirtied INTEGER,
	shared_written INTEGER,
	local_hit INTEGER,
	local_read INTEGER,
	local_dirtied INTEGER,
	local_written INTEGER,
	temp_read INTEGER,
	temp_written INTEGER,
	read_ns INTEGER,
	write_ns INTEGER,
	temp_read_ns INTEGER,
	temp_write_ns INTEGER,
	wal_records INTEGER,
	wal_fpi INTEGER,
	wal_bytes INTEGER,
	jit_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, userid, queryid, is_toplevel)
) STRICT, WITHOUT ROWID;

CREATE TABLE function (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	funcid INTEGER NOT NULL,
	database ANY NOT NULL,
	name ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	calls INTEGER,
	total_ns INTEGER,
	self_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, funcid)
) STRICT, WITHOUT ROWID;

CREATE TABLE function_hour (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	funcid INTEGER NOT NULL,
	database ANY NOT NULL,
	name ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	calls INTEGER,
	total_ns INTEGER,
	self_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, funcid)
) STRICT, WITHOUT ROWID;

CREATE TABLE function_day (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	funcid INTEGER NOT NULL,
	database ANY NOT NULL,
	name ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	calls INTEGER,
	total_ns INTEGER,
	self_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, funcid)
) STRICT, WITHOUT ROWID;

CREATE TABLE database (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	name ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	backends INTEGER,
	commits INTEGER,
	rollbacks INTEGER,
	blocks_read INTEGER,
	blocks_hit INTEGER,
	tuples_returned INTEGER,
	tuples_fetched INTEGER,
	tuples_inserted INTEGER,
	tuples_updated INTEGER,
	tuples_deleted INTEGER,
	conflicts INTEGER,
	temp_files INTEGER,
	temp_bytes INTEGER,
	deadlocks INTEGER,
	read_ns INTEGER,
	write_ns INTEGER,
	session_ns INTEGER,
	active_ns INTEGER,
	idle_in_transaction_ns INTEGER,
	sessions INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid)
) STRICT, WITHOUT ROWID;

CREATE TABLE database_hour (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	name ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	backends INTEGER,
	commits INTEGER,
	rollbacks INTEGER,
	blocks_read INTEGER,
	blocks_hit INTEGER,
	tuples_returned INTEGER,
	tuples_fetched INTEGER,
	tuples_inserted INTEGER,
	tuples_updated INTEGER,
	tuples_deleted INTEGER,
	conflicts INTEGER,
	temp_files INTEGER,
	temp_bytes INTEGER,
	deadlocks INTEGER,
	read_ns INTEGER,
	write_ns INTEGER,
	session_ns INTEGER,
	active_ns INTEGER,
	idle_in_transaction_ns INTEGER,
	sessions INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid)
) STRICT, WITHOUT ROWID;

CREATE TABLE database_day (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	name ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	backends INTEGER,
	commits INTEGER,
	rollbacks INTEGER,
	blocks_read INTEGER,
	blocks_hit INTEGER,
	tuples_returned INTEGER,
	tuples_fetched INTEGER,
	tuples_inserted INTEGER,
	tuples_updated INTEGER,
	tuples_deleted INTEGER,
	conflicts INTEGER,
	temp_files INTEGER,
	temp_bytes INTEGER,
	deadlocks INTEGER,
	read_ns INTEGER,
	write_ns INTEGER,
	session_ns INTEGER,
	active_ns INTEGER,
	idle_in_transaction_ns INTEGER,
	sessions INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid)
) STRICT, WITHOUT ROWID;

CREATE TABLE io (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	backend ANY NOT NULL,
	object ANY NOT NULL,
	context ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	reads INTEGER,
	read_bytes INTEGER,
	read_ns INTEGER,
	writes INTEGER,
	write_bytes INTEGER,
	write_ns INTEGER,
	extends INTEGER,
	extend_ns INTEGER,
	hits INTEGER,
	evictions INTEGER,
	reuses INTEGER,
	fsyncs INTEGER,
	fsync_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, backend, object, context)
) STRICT, WITHOUT ROWID;

CREATE TABLE io_hour (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	backend ANY NOT NULL,
	object ANY NOT NULL,
	context ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	reads INTEGER,
	read_bytes INTEGER,
	read_ns INTEGER,
	writes INTEGER,
	write_bytes INTEGER,
	write_ns INTEGER,
	extends INTEGER,
	extend_ns INTEGER,
	hits INTEGER,
	evictions INTEGER,
	reuses INTEGER,
	fsyncs INTEGER,
	fsync_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, backend, object, context)
) STRICT, WITHOUT ROWID;

CREATE TABLE io_day (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	backend ANY NOT NULL,
	object ANY NOT NULL,
	context ANY NOT NULL,
	life INTEGER,
	span_ns INTEGER NOT NULL,
	reads INTEGER,
	read_bytes INTEGER,
	read_ns INTEGER,
	writes INTEGER,
	write_bytes INTEGER,
	write_ns INTEGER,
	extends INTEGER,
	extend_ns INTEGER,
	hits INTEGER,
	evictions INTEGER,
	reuses INTEGER,
	fsyncs INTEGER,
	fsync_ns INTEGER,
	PRIMARY KEY (server, at_wall_ns, backend, object, context)
) STRICT, WITHOUT ROWID;

CREATE TABLE wait (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	backend ANY NOT NULL,
	state ANY NOT NULL,
	wait_type ANY NOT NULL,
	wait_event ANY NOT NULL,
	seen INTEGER,
	looks INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, queryid, backend, state, wait_type, wait_event)
) STRICT, WITHOUT ROWID;

CREATE TABLE wait_hour (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	backend ANY NOT NULL,
	state ANY NOT NULL,
	wait_type ANY NOT NULL,
	wait_event ANY NOT NULL,
	seen INTEGER,
	looks INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, queryid, backend, state, wait_type, wait_event)
) STRICT, WITHOUT ROWID;

CREATE TABLE wait_day (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	backend ANY NOT NULL,
	state ANY NOT NULL,
	wait_type ANY NOT NULL,
	wait_event ANY NOT NULL,
	seen INTEGER,
	looks INTEGER,
	PRIMARY KEY (server, at_wall_ns, dbid, queryid, backend, state, wait_type, wait_event)
) STRICT, WITHOUT ROWID;

CREATE TABLE blocking (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	pid INTEGER NOT NULL,
	blocker_pid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	blocker_queryid INTEGER NOT NULL,
	lock_type ANY NOT NULL,
	lock_mode ANY NOT NULL,
	relation ANY NOT NULL,
	blocker_state ANY NOT NULL,
	blocked_behind INTEGER,
	waited_ns INTEGER NOT NULL,
	PRIMARY KEY (server, at_wall_ns, pid, blocker_pid)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
	server INTEGER NOT NULL,
	name ANY NOT NULL,
	value ANY NOT NULL,
	unit ANY NOT NULL,
	source ANY NOT NULL,
	seen_wall_ns INTEGER NOT NULL,
	PRIMARY KEY (server, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting_change (
	server INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	name ANY NOT NULL,
	before ANY NOT NULL,
	after ANY NOT NULL,
	PRIMARY KEY (server, at_wall_ns, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE plan (
	server INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	userid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	is_toplevel INTEGER NOT NULL,
	plan BLOB NOT NULL,
	shape BLOB,
	search_path ANY NOT NULL,
	settings ANY NOT NULL,
	total_cost REAL NOT NULL,
	plan_rows REAL NOT NULL,
	plan_bytes INTEGER NOT NULL,
	is_generic INTEGER NOT NULL,
	first_wall_ns INTEGER NOT NULL,
	seen_wall_ns INTEGER NOT NULL,
	PRIMARY KEY (server, dbid, userid, queryid, is_toplevel, plan)
) STRICT, WITHOUT ROWID;

CREATE TABLE no_plan (
	server INTEGER NOT NULL,
	dbid INTEGER NOT NULL,
	userid INTEGER NOT NULL,
	queryid INTEGER NOT NULL,
	is_toplevel INTEGER NOT NULL,
	reason INTEGER,
	sqlstate ANY NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	again_wall_ns INTEGER NOT NULL,
	tries INTEGER NOT NULL,
	PRIMARY KEY (server, dbid, userid, queryid, is_toplevel)
) STRICT, WITHOUT ROWID;

CREATE TABLE payload (
	server INTEGER NOT NULL,
	digest BLOB NOT NULL,
	kind INTEGER,
	size_bytes INTEGER NOT NULL,
	seen_wall_ns INTEGER NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (server, digest)
) STRICT, WITHOUT ROWID;

-- Runs of an hour, for their sum.
CREATE INDEX run_time ON run (server, at_wall_ns);

-- What was not seen for the longest time goes first.
CREATE INDEX payload_age ON payload (seen_wall_ns);

-- The store itself.
CREATE TABLE about (
	id INTEGER PRIMARY KEY NOT NULL,
	tare_version ANY NOT NULL,
	made_wall_ns INTEGER NOT NULL,
	payload_bytes INTEGER NOT NULL,
	swept_wall_ns INTEGER NOT NULL,
	cut_strs INTEGER NOT NULL
) STRICT;

-- Hours (level 1) and days (2) whose sums are not up to date: rows came since.
CREATE TABLE unsummed (
	level INTEGER NOT NULL,
	at_wall_ns INTEGER NOT NULL,
	name ANY NOT NULL,
	server INTEGER NOT NULL,
	PRIMARY KEY (level, at_wall_ns, name, server)
) STRICT, WITHOUT ROWID;

-- Rows of a table before this time are gone, or go; who comes late is added to the sums at once.
CREATE TABLE horizon (
	name ANY NOT NULL,
	before_wall_ns INTEGER NOT NULL,
	gone_wall_ns INTEGER NOT NULL,
	PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

-- Owed captures of a turn slot that were given away.
CREATE TABLE place (
	reading INTEGER NOT NULL,
	slot INTEGER NOT NULL,
	taken INTEGER NOT NULL,
	PRIMARY KEY (reading, slot)
) STRICT, WITHOUT ROWID;
