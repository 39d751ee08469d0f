-- Campaigns of an agent's own micro-tasks. The budget is in the ledger, in the accounts tasks:<id> and tasks_held:<id>.
create table task_campaigns (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  campaign_id text not null,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'paused', 'ended')),
  -- Why it is paused: the agent did it, or its budget is used up.
  exhausted boolean not null default false check (not exhausted or status <> 'active'),
  reward_stars int not null check (reward_stars between 0 and 100),
  -- How many people must give the same answer.
  agreement int not null check (agreement between 2 and 5),
  budget_stars bigint not null check (budget_stars >= 0),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, campaign_id)
);
create index task_campaigns_active on task_campaigns (agent_id, mode, campaign_id) where status = 'active';
call pohf_isolate('task_campaigns');
revoke delete, truncate on task_campaigns from pohf_app;

create table task_questions (
  agent_id text not null,
  mode text not null,
  campaign_id text not null,
  n int not null check (n between 1 and 500),
  prompt text not null check (length(prompt) between 1 and 500),
  options text[] not null check (cardinality(options) between 2 and 10),
  known_answer text check (known_answer = any(options)),
  state text not null default 'open' check (state in ('open', 'agreed', 'disagreed')),
  agreed_answer text check ((agreed_answer is not null) = (state = 'agreed')),
  answers int not null default 0 check (answers >= 0),
  right_answers int not null default 0 check (right_answers between 0 and answers),
  primary key (agent_id, mode, campaign_id, n),
  foreign key (agent_id, mode, campaign_id) references task_campaigns,
  check (known_answer is null or state = 'open')
);
create index task_questions_open on task_questions (agent_id, mode, campaign_id, n)
  where state = 'open' and known_answer is null;
create index task_questions_known on task_questions (agent_id, mode, campaign_id, n) where known_answer is not null;
call pohf_isolate('task_questions');
revoke delete, truncate on task_questions from pohf_app;

-- One answer of one visitor to one question. The visitor is a keyed hash: of a member, or of a network and a day.
create table task_answers (
  agent_id text not null,
  mode text not null,
  campaign_id text not null,
  n int not null,
  visitor text not null,
  completion_id text not null,
  at timestamptz not null default pohf_now(),
  answer text not null,
  state text not null check (state in ('waiting', 'right', 'wrong')),
  -- What is needed to end a waiting answer.
  member_id text,
  session_id text not null,
  recorded_session text,
  assigned_at timestamptz not null,
  held_stars int not null default 0 check (held_stars >= 0),
  primary key (agent_id, mode, campaign_id, n, visitor),
  foreign key (agent_id, mode, campaign_id, n) references task_questions
);
create index task_answers_of_member on task_answers (agent_id, mode, member_id) where member_id is not null;
create index task_answers_old on task_answers (at) where state <> 'waiting';
create index task_answers_waiting on task_answers (at) where state = 'waiting';
call pohf_isolate('task_answers');

-- How a visitor of a campaign did with known answers and agreement.
create table task_visitors (
  agent_id text not null,
  mode text not null,
  campaign_id text not null,
  visitor text not null,
  done int not null default 0 check (done >= 0),
  graded int not null default 0 check (graded >= 0),
  correct int not null default 0 check (correct between 0 and graded),
  last_correct boolean not null default false,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, campaign_id, visitor),
  foreign key (agent_id, mode, campaign_id) references task_campaigns
);
create index task_visitors_old on task_visitors (changed_at);
call pohf_isolate('task_visitors');

alter table task_completions add column campaign_id text;
alter table task_completions add column question int check ((question is null) or campaign_id is not null);
