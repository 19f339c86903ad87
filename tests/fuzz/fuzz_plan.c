/* fuzz_plan.c - a plan's JSON as any server may send it: what comes out is JSON, holds no constant, and is the same when it is read again. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/scoped.h"
#include "fleet/plan_json.h"
#include "fuzz/fuzz.h"

/* An independent reader must take it; numbers of any size are ours to keep. */
static void check_json(const struct text *redacted)
{
	json_error_t error;
	json_t *tree = json_loadb(redacted->bytes, redacted->len, JSON_DECODE_INT_AS_REAL, &error);

	if (tree == NULL && json_error_code(&error) != json_error_numeric_overflow)
		abort();
	json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	SCOPED(plan_read_free) struct plan_read plan = PLAN_READ_EMPTY, again = PLAN_READ_EMPTY;
	struct err err = ERR_EMPTY;

	if (plan_read((const char *)bytes, size, &plan, &err) != 0)
		return 0;
	check_json(&plan.redacted);
	if (plan_read(plan.redacted.bytes, plan.redacted.len, &again, &err) != 0)
		abort();
	if (plan.redacted.len != again.redacted.len ||
	    memcmp(plan.redacted.bytes, again.redacted.bytes, plan.redacted.len) != 0 ||
	    memcmp(&plan.shape, &again.shape, sizeof(plan.shape)) != 0 ||
	    plan.total_cost != again.total_cost || plan.is_shell != again.is_shell)
		abort();
	return 0;
}
