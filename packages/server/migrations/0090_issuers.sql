-- What an outside issuer showed about a person: how much it is worth, until when, and whether the issuer took it back. The
-- defaults are for the program before this one: a proof that it stores says none of this and has expired at once.
alter table person_proofs
  -- The address or name by which readers of a credential know the issuer; `issuer` is its name in the settings.
  add column issuer_id text not null default '' check (length(issuer_id) <= 256),
  add column kind text not null default 'organization' check (kind in
    ('privacy_pass', 'sms', 'card', 'bond', 'pid', 'pid_number', 'world_id', 'vendor', 'organization')),
  add column source_class text not null default 'employer' check (source_class in
    ('device:phone', 'number', 'bank', 'deposit', 'document', 'biometric:world', 'employer')),
  add column level text not null default 'low' check (level in ('low', 'substantial', 'high')),
  -- Whether the issuer counts each human once. `code_hash` of a proof that counts nobody is random.
  add column counted boolean not null default false,
  -- Whether the proof is worth what its reader thinks of the issuer.
  add column named boolean not null default false,
  -- Whether a proof answers for one act, so that it is fresh for minutes after its check.
  add column fresh boolean not null default false,
  add column model text check (length(model) <= 256),
  -- The agents whose credentials may rest on it; null for all.
  add column agents text[] check (cardinality(agents) <= 100),
  add column checked_at timestamptz not null default pohf_now(),
  add column expires_at timestamptz not null default pohf_now(),
  add column evidence_hash bytea check (length(evidence_hash) = 32),
  add column withdrawn_at timestamptz,
  add constraint person_proofs_level check (level <> 'high' or counted);
create index person_proofs_expires_at_idx on person_proofs (expires_at);

-- The proofs of a person that count for an agent at a time. Agents do not see people, so the function sets the tenant.
create function members_list_proofs(of_person text, of_agent text, at_time timestamptz)
returns table (issuer text, code_hash bytea, issuer_id text, kind text, source_class text, level text, counted boolean,
  named boolean, fresh boolean, checked_at timestamptz)
language plpgsql set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  tenant text := pohf_tenant();
begin
  perform set_config('pohf.tenant', 'system', true);
  return query
    select proof.issuer, proof.code_hash, proof.issuer_id, proof.kind, proof.source_class, proof.level, proof.counted,
      proof.named, proof.fresh, proof.checked_at
    from person_proofs proof
    where proof.person_id = of_person and proof.expires_at > at_time and proof.withdrawn_at is null
      and (proof.agents is null or of_agent = any (proof.agents))
    order by proof.issuer, proof.code_hash limit 10;
  perform set_config('pohf.tenant', tenant, true);
end $$;

-- A sign-in or check that was begun with an issuer. The state that the browser carries is sealed; here is only its hash.
create table issuer_requests (
  state_hash bytea primary key check (length(state_hash) = 32),
  issuer text not null check (length(issuer) between 1 and 128),
  -- The person who is signed in, or the session that steps up.
  person_id text,
  session_id text,
  origin text not null check (length(origin) <= 256),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index on issuer_requests (expires_at);
create index on issuer_requests (person_id) where person_id is not null;
create index on issuer_requests (session_id) where session_id is not null;
call pohf_hide_from_agents('issuer_requests');

-- A keyed hash of the code of a human who erased everything: the same code is no second person until then.
create table proof_tombstones (
  code_hash bytea primary key check (length(code_hash) = 32),
  expires_at timestamptz not null
);
create index on proof_tombstones (expires_at);
call pohf_hide_from_agents('proof_tombstones');

-- From when proofs of a suspended issuer do not count: those checked before stay. Null: nothing rests on the root, whenever
-- it was checked. The mint refuses only the latter; of the others, no proof that does not count reaches it.
alter table root_suspensions add column from_at timestamptz;

alter table members drop constraint if exists members_uniqueness_check;
alter table members add constraint members_uniqueness_check check (uniqueness in
  ('none', 'account', 'device', 'attested', 'external', 'number', 'deposit', 'organization')) not valid;
