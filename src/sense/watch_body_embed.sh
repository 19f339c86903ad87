#!/bin/sh
# Usage: watch_body_embed.sh PROGRAM   writes the program of bodies as C bytes on stdout
set -eu

echo '/* Made by watch_body_embed.sh from the program of bodies. */'
echo '#include "sense/watch_bodies.h"'
echo
echo 'const unsigned char watch_body_file[] = {'
od -An -v -tu1 "$1" | sed -e 's/\([0-9][0-9]*\)/\1,/g'
echo '};'
echo 'const size_t watch_body_file_bytes = sizeof(watch_body_file);'
