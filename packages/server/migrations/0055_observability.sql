-- The trace of the request that queued a row, so that the worker continues it. The api names it in a setting of the
-- transaction while traces are on. It is a random number and says nothing about a person.
alter table outbox add column trace text default nullif(current_setting('pohf.trace', true), '');
alter table outbox add constraint outbox_trace check (trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$') not valid;

-- The same for a delivery, and when its event was published: the time to a webhook counts from there.
alter table webhook_deliveries add column trace text, add column published_at timestamptz;
alter table webhook_deliveries add constraint webhook_deliveries_trace
  check (trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$') not valid;

-- Since when a status list holds a change that is not published. Null: what is published is current.
alter table status_lists add column changed_at timestamptz;
update status_lists set changed_at = pohf_now() where version > built_version;

create function status_lists_note_change() returns trigger language plpgsql as $$
begin
  if new.built_version is distinct from old.built_version then
    -- What was not in the build came after its snapshot.
    new.changed_at := case when new.version > new.built_version then new.built_at end;
  elsif new.version > old.version then
    new.changed_at := coalesce(old.changed_at, pohf_now());
  end if;
  return new;
end $$;
create trigger note_change before update of version, built_version on status_lists
  for each row execute function status_lists_note_change();
