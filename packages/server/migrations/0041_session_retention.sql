-- Sessions of visitors for which nobody asked a credential: the retention job reads the oldest.
create index sessions_of_visitors on sessions (at, session_id) where status <> 'sealed' and member_ref is null;
