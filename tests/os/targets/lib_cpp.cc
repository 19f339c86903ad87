// lib_cpp.cc - tare.h from C++11: scopes by RAII, also when an exception passes. Ends with 0 when all was as it should be.
#include <stdexcept>

#include "tare.h"

static int throws(int x)
{
	TARE_WATCH("throws");
	TARE_WATCH("twice in one block");
	if (x > 0)
		throw std::runtime_error("on purpose");
	return x;
}

template <typename T> static T in_template(T x)
{
	TARE_WATCH("in a template");
	return x;
}

struct visitor {
	visitor()
	{
		TARE_WATCH("in a constructor");
	}
};

int main()
{
	int caught = 0;
	visitor v;

	(void)v;
	for (int i = 0; i < 10; i++) {
		tare_frame();
		TARE_WATCH_BEGIN(handle, "by hand");
		try {
			throws(i);
		} catch (const std::runtime_error &) {
			caught++;
		}
		TARE_WATCH_END(handle);
	}
	if (tare_task_begin("task") != 0)
		return 2;
	tare_task_end();
	return caught == 9 && in_template(1) == 1 && in_template(1.5) > 1 && !tare_is_watched() ? 0 : 1;
}
