/* json.h - writes JSON as a stream: nothing is held but one buffer, nothing recurses. Any bytes become valid UTF-8:
 * what is none is replaced by U+FFFD and counted. 64-bit integers are exact. One thread. */
#ifndef TARE_FORMAT_JSON_H
#define TARE_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/frame.h"

#define JSON_MAX_DEPTH	  63u /* objects and arrays within one another */
#define JSON_BUFFER_BYTES 16384u

/* Where the bytes go. 0, or a negative errno: it is remembered and nothing more is sent. */
typedef int (*json_sink_fn)(void *owner, const char *bytes, size_t len);

struct json {
	json_sink_fn sink;
	void *owner;
	int code;	     /* the first failure; 0: none */
	uint64_t replaced;   /* bytes that were no UTF-8 */
	uint64_t arrays;     /* bit d: the value open at depth d is an array */
	uint64_t filled;     /* bit d: it has something in it */
	unsigned depth;	     /* how many are open */
	unsigned line_depth; /* values up to this depth begin a line of their own */
	bool has_key;	     /* a key waits for its value */
	size_t used;
	char buffer[JSON_BUFFER_BYTES];
};

/* Begins a document. `line_depth` 0 writes all in one line; 2 gives each member of the members of the root a line. */
void json_begin(struct json *j, json_sink_fn sink, void *owner, unsigned line_depth);

/* A sink for a FILE *; `owner` is the FILE. -EIO. */
int json_to_file(void *owner, const char *bytes, size_t len);

/* Ends the document with a newline and sends what is buffered. The first failure: the sink's, or -EINVAL when the calls
 * did not make one whole value (a bug of the caller). */
int json_end(struct json *j);

/* Remembers a failure of the caller's own, such as -ENOMEM for a value it could not make: json_end() returns it. */
void json_fail(struct json *j, int code);

/* Open and close an object or an array. */
void json_open_object(struct json *j);
void json_open_array(struct json *j);
void json_close(struct json *j);

/* The key of the next value. Our own words only: NUL-terminated UTF-8. */
void json_key(struct json *j, const char *key);

/* Values. A number that is no number (NaN, infinity) becomes null. */
void json_str(struct json *j, struct str value);
void json_chars(struct json *j, const char *value);
void json_u64(struct json *j, uint64_t value);
void json_i64(struct json *j, int64_t value);
void json_double(struct json *j, double value);
void json_bool(struct json *j, bool value);
void json_null(struct json *j);

/* One member of the open object: its key and its value. */
void json_put_u64(struct json *j, const char *key, uint64_t value);
void json_put_i64(struct json *j, const char *key, int64_t value);
void json_put_double(struct json *j, const char *key, double value);
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_chars(struct json *j, const char *key, const char *value);
void json_put_str(struct json *j, const char *key, struct str value);

#endif
