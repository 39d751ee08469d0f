-- The people of a company as its directory names them (SCIM), by keyed hashes alone. Who is not active does not get in, whatever
-- the sign-in says.
create table if not exists issuer_users (
  issuer text not null check (length(issuer) between 1 and 128),
  user_id text not null check (length(user_id) between 1 and 64),
  -- As the proofs of the person have it.
  code_hash bytea not null check (length(code_hash) = 32),
  name_hash bytea not null check (length(name_hash) = 32),
  state text not null check (state in ('active', 'inactive', 'deleted')),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (issuer, user_id),
  unique (issuer, code_hash)
);
create index if not exists issuer_users_by_name on issuer_users (issuer, name_hash);
do $$ begin
  if not exists (select from pg_policies where tablename = 'issuer_users') then
    call pohf_hide_from_agents('issuer_users');
  end if;
end $$;
