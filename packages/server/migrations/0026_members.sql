-- People, whom no agent sees. An agent sees its members; the same person is another member to each agent.
-- These tables have no agent_id, so row-level security lets in the system alone: no agent's transaction reads a person.
create procedure pohf_hide_from_agents(target regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy people on %s using (pohf_tenant() = ''system'')', target);
end $$;

create table people (
  person_id text primary key,
  created_at timestamptz not null default pohf_now()
);
call pohf_hide_from_agents('people');

create table person_passkeys (
  credential_id text primary key check (length(credential_id) between 1 and 1400),
  person_id text not null,
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  assurance text not null check (assurance in ('software', 'hardware', 'hardware_strong')),
  -- Whether it may be copied to other devices of the same account.
  synced boolean not null,
  created_at timestamptz not null default pohf_now(),
  used_at timestamptz not null default pohf_now()
);
create index on person_passkeys (person_id);
call pohf_hide_from_agents('person_passkeys');

create table person_logins (
  token_hash bytea primary key,
  person_id text not null,
  expires_at timestamptz not null
);
create index on person_logins (person_id);
create index on person_logins (expires_at);
call pohf_hide_from_agents('person_logins');

create table person_recovery_codes (
  code_hash bytea primary key,
  person_id text not null
);
create index on person_recovery_codes (person_id);
call pohf_hide_from_agents('person_recovery_codes');

-- That an issuer outside knows the person as one human: a keyed hash of the issuer's code, one person each.
create table person_proofs (
  issuer text not null,
  code_hash bytea not null,
  person_id text not null,
  at timestamptz not null default pohf_now(),
  primary key (issuer, code_hash)
);
create index on person_proofs (person_id);
call pohf_hide_from_agents('person_proofs');

-- A challenge that a passkey must sign, used once. `bound_to` is the invitation, or the person who is signed in.
create table passkey_challenges (
  challenge text primary key,
  purpose text not null check (purpose in ('create', 'sign_in')),
  bound_to text not null,
  expires_at timestamptz not null
);
create index on passkey_challenges (expires_at);
call pohf_hide_from_agents('passkey_challenges');

-- What a person agreed to, and took back. `consent_ref` stands in the membership alone: when that is erased, the record
-- that somebody agreed stays and names nobody.
create table consents (
  consent_ref text not null,
  seq int not null,
  act text not null check (act in ('given', 'withdrawn')),
  version text not null,
  language text not null,
  at timestamptz not null default pohf_now(),
  primary key (consent_ref, seq)
);
call pohf_hide_from_agents('consents');
create trigger append_only before update or delete on consents
  for each statement execute function pohf_append_only();

-- One-per-human acts: an HMAC over agent, act and person. Nobody can tell from it who it was.
create table nullifiers (
  nullifier bytea primary key,
  at timestamptz not null default pohf_now()
);
call pohf_hide_from_agents('nullifiers');

-- What an agent holds of a person: an id of its own, and how well the person is known.
create table members (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  member_id text not null,
  external_ref text,
  status text not null default 'invited' check (status in ('invited', 'consented', 'enrolled', 'withdrawn')),
  person_id text,
  consent_ref text,
  uniqueness text not null default 'none' check (uniqueness in ('none', 'account', 'device', 'attested', 'external')),
  methods text[] not null default '{}',
  passkey_assurance text check (passkey_assurance in ('software', 'hardware', 'hardware_strong')),
  -- The last attention check that counted.
  attention_session text,
  attention_quality double precision check (attention_quality between 0 and 1),
  attention_scoring text,
  attention_at timestamptz,
  good_checks int not null default 0,
  bad_checks int not null default 0,
  created_at timestamptz not null default pohf_now(),
  consented_at timestamptz,
  primary key (agent_id, mode, member_id),
  check (status <> 'enrolled' or (person_id is not null and attention_at is not null))
);
create unique index members_by_reference on members (agent_id, mode, external_ref);
create unique index members_one_per_person on members (agent_id, mode, person_id);
create index members_of_person on members (person_id);
call pohf_isolate('members');

-- A recorded session is an attention check of one member, once.
create table member_attention (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  member_id text not null,
  at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, session_id)
);
create index on member_attention (agent_id, mode, member_id);
call pohf_isolate('member_attention');

-- Links that invite a person to enrol. The look-up starts from the hash of the link's token.
create table enrolment_links (
  token_hash bytea primary key,
  agent_id text not null,
  mode text not null,
  member_id text not null,
  expires_at timestamptz not null
);
create index on enrolment_links (expires_at);
create index on enrolment_links (agent_id, mode, member_id);
call pohf_isolate('enrolment_links');

-- Sessions of a member are found when the member asks for them or takes them back.
create index sessions_of_member on sessions (agent_id, mode, member_ref) where member_ref is not null;

-- A credential never changes; only the salt of its evidence may be forgotten.
drop trigger append_only on credentials;
create trigger append_only before delete on credentials
  for each statement execute function pohf_append_only();
create function credentials_only_forget() returns trigger language plpgsql as $$
declare forgotten credentials := old;
begin
  forgotten.salt := null;
  if new is distinct from forgotten then
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger only_forget before update on credentials for each row execute function credentials_only_forget();

-- Erasure: the encrypted records of one session. The program itself cannot delete from what was recorded.
create function session_forget_records(agent text, session text, from_at timestamptz) returns void
  language sql security definer set search_path = public as $$
  delete from session_chunks
  where agent_id = agent and session_id = session and at >= from_at and at < from_at + interval '2 hours'
$$;
revoke execute on function session_forget_records(text, text, timestamptz) from public;
grant execute on function session_forget_records(text, text, timestamptz) to pohf_app;
