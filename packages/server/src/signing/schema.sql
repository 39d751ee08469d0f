-- The tables, types and functions of `signing` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table forgotten_values (
  value_key text not null,
  recorded_at timestamptz not null default pohf_now(),
  primary key (value_key)
);
-- pohf_app may select, insert, update

create table key_manifests (
  version integer not null check (version > 0),
  jws text not null check (length(jws) <= 2097152 and jws ~ '^[A-Za-z0-9_.-]+$'),
  digest bytea not null generated always as (sha256(decode(jws, 'escape'))) stored,
  primary key (version, digest)
);
create trigger append_only before delete or update or truncate on key_manifests for each statement execute function
  pohf_append_only();
-- pohf_app may select, insert

create table key_revocations (
  kid text not null check (length(kid) = 43),
  jws text not null check (length(jws) <= 4096 and jws ~ '^[A-Za-z0-9_.-]+$'),
  digest bytea not null generated always as (sha256(decode(jws, 'escape'))) stored,
  primary key (kid, digest)
);
create trigger append_only before delete or update or truncate on key_revocations for each statement execute function
  pohf_append_only();
-- pohf_app may select, insert

create table key_rotations (
  kid text not null check (length(kid) = 43),
  purpose text not null check (purpose in ('live', 'test', 'onchain', 'onchain-test')),
  mode text not null check (mode in ('live', 'test')),
  activate_at timestamptz not null,
  told_until text not null default '',
  told_at timestamptz,
  primary key (kid)
);
create index key_rotations_open on key_rotations (activate_at) where told_at is null;
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table mint_batches (
  signer text not null check (signer ~ '^sgn_[0-9a-f]{16}$'),
  batch bigint not null check (batch > 0),
  discarded text[] not null default '{}',
  at timestamptz not null default pohf_now(),
  given_up boolean not null default false,
  primary key (signer, batch)
);
-- pohf_app may select, insert, update, delete
-- pohf_mint may select, insert

create table mint_batches_pruned (
  signer text not null check (signer ~ '^sgn_[0-9a-f]{16}$'),
  batch bigint not null check (batch > 0),
  primary key (signer)
);
-- pohf_app may select, insert, update, delete
-- pohf_mint may select

create table restore_epochs (
  epoch integer not null check (epoch > 0),
  restored_at timestamptz not null default pohf_now(),
  report jsonb not null,
  primary key (epoch)
);
create trigger append_only before delete or update on restore_epochs for each statement execute function pohf_append_only();
-- pohf_app may select, insert
