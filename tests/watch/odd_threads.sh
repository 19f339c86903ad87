#!/bin/sh
# odd_threads.sh - threads that end inside a watched function, by the thousand, leave nothing behind: calls that come later
# are counted and timed as ever.
. "$(dirname "$0")/watch_lib.sh"
need_probes

plain "$targets/odd_stack" pthread_exit
watch --interval 1 --price 100% leave steady -- "$targets/odd_stack" pthread_exit
check 'pthread_exit inside: the program does the same' same
check 'pthread_exit inside: every call is counted' holds leave 'calls = 600'
check 'pthread_exit inside: 500 abandoned, 100 timed' holds leave 'abandoned = 500 AND timed = 100'
check 'times are right after it' holds steady 'timed = 100 AND p50_ns BETWEEN 195000 AND 230000'

plain "$targets/odd_stack" threads
watch vanish steady -- "$targets/odd_stack" threads
check '20,000 threads that end inside: the program does the same' same
check '20,000 threads that end inside: every call is counted' holds vanish 'calls = 20100'
check '20,000 threads that end inside: none was lost' label 'lost_places = 0 AND lost_calls = 0 AND lost_returns = 0'
check '100 calls afterwards are seen, with their times' holds steady 'calls = 100 AND timed BETWEEN 5 AND 60 AND p50_ns BETWEEN 195000 AND 230000'
watch --interval 1 --price 100% vanish steady -- "$targets/odd_stack" threads
check 'every call timed: 20,000 abandoned, 100 timed' holds vanish 'calls = 20100 AND abandoned = 20000 AND timed = 100'
check 'every call timed: the program does the same' same
check 'every call timed: times are right afterwards' holds steady 'timed = 100 AND p50_ns BETWEEN 195000 AND 230000'
end
