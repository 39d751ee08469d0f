-- A person who is signed in confirms an act with a passkey once more, such as new recovery codes.
alter table passkey_challenges drop constraint passkey_challenges_purpose_check;
alter table passkey_challenges add constraint passkey_challenges_purpose_check
  check (purpose in ('create', 'sign_in', 'confirm'));
