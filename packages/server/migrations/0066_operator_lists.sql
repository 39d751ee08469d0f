-- The lists of operators. A search by name compares bytes, so that the index does not depend on the language of the database. It
-- is a column, because row-level security keeps a condition on lower(name) from being looked up in an index.
alter table agents add column search_name text collate "C" not null generated always as (lower(name)) stored;
create index agents_by_name on agents (search_name, agent_id);
create index agents_by_email on agents (contact_email, agent_id);
drop index agents_contact_email_idx;

-- Refunds of one state, in the order of their ids.
create index card_refunds_in_state on card_refunds (state, refund_id);
