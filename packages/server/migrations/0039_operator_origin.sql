-- The operator who made this one over the listener; null for one that was made on the machine. Payouts need two operators
-- who were made on the machine, since one person can make any number of others.
alter table operators add column made_by text;
update operators set made_by = entry.operator_id from operator_audit entry
  where entry.action = 'operator.create' and entry.target = operators.operator_id and entry.operator_id <> 'machine';
