/* schema.h - the numbered schema files, embedded at build time. */
#ifndef TARE_STORE_SCHEMA_H
#define TARE_STORE_SCHEMA_H

/* "tare" in ASCII: PRAGMA application_id of every recording, in any version. */
#define SCHEMA_APPLICATION_ID 0x74617265

/* The SQL of version 1 is schema_files[0], and so on; released files never change. */
extern const char *const schema_files[];

/* The newest version there is: PRAGMA user_version of what we write. */
extern const unsigned schema_newest;

/* The same of a fleet's store: "tarf", and its own numbers. */
#define FLEET_SCHEMA_APPLICATION_ID 0x74617266
extern const char *const fleet_schema_files[];
extern const unsigned fleet_schema_newest;

#endif
