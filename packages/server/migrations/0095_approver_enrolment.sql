-- How an approver was enrolled, and when the owner in `created_by` invited them last. Until now every invitation was a mailed link.
alter table approvers add column if not exists enrolled_way text not null default 'mail_link'
  check (enrolled_way in ('in_console', 'mail_link', 'organization'));
alter table approvers add column if not exists invited_at timestamptz;
update approvers set invited_at = created_at where invited_at is null;
alter table approvers alter column invited_at set default pohf_now(), alter column invited_at set not null;
