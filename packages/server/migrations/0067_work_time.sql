-- How long the recording of a delivered unit was. Null where it was not measured: work from before this column, and simulated
-- sessions, which have no duration.
alter table assignments add column recorded_seconds int check (recorded_seconds > 0);
-- The latest accepted work of a kind, for how long such work takes.
create index assignments_measured on assignments (task_id, mode, assignment_id)
  where status = 'accepted' and recorded_seconds is not null;
