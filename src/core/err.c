/* err.c - failures as text, built where they are known. */
#include "core/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef err_set /* that of the analyzer */

static void __attribute__((format(printf, 3, 0)))
put(char *out, size_t size, const char *fmt, va_list args)
{
	int len = vsnprintf(out, size, fmt, args);

	if (len < 0)
		out[0] = '\0';
	else if ((size_t)len >= size)
		memcpy(out + size - 4, "...", 4);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return code;
	*err = (struct err){ .code = code };
	va_start(args, fmt);
	put(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	return code;
}

int err_works(struct err *err, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return 0;
	va_start(args, fmt);
	put(err->works, sizeof(err->works), fmt, args);
	va_end(args);
	return err->code;
}

int err_mend(struct err *err, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return 0;
	va_start(args, fmt);
	put(err->mend, sizeof(err->mend), fmt, args);
	va_end(args);
	return err->code;
}
