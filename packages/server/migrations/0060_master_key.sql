-- Deployment-wide: a fingerprint of the master key with which values of this database were encrypted and hashed. An api or a
-- worker with another key does not start: it could not read what the others wrote.
create table platform_master_key (
  single boolean primary key default true check (single),
  fingerprint text not null check (fingerprint ~ '^[A-Za-z0-9_-]{43}$'),
  noted_at timestamptz not null default pohf_now()
);
revoke update, delete on platform_master_key from pohf_app;
