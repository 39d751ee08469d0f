-- The model of an attested passkey, which the credential of an approval names. `synced` has been the flag "backup eligible" of
-- the registration from the start: whether the passkey can be copied, not whether it was.
alter table person_passkeys add column if not exists model text
  check (length(model) between 1 and 64);
