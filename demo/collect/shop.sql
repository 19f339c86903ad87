-- A small shop: orders by customers, read and written by procedures.
CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE purchase (id bigserial PRIMARY KEY, customer_id int NOT NULL, state text NOT NULL, cents bigint NOT NULL, note text);
INSERT INTO customer SELECT i, 'customer ' || i FROM generate_series(1, 2000) i;
INSERT INTO purchase (customer_id, state, cents, note)
	SELECT 1 + i % 2000, CASE WHEN i % 50 = 0 THEN 'open' ELSE 'sent' END, i % 9973, repeat('x', 60) FROM generate_series(1, 60000) i;
CREATE INDEX purchase_by_customer ON purchase (customer_id);
ANALYZE;

CREATE FUNCTION total_of(c int) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	total bigint;
BEGIN
	SELECT sum(cents) INTO total FROM purchase WHERE customer_id = c;
	RETURN total;
END $$;

-- A function, not a procedure: until PostgreSQL 16 each CALL with other numbers is a statement of its own in pg_stat_statements.
CREATE FUNCTION buy(c int, price bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO purchase (customer_id, state, cents) VALUES (c, 'open', price);
	UPDATE customer SET name = name WHERE id = c;
END $$;
