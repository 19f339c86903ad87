/* fuzz_mark.c - datagrams that a job, or somebody else, sends to $TARE_SOCKET. What is taken is written again, and is then the same. */
#include <stdlib.h>
#include <string.h>

#include "cli/marks.h"
#include "core/task_names.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char again[MARKS_MOST_BYTES + 64];
	struct mark mark, same;
	size_t len = 0;

	if (!mark_parse((const char *)bytes, size, &mark))
		return 0;
	if (task_name_cut(mark.name).len > TASK_NAME_MOST_BYTES ||
	    mark_format(&mark, again, sizeof(again), &len) < 0 || !mark_parse(again, len, &same) ||
	    same.is_end != mark.is_end || same.is_of_parent != mark.is_of_parent ||
	    same.name.len != mark.name.len ||
	    (mark.name.len > 0 && memcmp(same.name.bytes, mark.name.bytes, mark.name.len) != 0))
		abort();
	return 0;
}
