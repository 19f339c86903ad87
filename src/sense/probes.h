/* probes.h - watch_source_probes: counts and times calls of any running program by uprobes and BPF. Needs CAP_BPF and
 * CAP_PERFMON. All probes go when its descriptors are closed: also when we are killed. Ways to attach, the best that works:
 * uprobe sessions, multi links with an entry and a return program, single uprobes (not for one process only, and with
 * CAP_SYS_ADMIN); `switched_off` forbids them by the words "session", "multi" and "bpf". One thread. */
#ifndef TARE_SENSE_PROBES_H
#define TARE_SENSE_PROBES_H

#include "sense/watch_source.h"

/* As watch_source_probes.open(), with programs that return at once and count nothing: for measuring what the hook alone
 * costs. Use it as any source of watch_source_probes. */
int probes_open_empty(const struct watch_source_settings *settings, struct watch_source **out,
		      struct err *err);

#endif
