-- The sign-in of a company that an owner set up for an agent. It serves while a record under the domain, read every day, shows
-- that the domain is theirs.
create table company_issuers (
  agent_id text not null,
  issuer_id text not null check (length(issuer_id) <= 64),
  name text not null check (length(name) between 1 and 80),
  -- Credentials name the company by it.
  issuer text not null check (length(issuer) between 1 and 256),
  domain text not null check (length(domain) between 4 and 237),
  client_id text not null check (length(client_id) between 1 and 256),
  -- Null for a client without a secret.
  client_secret_sealed text check (length(client_secret_sealed) <= 8192),
  -- Admitted values of acr, and sets of amr, the values of each with a space between them.
  acr text[] not null default '{}' check (cardinality(acr) <= 16),
  amr text[] not null default '{}' check (cardinality(amr) <= 16),
  -- What the record has to say. It is of this row alone, so a record that was published for another agent proves nothing.
  token text not null check (length(token) between 32 and 64),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  changed_by text not null check (length(changed_by) <= 64),
  -- When a check began, when one last succeeded, and since when they fail and why.
  checked_at timestamptz,
  -- The next check; null for one that was never proved, or that stopped long ago.
  due_at timestamptz,
  seen_at timestamptz,
  failed_since timestamptz,
  fault text check (fault in
    ('record_missing', 'dns_unavailable', 'tenant_mismatch', 'issuer_mismatch', 'issuer_unavailable')),
  primary key (agent_id, issuer_id),
  unique (agent_id, issuer),
  check ((fault is null) = (failed_since is null))
);
create index on company_issuers (due_at) where due_at is not null;
call pohf_isolate('company_issuers');
insert into platform_due_times values ('company_issuers', 'due_at', 'due_at is not null');
