-- One human, one wallet on chains. The codes in the tokens differ from agent to agent, or agents could compare them; so a
-- registry sees two humans where there is one, and this row is what sees one. Both codes are keyed hashes.
create table onchain_humans (
  human bytea primary key,
  wallet bytea not null,
  -- The one agent whose tokens name the wallet; null where several agents' do: then it stays until they have ended.
  holder text,
  until timestamptz not null
);
create index on onchain_humans (until);
call pohf_hide_from_agents('onchain_humans');
