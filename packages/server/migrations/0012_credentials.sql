create table credentials (
  agent_id text not null,
  credential_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('work', 'view', 'presence', 'personhood', 'binding', 'purchase')),
  expires_at timestamptz not null,
  jwt text not null,
  -- What the caller was told beside the token, so that a repeat says the same.
  answer jsonb not null,
  -- Opens the hashed evidence of this credential alone; deleting it is erasure.
  salt bytea,
  primary key (agent_id, credential_id, at)
) partition by range (at);
insert into platform_partitioned values ('credentials', null);
call pohf_isolate('credentials');
create trigger append_only before update or delete on credentials
  for each statement execute function pohf_append_only();

-- One act, one credential, across all months. A credential that has expired makes room for the next.
create table credential_claims (
  agent_id text not null,
  mode text not null,
  act text not null check (act in ('session', 'personhood', 'binding', 'purchase')),
  reference text not null,
  credential_id text not null,
  at timestamptz not null,
  expires_at timestamptz not null,
  primary key (agent_id, mode, act, reference)
);
call pohf_isolate('credential_claims');

create table credential_states (
  agent_id text not null,
  credential_id text not null,
  seq int not null,
  at timestamptz not null default pohf_now(),
  state text not null check (state in ('issued', 'suspended', 'revoked')),
  reason text not null,
  primary key (agent_id, credential_id, seq)
);
call pohf_isolate('credential_states');
create trigger append_only before update or delete on credential_states
  for each statement execute function pohf_append_only();

create function credential_states_transition() returns trigger language plpgsql as $$
declare last record;
begin
  select seq, state into last from credential_states
    where agent_id = new.agent_id and credential_id = new.credential_id order by seq desc limit 1;
  if not found then
    if new.state <> 'issued' or new.seq <> 1 then raise exception 'a credential begins as issued' using errcode = 'check_violation'; end if;
  elsif new.seq <> last.seq + 1
    or (last.state, new.state) not in (('issued', 'suspended'), ('issued', 'revoked'), ('suspended', 'issued'), ('suspended', 'revoked')) then
    raise exception 'a credential cannot go from % to %', last.state, new.state using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger transition before insert on credential_states
  for each row execute function credential_states_transition();

-- Live: a payment binds one human per agent.
create table payment_bindings (
  agent_id text not null,
  mode text not null,
  payment_ref text not null,
  human_ref text not null,
  primary key (agent_id, mode, payment_ref)
);
call pohf_isolate('payment_bindings');
call pohf_make_partitions('credentials', now(), 3);
