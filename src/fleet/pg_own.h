/* pg_own.h - how statements of ours are known on a monitored PostgreSQL: by a mark in their text, behind their first word
 * (what stands before it is not kept by every release), and by our own role. Each question of ours carries it; a text of others that is only
 * explained carries it at its end. */
#ifndef TARE_FLEET_PG_OWN_H
#define TARE_FLEET_PG_OWN_H

/* "SELECT " PG_MARK " 1", "BEGIN " PG_MARK " READ ONLY". */
#define PG_MARK	       "/* tare */"
#define PG_MARK_LENGTH "10"

/* Within so many bytes from the start of a text. */
#define PG_MARK_WITHIN "40"

/* The name that our connections give themselves. */
#define PG_APPLICATION "tare"

#endif
