/* lib_plugin.c - a library with a scope, to be loaded and unloaded. */
#include "tare.h"

__attribute__((visibility("default"))) int plugin_call(int x);

int plugin_call(int x)
{
	TARE_WATCH("in a plugin");
	return x + 1;
}
