-- A claim is written here, in a column that no index holds: the new version of the row stays on its page, and no index is
-- written. due_at stays when the delivery became due.
alter table webhook_deliveries add column lease_until timestamptz;
insert into platform_due_times values ('webhook_deliveries', 'lease_until', 'state = ''pending''');
-- Half of each page is left for the versions that claims write.
alter table webhook_deliveries set (fillfactor = 50);

-- Set where due_at lies in the future: a retry, or a delivery that is sent with another. A claim clears it when it is due.
-- Claims then go from endpoint to endpoint, past none that only waits.
alter table webhook_deliveries add column scheduled boolean not null default false;
select set_config('pohf.tenant', 'system', true);
update webhook_deliveries set scheduled = true where state = 'pending' and due_at > pohf_now();
drop index webhook_deliveries_due;
create index webhook_deliveries_ready on webhook_deliveries (agent_id, endpoint_id, due_at, event_id)
  where state = 'pending' and not scheduled;
create index webhook_deliveries_scheduled on webhook_deliveries (due_at) where state = 'pending' and scheduled;

-- The rule is unchanged; its function is no longer called for deliveries that are pending.
drop trigger states on webhook_deliveries;
create trigger states before update of state on webhook_deliveries
  for each row when (old.state <> 'pending' and new.state <> old.state) execute function webhook_keep_deliveries();
