-- How far the values of each column were moved to a version of the master key.
create table platform_rewraps (
  version int not null,
  column_name text not null,
  -- The key of the last row that was read, in the order of the primary key of its table.
  position text[],
  read_rows bigint not null default 0,
  moved bigint not null default 0,
  -- Values that no version opens: those of a master key that was lost.
  unreadable bigint not null default 0,
  finished_at timestamptz,
  primary key (version, column_name)
);
