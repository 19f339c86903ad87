/* crc.h - the CRC of what waits on a disk: tells a torn or rotten record from a whole one, not a forged one. Pure. */
#ifndef TARE_CORE_CRC_H
#define TARE_CORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 as in ISO 3309 (and zlib, PNG): of `len` bytes, going on from `crc`, which is 0 at first. */
uint32_t crc32_of(uint32_t crc, const void *bytes, size_t len);

#endif
