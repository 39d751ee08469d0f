-- The outside issuer with which an owner wants the person to sign in: an approver decides only with its valid proof.
alter table members add column if not exists required_issuer text
  check (length(required_issuer) between 1 and 128);
