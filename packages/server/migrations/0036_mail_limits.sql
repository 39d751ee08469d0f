-- Deployment-wide: how many mails of a kind one recipient got on one day (UTC), whichever agent caused them.
create table mail_counts (
  -- A keyed hash of the mailbox.
  recipient_tag text not null check (length(recipient_tag) between 1 and 64),
  kind text not null,
  day date not null,
  sent int not null check (sent > 0),
  primary key (recipient_tag, kind, day)
);
create index on mail_counts (day);

-- A definer function without pg_temp at the end reads temporary tables of its caller first.
alter function session_forget_records(text, text, timestamptz) set search_path = public, pg_temp;
