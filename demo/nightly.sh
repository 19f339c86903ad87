#!/bin/sh
# A nightly job as they are: a shop's orders of a year are loaded and summed up by sqlite3, the day's export is ranked by
# a program of ours (./hotspots, built from demo/hotspots.c), and all is packed by xz. Real tools, real work, no
# sleeping. Writes into the current folder only.
set -eu

step() {
	printf 'nightly: %s\n' "$*"
}

step 'loading two million orders'
sqlite3 shop.db >/dev/null <<'SQL'
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, product INTEGER NOT NULL,
  day INTEGER NOT NULL, cents INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
BEGIN;
-- Numbers that look random and are the same every night.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000)
INSERT INTO orders
SELECT i, (i * 2654435761 >> 7) % 60000, (i * 40503 >> 3) % 5000, i % 365, 100 + (i * 48271) % 99900,
  printf('order %d for shelf %x', i, (i * 69621) & 0xffff)
FROM n;
COMMIT;
CREATE INDEX orders_by_customer ON orders (customer, day);
CREATE INDEX orders_by_product ON orders (product);
ANALYZE;
SQL

step 'the reports'
sqlite3 shop.db >reports.txt <<'SQL'
SELECT day / 30, count(*), sum(cents), count(DISTINCT customer) FROM orders GROUP BY 1 ORDER BY 1;
SELECT product, sum(cents) AS turnover FROM orders WHERE note LIKE '%shelf f%' GROUP BY product ORDER BY turnover DESC LIMIT 20;
SELECT customer, day, cents, sum(cents) OVER (PARTITION BY customer ORDER BY day, id) AS so_far
FROM orders ORDER BY so_far DESC LIMIT 20;
SELECT a.product, b.product, count(*) AS together FROM orders a JOIN orders b USING (customer, day)
WHERE a.product < b.product AND a.customer < 4000 GROUP BY 1, 2 ORDER BY together DESC LIMIT 20;
SQL

step 'ranking customers'
sqlite3 -csv shop.db 'SELECT customer, product, cents FROM orders ORDER BY id' >orders.csv
./hotspots orders.csv

step 'packing'
xz -1 --threads=1 orders.csv
xz -0 --threads=1 shop.db

step "done: $(wc -l <reports.txt) lines of reports, $(du -ck shop.db.xz orders.csv.xz | tail -n 1 | cut -f 1) KB packed"
