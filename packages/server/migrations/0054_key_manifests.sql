-- What apis and signers of several machines pass on to each other. Nothing here is trusted: every reader verifies a manifest
-- with the admission key, and a revocation with the key of an admitted signer. A row written by hand is never published.
-- The digest is part of the key, so that a row with another content cannot keep a true one out.
create table key_manifests (
  version int not null check (version > 0),
  jws text not null check (length(jws) <= 2097152 and jws ~ '^[A-Za-z0-9_.-]+$'),
  digest bytea not null generated always as (sha256(decode(jws, 'escape'))) stored,
  primary key (version, digest)
);
create table key_revocations (
  kid text not null check (length(kid) = 43),
  jws text not null check (length(jws) <= 4096 and jws ~ '^[A-Za-z0-9_.-]+$'),
  digest bytea not null generated always as (sha256(decode(jws, 'escape'))) stored,
  primary key (kid, digest)
);
create trigger append_only before update or delete or truncate on key_manifests
  for each statement execute function pohf_append_only();
create trigger append_only before update or delete or truncate on key_revocations
  for each statement execute function pohf_append_only();
revoke update, delete, truncate on key_manifests, key_revocations from pohf_app;
