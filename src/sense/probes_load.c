/* probes_load.c - finds the best way to attach that kernel and settings allow, and loads the programs for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/watch.h"
#include "bpf/watch.skel.h"
#include "core/scoped.h"
#include "sense/perf_open.h"
#include "sense/probes_parts.h"
#include "sense/procfs.h"

static const struct {
	const char *name;
	const char *word; /* in switched_off */
	const char *what;
	uint32_t attach_type;
} modes[PROBES_MODES] = {
	[PROBES_SESSION] = { "session", "session", "uprobe sessions (Linux 6.13 and later)",
			     PROBES_TYPE_SESSION },
	[PROBES_MULTI] = { "entry+return", "multi", "uprobe multi links (Linux 6.6 and later)",
			   PROBES_TYPE_MULTI },
	[PROBES_SINGLE] = { "entry+return, one by one", "single", "uprobes", 0 },
};

const char *probes_mode_name(enum probes_mode mode)
{
	return modes[mode].name;
}

static size_t mapped_bytes(size_t each, size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (each * count + page - 1) / page * page;
}

static void *map_array(const struct bpf_map *map, size_t each, size_t count)
{
	void *at = mmap(NULL, mapped_bytes(each, count), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap_array(void *at, size_t each, size_t count)
{
	if (at != NULL)
		munmap(at, mapped_bytes(each, count));
}

void probes_unload(struct watch_source *s)
{
	ring_buffer__free(s->slow);
	bpf_link__destroy(s->at_exit);
	bpf_link__destroy(s->at_exec);
	unmap_array(s->orders, sizeof(*s->orders), s->point_count);
	unmap_array(s->counters, sizeof(*s->counters), (size_t)s->point_count * s->cpu_count);
	unmap_array(s->histograms, sizeof(*s->histograms), s->point_count);
	watch_bpf__destroy(s->bpf);
	s->slow = NULL;
	s->at_exit = s->at_exec = NULL;
	s->orders = NULL;
	s->counters = NULL;
	s->histograms = NULL;
	s->control = NULL;
	s->bpf = NULL;
}

/* Only single uprobes see every process. A thread of another pid namespace has the number it has in ours only when ours is
 * the first. */
static void filter_pid(const struct watch_source *s)
{
	uint64_t device, inode;

	s->bpf->rodata->only_tgid = (uint32_t)s->pid;
	if (!procfs_pid_namespace(&device, &inode))
		return;
	s->bpf->rodata->pid_ns_dev = device;
	s->bpf->rodata->pid_ns_ino = inode;
}

static bool has_exits(const struct watch_source *s)
{
	for (uint32_t i = 0; i < s->point_count; i++)
		if (s->points[i].exits.count > 0)
			return true;
	return false;
}

static void settle(struct watch_source *s, enum probes_mode mode, bool is_empty)
{
	uint32_t plain = mode == PROBES_SINGLE ? 0 : PROBES_TYPE_MULTI;
	bool is_session = mode == PROBES_SESSION;
	struct watch_bpf *bpf = s->bpf;

	bpf->rodata->point_count = s->point_count;
	bpf->rodata->frame_point = s->frame_point;
	bpf->rodata->is_empty = is_empty;
	bpf->rodata->is_session = is_session;
	if (mode == PROBES_SINGLE)
		filter_pid(s);
	bpf_map__set_max_entries(bpf->maps.points, s->point_count);
	bpf_map__set_max_entries(bpf->maps.counters, s->point_count * s->cpu_count);
	bpf_map__set_max_entries(bpf->maps.histograms, s->point_count);
	if (s->frame_point == WATCH_NO_POINT) {
		bpf_map__set_autocreate(bpf->maps.frames, false);
		bpf_map__set_autocreate(bpf->maps.slow, false);
	}
	bpf_program__set_autoload(bpf->progs.watch_session, is_session);
	bpf_program__set_autoload(bpf->progs.watch_entry, !is_session || has_exits(s));
	bpf_program__set_autoload(bpf->progs.watch_exit_place, has_exits(s));
	bpf_program__set_autoload(bpf->progs.watch_return, !is_session);
	bpf_program__set_autoload(bpf->progs.watch_exit, !is_empty);
	bpf_program__set_autoload(bpf->progs.watch_exec, !is_empty);
	bpf_program__set_expected_attach_type(bpf->progs.watch_session, modes[mode].attach_type);
	bpf_program__set_expected_attach_type(bpf->progs.watch_entry, plain);
	bpf_program__set_expected_attach_type(bpf->progs.watch_return, plain);
	bpf_program__set_expected_attach_type(bpf->progs.watch_exit_place, plain);
}

struct bpf_program *probes_program(const struct watch_source *s, enum probes_end end, bool is_end)
{
	if (end == PROBES_END_EXITS)
		return is_end ? s->bpf->progs.watch_exit_place : s->bpf->progs.watch_entry;
	if (s->mode == PROBES_SESSION)
		return s->bpf->progs.watch_session;
	return is_end ? s->bpf->progs.watch_return : s->bpf->progs.watch_entry;
}

/* Loads the programs of one mode, and asks whether the kernel has its kind of link. */
static int load_mode(struct watch_source *s, enum probes_mode mode, bool is_empty)
{
	uint32_t type = modes[mode].attach_type;

	s->bpf = watch_bpf__open();
	if (s->bpf == NULL)
		return -errno;
	settle(s, mode, is_empty);
	s->mode = mode;

	int status = watch_bpf__load(s->bpf);

	if (status == 0 && type != 0 &&
	    !probes_multi_is_known(bpf_program__fd(probes_program(s, PROBES_END_RETURN, false)),
				   type))
		status = -EOPNOTSUPP;
	if (status < 0)
		probes_unload(s);
	return status;
}

static int map_all(struct watch_source *s)
{
	size_t counters = (size_t)s->point_count * s->cpu_count;

	s->control = &s->bpf->bss->control;
	s->orders = map_array(s->bpf->maps.points, sizeof(*s->orders), s->point_count);
	s->counters = map_array(s->bpf->maps.counters, sizeof(*s->counters), counters);
	s->histograms = map_array(s->bpf->maps.histograms, sizeof(*s->histograms), s->point_count);
	return s->orders != NULL && s->counters != NULL && s->histograms != NULL ? 0 : -ENOMEM;
}

/* Without these two, calls of threads that end are not known to be over; all else goes on. */
static void watch_ends(struct watch_source *s)
{
	s->at_exit = bpf_program__attach(s->bpf->progs.watch_exit);
	s->at_exec = bpf_program__attach(s->bpf->progs.watch_exec);
}

static int explain(int status, struct err *err)
{
	if (status == -ENOMEM)
		return err_set(err, status, "cannot set up probes: out of memory");
	if (status == -EPERM || status == -EACCES) {
		err_set(err, -EPERM,
			"cannot use probes: the kernel allows user %u no BPF programs (%s)",
			(unsigned int)geteuid(), strerror(-status));
		err_works(err, "programs that link libtare can be watched, and `tare record` "
			       "samples your own processes");
		return err_mend(err, "give the program two rights: setcap cap_bpf,cap_perfmon+ep "
				     "$(command -v tare)");
	}
	err_set(err, -ENOTSUP, "cannot use probes: the kernel refuses our BPF programs (%s)",
		strerror(-status));
	err_works(err, "programs that link libtare can be watched, and `tare record` samples any");
	return err_mend(err, "Linux 5.15 or later with CONFIG_BPF_SYSCALL, CONFIG_UPROBES and "
			     "CONFIG_DEBUG_INFO_BTF is needed");
}

static int explain_off(struct err *err)
{
	err_set(err, -ENOTSUP, "cannot use probes: BPF is switched off (TARE_NO=bpf)");
	err_works(err, "programs that link libtare can be watched");
	return err_mend(err, "take bpf out of TARE_NO");
}

/* Says why `mode` is not used, after what is said already. */
static void pass_over(struct watch_source *s, enum probes_mode mode, bool is_forced)
{
	size_t at = strlen(s->hook_why);

	snprintf(s->hook_why + at, sizeof(s->hook_why) - at, "%s%s %s", at > 0 ? "; " : "",
		 modes[mode].what,
		 is_forced ? "are switched off by TARE_NO" : "are not in this kernel");
}

int probes_load(struct watch_source *s, const struct watch_source_settings *settings, bool is_empty,
		struct err *err)
{
	const char *off = settings->switched_off;
	int status = -ENOTSUP;

	if (perf_is_switched_off(off, "bpf"))
		return explain_off(err);
	libbpf_set_print(NULL); /* it would talk to stderr */
	for (uint32_t mode = 0; mode < PROBES_MODES; mode++) {
		/* A session is a multi link too. */
		bool is_forced = perf_is_switched_off(off, modes[mode].word) ||
				 (mode == PROBES_SESSION && perf_is_switched_off(off, "multi"));

		status = is_forced ? -ENOTSUP : load_mode(s, mode, is_empty);
		if (status == -EPERM || status == -EACCES || status == -ENOMEM)
			return explain(status, err);
		if (status == 0)
			break;
		pass_over(s, mode, is_forced);
	}
	if (status == 0)
		status = map_all(s);
	if (status < 0)
		return explain(status, err);
	if (!is_empty)
		watch_ends(s);
	return 0;
}

struct ring_buffer *probes_open_ring(struct watch_source *s,
				     int (*take)(void *owner, void *record, size_t bytes))
{
	return ring_buffer__new(bpf_map__fd(s->bpf->maps.slow), take, s, NULL);
}
