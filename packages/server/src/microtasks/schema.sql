-- The tables, types and functions of `microtasks` after all migrations, to be read and not run. Written by npm run generate
-- from the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role
-- that migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table task_answers (
  agent_id text not null,
  mode text not null,
  campaign_id text not null,
  n integer not null,
  visitor text not null,
  completion_id text not null,
  at timestamptz not null default pohf_now(),
  answer text not null,
  state text not null check (state in ('waiting', 'right', 'wrong')),
  member_id text,
  session_id text not null,
  recorded_session text,
  assigned_at timestamptz not null,
  held_stars integer not null default 0 check (held_stars >= 0),
  primary key (agent_id, mode, campaign_id, n, visitor),
  foreign key (agent_id, mode, campaign_id, n) references task_questions(agent_id, mode, campaign_id, n)
);
create index task_answers_of_member on task_answers (agent_id, mode, member_id) where member_id is not null;
create index task_answers_old on task_answers (at) where state <> 'waiting';
create index task_answers_waiting on task_answers (at) where state = 'waiting';
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table task_campaigns (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  campaign_id text not null,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'paused', 'ended')),
  exhausted boolean not null default false,
  reward_stars integer not null check (reward_stars between 0 and 100),
  agreement integer not null check (agreement between 2 and 5),
  budget_stars bigint not null check (budget_stars >= 0),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, campaign_id),
  check (not exhausted or status <> 'active')
);
create index task_campaigns_active on task_campaigns (agent_id, mode, campaign_id) where status = 'active';
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table task_completions (
  agent_id text not null,
  completion_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  task_id text not null,
  member_ref text check (length(member_ref) <= 256),
  answer jsonb,
  correct boolean,
  attended boolean not null,
  session_id text not null,
  verified boolean not null,
  reward_stars integer not null,
  campaign_id text,
  question integer,
  primary key (agent_id, completion_id, at),
  check (reward_stars >= 0 and (verified or reward_stars = 0)),
  check (question is null or campaign_id is not null)
) partition by range (at);
create index task_completions_of_member on task_completions (agent_id, mode, member_ref) where member_ref is not null;
-- partitions by month, never dropped
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table task_questions (
  agent_id text not null,
  mode text not null,
  campaign_id text not null,
  n integer not null check (n between 1 and 500),
  prompt text not null check (length(prompt) between 1 and 500),
  options text[] not null check (cardinality(options) between 2 and 10),
  known_answer text,
  state text not null default 'open' check (state in ('open', 'agreed', 'disagreed')),
  agreed_answer text,
  answers integer not null default 0 check (answers >= 0),
  right_answers integer not null default 0,
  primary key (agent_id, mode, campaign_id, n),
  foreign key (agent_id, mode, campaign_id) references task_campaigns(agent_id, mode, campaign_id),
  check (known_answer = any (options)),
  check ((agreed_answer is not null) = (state = 'agreed')),
  check (right_answers >= 0 and right_answers <= answers),
  check (known_answer is null or state = 'open')
);
create index task_questions_known on task_questions (agent_id, mode, campaign_id, n) where known_answer is not null;
create index task_questions_open on task_questions (agent_id, mode, campaign_id, n) where state = 'open' and known_answer is
  null;
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table task_token_claims (
  agent_id text not null,
  mode text not null,
  nonce text not null,
  expires_at timestamptz not null,
  primary key (agent_id, mode, nonce)
);
create index task_token_claims_expires_at_idx on task_token_claims (expires_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table task_visitors (
  agent_id text not null,
  mode text not null,
  campaign_id text not null,
  visitor text not null,
  done integer not null default 0 check (done >= 0),
  graded integer not null default 0 check (graded >= 0),
  correct integer not null default 0,
  last_correct boolean not null default false,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, campaign_id, visitor),
  foreign key (agent_id, mode, campaign_id) references task_campaigns(agent_id, mode, campaign_id),
  check (correct >= 0 and correct <= graded)
);
create index task_visitors_old on task_visitors (changed_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete
