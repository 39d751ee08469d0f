-- The floors that an agent sets for the credentials it asks for, by kind: {"view": {"minAssurance": "substantial"}}.
alter table agents add column policy jsonb not null default '{}';
