-- One customer's visit, for pgbench.
\set c random(1, 2000)
\set price random(100, 9999)
SELECT total_of(:c);
SELECT buy(:c, :price);
SELECT c.name, p.state, p.cents FROM customer c JOIN purchase p ON p.customer_id = c.id WHERE c.id = :c ORDER BY p.id DESC LIMIT 5;
