#!/bin/sh
# Usage: embed.sh PREFIX FILE...   writes the schema files, in order, as a C table on stdout: PREFIX_files, PREFIX_newest
set -eu

prefix=$1
shift
echo '/* Made by embed.sh from the numbered schema files. */'
echo '#include "store/schema.h"'
echo
echo "const char *const ${prefix}_files[] = {"
for file in "$@"; do
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' -e 's/.*/	"&\\n"/' "$file"
	echo '	,'
done
echo '};'
echo "const unsigned ${prefix}_newest = sizeof(${prefix}_files) / sizeof(${prefix}_files[0]);"
