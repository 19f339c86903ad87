-- 003_marks.sql - schema version 3 of a recording: marks of what went wrong beside it. Columns and their meaning:
-- src/core/fields.c, docs/format.md. From this version on a blob that is not empty ends with the CRC-32 of what stands before.
PRAGMA user_version = 3;

ALTER TABLE recording ADD COLUMN unread_files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN clock_steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN clock_step_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN clock_step_at_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recording ADD COLUMN suspended_ns INTEGER NOT NULL DEFAULT 0;
