#!/bin/sh
# Usage: embed.sh FILE...   writes the schema files, in order, as a C table on stdout
set -eu

echo '/* Made by embed.sh from the numbered schema files. */'
echo '#include "store/schema.h"'
echo
echo 'const char *const schema_files[] = {'
for file in "$@"; do
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' -e 's/.*/	"&\\n"/' "$file"
	echo '	,'
done
echo '};'
echo 'const unsigned schema_newest = sizeof(schema_files) / sizeof(schema_files[0]);'
