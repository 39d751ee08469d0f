-- The reconciler looks at what was paid within a time.
create index checkouts_paid_at on checkouts (paid_at) where paid_at is not null;
