/* cap.h - an SQLite file layer (VFS) that holds -wal to a number of bytes where bytes are written, so that no
 * mistake above can break a size limit: a write beyond it fails as if the disk were full, and the transaction is
 * rolled back. All else goes to the layer that was the default when it was made. One thread. */
#ifndef TARE_STORE_CAP_H
#define TARE_STORE_CAP_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct cap {
	sqlite3_vfs vfs;    /* registered under `name` */
	sqlite3_vfs *below; /* borrowed */
	uint64_t wal_bytes; /* -wal never grows over this */
	bool is_hit;	    /* a write was refused since this was last cleared */
	bool is_disk_full;  /* the disk itself had no room since this was last cleared */
	int os_error; /* errno of the last write, cut or sync that failed since then; 0: none */
	char name[32];
};

/* Makes and registers a layer of its own; `wal_bytes` is its limit. -ENOMEM. */
int cap_open(uint64_t wal_bytes, struct cap **out);

/* Every database that was opened through it must be closed. Accepts NULL. */
void cap_close(struct cap *c);

#endif
