-- Why a credential is suspended: it is suspended while a ground is left. Each row says what holds from then on. A suspension
-- without a ground is one of an operator, as all were before.
alter table credential_states add column grounds text[] not null default '{}'
  check (grounds <@ array['operator', 'unit', 'dispute'] and (state = 'suspended' or grounds = '{}'));

-- As before, and a suspended credential may get or lose a ground.
create or replace function credential_states_transition() returns trigger language plpgsql as $$
declare last record;
begin
  select seq, state, grounds into last from credential_states
    where agent_id = new.agent_id and credential_id = new.credential_id order by seq desc limit 1;
  if not found then
    if new.state <> 'issued' or new.seq <> 1 then raise exception 'a credential begins as issued' using errcode = 'check_violation'; end if;
  elsif new.seq <> last.seq + 1
    or (last.state, new.state) not in (('issued', 'suspended'), ('issued', 'revoked'), ('suspended', 'issued'), ('suspended', 'revoked'))
    and ((last.state, new.state) <> ('suspended', 'suspended') or last.grounds = new.grounds) then
    raise exception 'a credential cannot go from % to %', last.state, new.state using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- The same for a credential that a restored database does not have.
alter table forgotten_credentials add column grounds text[] not null default '{}'
  check (grounds <@ array['operator', 'unit', 'dispute'] and (state = 'suspended' or grounds = '{}'));
