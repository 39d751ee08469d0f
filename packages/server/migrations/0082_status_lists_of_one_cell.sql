-- A status list is written by the cell that its name begins with, and by no other. The database of a cell knows its own lists only:
-- an entry for any other list would be stored here and published nowhere.
alter table status_entries add constraint status_entries_list_id_fkey
  foreign key (list_id) references status_lists (list_id) not valid;

create function status_lists_one_cell() returns trigger language plpgsql as $$
begin
  if exists (select from status_lists where left(list_id, 2) <> left(new.list_id, 2)) then
    raise exception 'status list % is of another cell than the lists of this database', new.list_id
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger one_cell before insert on status_lists for each row execute function status_lists_one_cell();

-- Deployment-wide: changes that this cell made to credentials of lists of other cells. A row stays until the published list of its
-- owner shows the value, or the credential has expired.
create table status_elsewhere (
  list_id text not null check (list_id ~ '^[a-z0-9]{2}-(live|test)-[1-9][0-9]{0,8}$'),
  idx int not null check (idx between 0 and 1048575),
  value smallint not null check (value in (0, 1, 2)),
  credential_id text not null,
  changed_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (list_id, idx)
);
